/**
 * Questions to a language model. A question takes an estimate of its tokens from the user's day, and joins the queue of the
 * provider's minute. When it ends, both are settled to what it has used.
 */
import { ConvexError, v } from "convex/values";
import { internal } from "./_generated/api";
import type { DataModel, Doc, Id } from "./_generated/dataModel";
import { internalAction, internalMutation, mutation, type MutationCtx, query } from "./_generated/server";
import { callerOf, memberOf } from "./callers";
import { ATTEMPTS, cancelQueued, enqueueRateLimited, exposeQueue, exposeRateLimit, limits } from "./limits";
import { ANSWER_TOKENS, callModel, type Reply, tokensOf } from "./model";
import { vStatus } from "./schema";

/** Both limits or none: if the queue is full, its denial is thrown, and the throw gives the tokens of the day back. */
export const ask = mutation({
  args: { prompt: v.string() },
  returns: v.id("questions"),
  // The type is written out because the handler refers to its own module.
  handler: async (ctx, { prompt }): Promise<Id<"questions">> => {
    const { caller, plan } = await memberOf(ctx);
    if (prompt === "" || prompt.length > 8_000) throw new ConvexError({ kind: "BadLength", atMost: 8_000 });
    const estimate = tokensOf(prompt) + ANSWER_TOKENS;
    const ofDay = { name: "tokensOfDay", key: caller, plan, count: estimate } as const;
    const { takenAt } = await limits.rateLimit(ctx, { ...ofDay, refundable: true, throws: true });
    const question = { caller, prompt, estimate, takenAt, status: "waiting", runs: 0 } as const;
    const id = await ctx.db.insert("questions", question);
    const priority = plan === "pro" ? 1 : 0;
    const { job } = await enqueueRateLimited(
      ctx,
      { name: "modelTokens", count: estimate, priority, fairBy: caller, settles: "action", throws: true },
      internal.llm.answer,
      { question: id },
    );
    await ctx.db.patch("questions", id, { job });
    return id;
  },
});

/** Cancels a question that still waits. A question that the provider is answering cannot be cancelled. */
export const cancel = mutation({
  args: { question: v.id("questions") },
  returns: v.boolean(),
  handler: async (ctx, { question: id }) => {
    const question = await ctx.db.get("questions", id);
    if (!question?.job || question.caller !== (await callerOf(ctx))) return false;
    // The queue has taken nothing for it yet.
    const { canceled } = await cancelQueued(ctx, question.job);
    if (canceled) await end(ctx, question, { status: "cancelled", used: 0 });
    return canceled;
  },
});

/** The queue calls it when the tokens are there, and settles its own limit by what it returns. */
export const answer = internalAction({
  args: { question: v.id("questions") },
  returns: v.object({ used: v.number(), again: v.optional(v.boolean()) }),
  handler: async (ctx, { question }): Promise<{ used: number; again?: boolean }> => {
    const prompt = await ctx.runMutation(internal.llm.start, { question });
    if (prompt === null) return { used: 0 };
    let reply: Reply;
    try {
      reply = await callModel(prompt);
    } catch (error) {
      // The provider may have counted the call, so its tokens stay taken: a throw settles nothing.
      await ctx.runMutation(internal.llm.finish, { question });
      throw error;
    }
    if ("deniedUntil" in reply) {
      // Nothing starts before the provider wants it. This question keeps its place in the queue.
      await limits.pauseRateLimit(ctx, { name: "modelTokens", until: reply.deniedUntil });
      return { used: 0, again: await ctx.runMutation(internal.llm.postpone, { question }) };
    }
    await ctx.runMutation(internal.llm.finish, { question, ...reply });
    return { used: reply.used };
  },
});

export const start = internalMutation({
  args: { question: v.id("questions") },
  returns: v.union(v.string(), v.null()),
  handler: async (ctx, { question: id }) => {
    const question = await ctx.db.get("questions", id);
    if (question?.status !== "waiting") return null;
    await ctx.db.patch("questions", id, { status: "running", runs: question.runs + 1 });
    return question.prompt;
  },
});

/** Whether the question waits for another run. After the last one it has failed, and costs nothing. */
export const postpone = internalMutation({
  args: { question: v.id("questions") },
  returns: v.boolean(),
  handler: async (ctx, { question: id }) => {
    const question = await ctx.db.get("questions", id);
    if (!question) return false;
    const again = question.runs < ATTEMPTS;
    if (again) await ctx.db.patch("questions", id, { status: "waiting" });
    else await end(ctx, question, { status: "failed", used: 0 });
    return again;
  },
});

/** Without an answer the call has failed. Without `used` nobody knows what it has used. */
export const finish = internalMutation({
  args: { question: v.id("questions"), answer: v.optional(v.string()), used: v.optional(v.number()) },
  returns: v.null(),
  handler: async (ctx, { question: id, answer, used }) => {
    const question = await ctx.db.get("questions", id);
    if (!question) return null;
    await end(ctx, question, {
      status: answer === undefined ? "failed" : "done",
      answer,
      used: used ?? question.estimate,
    });
    return null;
  },
});

/** Ends a question once, and settles the user's day: unused tokens come back by their date, others are charged. */
async function end(
  ctx: MutationCtx,
  { _id, caller, status: before, estimate, takenAt }: Doc<"questions">,
  { used, ...ended }: Pick<Doc<"questions">, "status" | "answer"> & { used: number },
): Promise<void> {
  if (before !== "waiting" && before !== "running") return;
  await ctx.db.patch("questions", _id, ended);
  await limits.adjustRateLimit(ctx, { name: "tokensOfDay", key: caller, count: used - estimate, takenAt });
}

export const latest = query({
  args: {},
  returns: v.array(
    v.object({ _id: v.id("questions"), prompt: v.string(), status: vStatus, answer: v.optional(v.string()) }),
  ),
  handler: async (ctx) => {
    const caller = await callerOf(ctx);
    const own = ctx.db.query("questions").withIndex("by_caller", (q) => q.eq("caller", caller));
    const questions = await own.order("desc").take(10);
    return questions.map(({ _id, prompt, status, answer }) => ({ _id, prompt, status, answer }));
  },
});

/** The place of a question in the queue. A client asks for a question, and sees only its own. */
export const { getQueued } = exposeQueue<DataModel>({
  job: async (ctx, requested) => {
    const id = ctx.db.normalizeId("questions", requested);
    const question = id && (await ctx.db.get("questions", id));
    return question?.job && question.caller === (await callerOf(ctx)) ? question.job : null;
  },
});

/** What is left of the caller's day. */
export const { getRateLimit, getServerTime } = exposeRateLimit<"tokensOfDay", DataModel>("tokensOfDay", {
  key: callerOf,
  plan: async (ctx) => (await memberOf(ctx)).plan,
});
