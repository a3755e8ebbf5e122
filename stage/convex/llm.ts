/**
 * Questions to a language model, within the tokens that its provider grants us each minute. A question reserves an estimate of
 * its tokens when it is asked, and the answer says at once when it will run. Nothing polls and nothing is retried.
 *
 * A promised time never changes. The tokens of a cancelled question go to the next one asked, which may then run before others
 * that were asked earlier. When a question ends, it settles: the tokens that it has not used go back.
 */
import { ConvexError, type Infer, v } from "convex/values";
import { internal } from "./_generated/api.js";
import { internalAction, internalMutation, mutation, query } from "./_generated/server.js";
import { adjustRateLimit, cancelRateLimited, scheduleRateLimited } from "./rateLimits.js";
import { llmJobFields } from "./schema.js";

const vPromise = v.union(
  v.object({ ok: v.literal(true), job: v.id("llmJobs"), promisedAt: v.number() }),
  v.object({ ok: v.literal(false), retryAt: v.number() }),
);

/** Promises the job a time and schedules it for that time, or says when there is room in the queue. */
export const ask = mutation({
  args: { user: v.id("users"), prompt: v.string(), maxAnswerTokens: v.number() },
  returns: vPromise,
  // The return type is written out because the handler refers to its own module, so TypeScript cannot infer it.
  handler: async (ctx, { user, prompt, maxAnswerTokens }): Promise<Infer<typeof vPromise>> => {
    const tokens = tokensIn(prompt) + maxAnswerTokens;
    const job = await ctx.db.insert("llmJobs", { user, prompt, tokens, status: "queued", promisedAt: Date.now() });
    // The tokens are paid for: the job does not ask the limit again.
    const scheduled = await scheduleRateLimited(ctx, { name: "llmTokens", count: tokens }, internal.llm.run, { job });
    if (!scheduled.ok) {
      await ctx.db.delete("llmJobs", job);
      return { ok: false, retryAt: scheduled.retryAt };
    }
    await ctx.db.patch("llmJobs", job, { promisedAt: scheduled.runAt, reservation: scheduled.job });
    return { ok: true, job, promisedAt: scheduled.runAt };
  },
});

/** Cancels a question that has not begun. Its tokens go to the next one asked; questions with a promise keep their times. */
export const cancel = mutation({
  args: { job: v.id("llmJobs") },
  returns: v.object({ canceled: v.boolean() }),
  handler: async (ctx, { job }) => {
    const reservation = (await ctx.db.get("llmJobs", job))?.reservation;
    if (!reservation) throw new ConvexError({ kind: "NoSuchJob", job });
    const { canceled } = await cancelRateLimited(ctx, reservation);
    if (canceled) await ctx.db.patch("llmJobs", job, { status: "cancelled" });
    return { canceled };
  },
});

/** If the action dies midway, the job stays "running" and its tokens stay charged: nobody knows what the provider has counted. */
export const run = internalAction({
  args: { job: v.id("llmJobs") },
  returns: v.null(),
  handler: async (ctx, { job }): Promise<null> => {
    const { prompt, tokens }: { prompt: string; tokens: number } = await ctx.runMutation(internal.llm.start, { job });
    try {
      const { answer, used } = await complete(prompt, tokens - tokensIn(prompt));
      await ctx.runMutation(internal.llm.settle, { job, used, answer });
    } catch {
      // The provider does not count a call that it has refused.
      await ctx.runMutation(internal.llm.settle, { job, used: 0 });
    }
    return null;
  },
});

/** Stands in for the provider's API. It refuses an empty prompt, and answers others with a third to two thirds of `maxAnswerTokens`. */
async function complete(prompt: string, maxAnswerTokens: number): Promise<{ answer: string; used: number }> {
  if (prompt === "") throw new Error("400: the prompt is empty.");
  const answerTokens = Math.floor((maxAnswerTokens * (3 + (prompt.length % 4))) / 9);
  return await Promise.resolve({ answer: `An answer to "${prompt}".`, used: tokensIn(prompt) + answerTokens });
}

/** The usual rule of thumb for English text: four characters are a token. */
function tokensIn(text: string): number {
  return Math.ceil(text.length / 4);
}

export const start = internalMutation({
  args: { job: v.id("llmJobs") },
  returns: v.object({ prompt: v.string(), tokens: v.number() }),
  handler: async (ctx, { job }) => {
    const queued = await ctx.db.get("llmJobs", job);
    if (queued?.status !== "queued") throw new Error(`Job ${job} is not queued.`);
    await ctx.db.patch("llmJobs", job, { status: "running", startedAt: Date.now() });
    return { prompt: queued.prompt, tokens: queued.tokens };
  },
});

/** Charges the tokens used beyond the estimate, or gives back the unused ones. The same transaction ends the job, so it happens once. */
export const settle = internalMutation({
  args: { job: v.id("llmJobs"), used: v.number(), answer: v.optional(v.string()) },
  returns: v.null(),
  handler: async (ctx, { job, used, answer }) => {
    const running = await ctx.db.get("llmJobs", job);
    if (running?.status !== "running") throw new Error(`Job ${job} is not running.`);
    await adjustRateLimit(ctx, { name: "llmTokens", count: used - running.tokens });
    await ctx.db.patch(
      "llmJobs",
      job,
      answer === undefined ? { status: "failed", used } : { status: "done", used, answer },
    );
    return null;
  },
});

/** A user's latest jobs, in the order in which they were asked. */
export const jobs = query({
  args: { user: v.id("users") },
  returns: v.array(v.object({ _id: v.id("llmJobs"), _creationTime: v.number(), ...llmJobFields })),
  handler: async (ctx, { user }) => {
    const latest = await ctx.db
      .query("llmJobs")
      .withIndex("by_user", (q) => q.eq("user", user))
      .order("desc")
      .take(100);
    return latest.reverse();
  },
});
