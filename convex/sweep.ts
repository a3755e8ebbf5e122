/** Sweeping, in batches that schedule the next. */
import type { FunctionReturnType } from "convex/server";
import { deleteFull, findFull } from "../src/operations/sweep.js";
import { fullBucketsValidator, sweepArgs, type SweepResult, sweepResultValidator } from "../src/wire/answers.js";
import { api, internal } from "./_generated/api.js";
import { internalQuery, mutation } from "./_generated/server.js";

export const find = internalQuery({
  get args() {
    return sweepArgs();
  },
  get returns() {
    return fullBucketsValidator();
  },
  handler: async (ctx, args) => {
    const { buckets, cursor } = await findFull(ctx, args);
    return { buckets: buckets.map(({ name, key }) => (key === undefined ? { name } : { name, key })), cursor };
  },
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
    const full: FunctionReturnType<typeof internal.sweep.find> = await ctx.runQuery(internal.sweep.find, args, {
      useStaleSnapshot: true,
    });
    const deleted = await deleteFull(ctx, args.targets, full.buckets);
    const { targets } = args;
    if (full.cursor !== null) await ctx.scheduler.runAfter(0, api.sweep.sweep, { targets, cursor: full.cursor });
    return { deleted, isDone: full.cursor === null };
  },
});
