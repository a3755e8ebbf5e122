/** Sweeping, in batches that schedule the next. */
import type { FunctionReturnType } from "convex/server";
import { v } from "convex/values";
import { deleteFull, findFull } from "../src/operations/sweep.js";
import { findWorkers, sweepInTurn } from "../src/queue/sweep.js";
import { inQueue, WORKER_MODULE } from "../src/queue/worker.js";
import { idOf } from "../src/storage/rows.js";
import { bucketArgs } from "../src/wire/answers.js";
import { queueTerms } from "../src/wire/configs.js";
import { sweepArgs, type SweepResult, sweepResultValidator } from "../src/wire/admin.js";
import { api, internal } from "./_generated/api.js";
import { internalQuery, mutation } from "./_generated/server.js";

/** Buckets that are full again, and where the next batch starts; null after the last. */
const fullBucketsValidator = () =>
  v.object({ buckets: v.array(v.object(bucketArgs())), cursor: v.union(v.string(), v.null()) });

export const find = internalQuery({
  get args() {
    return sweepArgs();
  },
  get returns() {
    return fullBucketsValidator();
  },
  handler: async (ctx, args) => {
    const { buckets, cursor } = await findFull(ctx, args);
    return { buckets: buckets.map(idOf), cursor };
  },
});

/** The same of the workers of queues that must be looked at. */
export const findQueues = internalQuery({
  get args() {
    return { queues: v.array(v.object(queueTerms())), cursor: v.string() };
  },
  get returns() {
    return fullBucketsValidator();
  },
  handler: findWorkers,
});

/** Reads the batch from a stale snapshot: only the buckets that it deletes can conflict. */
export const sweep = mutation({
  get args() {
    return sweepArgs();
  },
  get returns() {
    return sweepResultValidator();
  },
  handler: async (ctx, args): Promise<SweepResult> => {
    const { targets, queues = [] } = args;
    type Found = FunctionReturnType<typeof internal.sweep.find>;
    const stale = { useStaleSnapshot: true };
    const { deleted, cursor } = await sweepInTurn(
      inQueue(ctx, WORKER_MODULE),
      { cursor: args.cursor, queues },
      async () => {
        const asked = { targets, ...(args.cursor !== undefined && { cursor: args.cursor }) };
        const full: Found = await ctx.runQuery(internal.sweep.find, asked, stale);
        return { deleted: await deleteFull(ctx, targets, full.buckets), cursor: full.cursor };
      },
      (from): Promise<Found> => ctx.runQuery(internal.sweep.findQueues, { queues, cursor: from }, stale),
    );
    if (cursor !== null) await ctx.scheduler.runAfter(0, api.sweep.sweep, { targets, queues, cursor });
    return { deleted, isDone: cursor === null };
  },
});
