/**
 * Questions to a language model, whose provider grants us so many tokens a minute. A question reserves its tokens when it is
 * asked and is told at once when it will run; nothing polls, nothing is retried, and nobody is overtaken.
 */
import { v } from "convex/values";
import { internal } from "./_generated/api.js";
import { internalAction, internalMutation, mutation, query } from "./_generated/server.js";
import { rateLimit } from "./rateLimits.js";
import { llmJobFields } from "./schema.js";

/** The usual rule of thumb for English text. */
const CHARACTERS_PER_TOKEN = 4;

/** Promises the job a moment and schedules it for that moment, or says when there is room in the queue. */
export const ask = mutation({
  args: { user: v.id("users"), prompt: v.string(), maxAnswerTokens: v.number() },
  returns: v.union(
    v.object({ ok: v.literal(true), job: v.id("llmJobs"), promisedAt: v.number() }),
    v.object({ ok: v.literal(false), retryAt: v.number() }),
  ),
  handler: async (ctx, { user, prompt, maxAnswerTokens }) => {
    const now = Date.now();
    const tokens = Math.ceil(prompt.length / CHARACTERS_PER_TOKEN) + maxAnswerTokens;
    const status = await rateLimit(ctx, { name: "llmTokens", count: tokens, reserve: true });
    if (!status.ok) return { ok: false as const, retryAt: status.retryAt };

    const promisedAt = status.retryAt ?? now;
    const job = await ctx.db.insert("llmJobs", { user, prompt, tokens, status: "queued", promisedAt });
    // The tokens are paid for: the job does not ask the limit again.
    await ctx.scheduler.runAt(promisedAt, internal.llm.run, { job });
    return { ok: true as const, job, promisedAt };
  },
});

export const run = internalAction({
  args: { job: v.id("llmJobs") },
  returns: v.null(),
  handler: async (ctx, { job }): Promise<null> => {
    const prompt: string = await ctx.runMutation(internal.llm.start, { job });
    const answer = await complete(prompt);
    await ctx.runMutation(internal.llm.finish, { job, answer });
    return null;
  },
});

/** Stands in for the provider's API. */
async function complete(prompt: string): Promise<string> {
  return await Promise.resolve(`An answer to "${prompt}".`);
}

export const start = internalMutation({
  args: { job: v.id("llmJobs") },
  returns: v.string(),
  handler: async (ctx, { job }) => {
    const queued = await ctx.db.get("llmJobs", job);
    if (queued?.status !== "queued") throw new Error(`Job ${job} is not queued.`);
    await ctx.db.patch("llmJobs", job, { status: "running", startedAt: Date.now() });
    return queued.prompt;
  },
});

export const finish = internalMutation({
  args: { job: v.id("llmJobs"), answer: v.string() },
  returns: v.null(),
  handler: async (ctx, { job, answer }) => {
    await ctx.db.patch("llmJobs", job, { status: "done", answer });
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
