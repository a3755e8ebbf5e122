/** Functions that test a queue, and the scheduler that it uses. */
import { defineRateLimits, SECOND } from "convex-rate-limits";
import { rateLimitQueue } from "convex-rate-limits/queue";
import { makeFunctionReference } from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api.js";
import type { Id } from "../_generated/dataModel.js";
import { mutation, query } from "../_generated/server.js";
import { admit, secretArgs } from "./secret.js";

const limits = defineRateLimits(
  { proofQueue: { kind: "token bucket", rate: 20, period: SECOND, capacity: 5, keyed: true, queue: {} } },
  { queueModule: "prove/order" },
);
const { enqueueRateLimited, exposeQueueWorker } = rateLimitQueue(limits);

export const { workQueue, runQueuedAction } = exposeQueueWorker();

const rowArgs = { ...secretArgs, run: v.string(), label: v.string(), n: v.number() };

/** Enqueues one job, which writes a row when it runs. */
export const enqueue = mutation({
  args: { ...rowArgs, key: v.string() },
  returns: v.boolean(),
  handler: async (ctx, { secret, key, ...row }): Promise<boolean> => {
    admit(secret);
    const { ok } = await enqueueRateLimited(ctx, { name: "proofQueue", key }, internal.prove.rows.record, row);
    return ok;
  },
});

/** Schedules a row to be written after `delayMs`. */
export const later = mutation({
  args: { ...rowArgs, delayMs: v.number() },
  returns: v.id("_scheduled_functions"),
  handler: async (ctx, { secret, delayMs, ...row }): Promise<Id<"_scheduled_functions">> => {
    admit(secret);
    const dueAt = Date.now() + delayMs;
    return await ctx.scheduler.runAt(dueAt, internal.prove.rows.record, { ...row, dueAt });
  },
});

export const cancel = mutation({
  args: { ...secretArgs, job: v.id("_scheduled_functions") },
  returns: v.null(),
  handler: async (ctx, { secret, job }) => {
    admit(secret);
    await ctx.scheduler.cancel(job);
    return null;
  },
});

export const state = query({
  args: { ...secretArgs, job: v.id("_scheduled_functions") },
  returns: v.string(),
  handler: async (ctx, { secret, job }) => {
    admit(secret);
    return (await ctx.db.system.get("_scheduled_functions", job))?.state.kind ?? "gone";
  },
});

/** Schedules a function that no module exports. A deploy that removes a function may leave such a job behind. */
export const scheduleMissing = mutation({
  args: secretArgs,
  returns: v.id("_scheduled_functions"),
  handler: async (ctx, { secret }) => {
    admit(secret);
    return await ctx.scheduler.runAfter(0, makeFunctionReference<"mutation">("prove/order:isNotThere"));
  },
});

/** Writes a row, and counts it with a query called inside the mutation: once normally, once with a stale snapshot. */
export const snapshots = mutation({
  args: { ...secretArgs, run: v.string(), label: v.string() },
  returns: v.object({ own: v.number(), stale: v.number(), snapshotTs: v.string() }),
  handler: async (ctx, { secret, ...row }): Promise<{ own: number; stale: number; snapshotTs: string }> => {
    admit(secret);
    await ctx.db.insert("proofRows", row);
    const own: number = await ctx.runQuery(internal.prove.rows.count, row);
    const stale: number = await ctx.runQuery(internal.prove.rows.count, row, { useStaleSnapshot: true });
    return { own, stale, snapshotTs: String(ctx.meta.getSnapshotTs()) };
  },
});
