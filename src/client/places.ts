/** The two places where limits live: the app's own tables, or the component. Both answer the same questions. */
import type { GenericActionCtx, GenericDataModel, Scheduler } from "convex/server";
import type { ComponentApi } from "../../convex/_generated/component.js";
import type { Bundle } from "../engine/bundle.js";
import { show } from "../engine/misuse.js";
import type { Adjustment, Bucket, Request } from "../engine/request.js";
import { adjust } from "../operations/adjust.js";
import { checkAll, consumeAll } from "../operations/all.js";
import { check, consume, get } from "../operations/consume.js";
import { list, type ListRequest } from "../operations/list.js";
import { clearOverride, setOverride } from "../operations/override.js";
import { reset } from "../operations/reset.js";
import { sweepBatch } from "../operations/sweep.js";
import { writeCursor } from "../storage/batches.js";
import type { QueueReader, QueueWriter } from "../queue/rows.js";
import { type BucketId, idOf, type Reader, readingInTurn, takingTurns, type Writer } from "../storage/rows.js";
import type { RateLimitOverride } from "../configs.js";
import type { RateLimitSnapshot } from "../snapshots.js";
import type { RateLimitAllStatus, RateLimitPage, RateLimitStatus, SweepArgs, SweepResult } from "../validators.js";
import type { SweepContinuation } from "./args.js";
import { bucketArgs, mutation, query } from "./component.js";
import { queuesInComponent, queuesInTables, type QueuePlace } from "./queuePlaces.js";

/* eslint-disable @typescript-eslint/no-empty-object-type -- The compiler shows these names when the schema lacks the table. */
/** Put `...rateLimitTables` into the schema: its queries and mutations have such a ctx. */
export interface QueryCtxWithRateLimitTables extends Reader {}
/** Put `...rateLimitTables` into the schema: its mutations have such a ctx. */
export interface MutationCtxWithRateLimitTables extends Writer {}
/** The same for limits with a queue: rateLimitTables has their tables, too. */
export interface QueryCtxWithRateLimitQueue extends QueueReader {}
export interface MutationCtxWithRateLimitQueue extends QueueWriter {}
/* eslint-enable @typescript-eslint/no-empty-object-type */

/** The contexts of limits in your tables: a database that has the `rateLimits` table. */
export interface InTables {
  query: QueryCtxWithRateLimitTables;
  mutation: MutationCtxWithRateLimitTables;
  sweep: SweepContinuation;
  queueQuery: QueryCtxWithRateLimitQueue;
  queueMutation: MutationCtxWithRateLimitQueue;
}

/**
 * The contexts of limits in the component: queries, mutations, actions and HTTP actions can call it. An action's signature is the
 * narrowest of them (no options), so all fit.
 */
export interface InComponent {
  query: Pick<GenericActionCtx<GenericDataModel>, "runQuery">;
  mutation: Pick<GenericActionCtx<GenericDataModel>, "runMutation">;
  /** The component schedules its own batches. */
  sweep: object;
  queueQuery: Pick<GenericActionCtx<GenericDataModel>, "runQuery">;
  queueMutation: Pick<GenericActionCtx<GenericDataModel>, "runMutation">;
}

export interface Place<Contexts extends InTables | InComponent> {
  consume(ctx: Contexts["mutation"], request: Request): Promise<RateLimitStatus>;
  check(ctx: Contexts["query"], request: Request): Promise<RateLimitStatus>;
  consumeAll(ctx: Contexts["mutation"], bundle: Bundle): Promise<RateLimitAllStatus>;
  checkAll(ctx: Contexts["query"], bundle: Bundle): Promise<RateLimitAllStatus>;
  adjust(ctx: Contexts["mutation"], adjustment: Adjustment): Promise<RateLimitStatus>;
  get(ctx: Contexts["query"], bucket: Bucket): Promise<RateLimitSnapshot>;
  reset(ctx: Contexts["mutation"], bucket: BucketId): Promise<null>;
  override(ctx: Contexts["mutation"], bucket: BucketId, override: RateLimitOverride): Promise<null>;
  clearOverride(ctx: Contexts["mutation"], bucket: BucketId): Promise<null>;
  list(ctx: Contexts["query"], request: ListRequest): Promise<RateLimitPage>;
  sweep(
    ctx: Contexts["mutation"] & { scheduler: Scheduler },
    targets: SweepArgs["targets"],
    how: Contexts["sweep"],
  ): Promise<SweepResult>;
  readonly queues: QueuePlace<Contexts["queueQuery"], Contexts["queueMutation"]>;
}

/** In your tables: no hop, the caller's own transaction. */
export const inTables: Place<InTables> = {
  queues: queuesInTables,
  consume: takingTurns(consume),
  check: readingInTurn(check),
  consumeAll: takingTurns(consumeAll),
  checkAll: readingInTurn(checkAll),
  adjust: takingTurns(adjust),
  get: readingInTurn(get),
  reset: takingTurns(reset),
  override: takingTurns(setOverride),
  clearOverride: takingTurns(clearOverride),
  list: readingInTurn(list),
  sweep: async (ctx, targets, { cursor, next }) => {
    // The types forbid anything else, JavaScript does not.
    const given: unknown = next;
    if (given === undefined || given === null) {
      throw new Error(`sweepRateLimits needs next, a function of yours that continues the sweep, got ${show(given)}.`);
    }
    const swept = await takingTurns(sweepBatch)(ctx, { targets, cursor });
    if (swept.cursor !== null) await ctx.scheduler.runAfter(0, next, { cursor: swept.cursor });
    return { deleted: swept.deleted, isDone: swept.cursor === null };
  },
};

/** In the component: one hop a call; from a mutation it is a sub-transaction of the caller's. */
export function inComponent({ public: api, sweep, queue }: ComponentApi): Place<InComponent> {
  return {
    queues: queuesInComponent(queue),
    consume: async (ctx, request) => await mutation(ctx)(api.consume, demandArgs(request)),
    check: async (ctx, request) => await query(ctx)(api.check, demandArgs(request)),
    consumeAll: async (ctx, bundle) => await mutation(ctx)(api.consumeAll, allArgs(bundle)),
    checkAll: async (ctx, bundle) => await query(ctx)(api.checkAll, allArgs(bundle)),
    adjust: async (ctx, { count, at, takenAt, ...bucket }) =>
      await mutation(ctx)(api.adjust, {
        ...bucketArgs(bucket),
        count,
        ...(at !== undefined && { at }),
        ...(takenAt !== undefined && { takenAt }),
      }),
    get: async (ctx, bucket) => await query(ctx)(api.get, bucketArgs(bucket)),
    reset: async (ctx, bucket) => await mutation(ctx)(api.reset, idOf(bucket)),
    override: async (ctx, bucket, override) => await mutation(ctx)(api.override, { ...idOf(bucket), ...override }),
    clearOverride: async (ctx, bucket) => await mutation(ctx)(api.clearOverride, idOf(bucket)),
    list: async (ctx, { limit, from, most, onlyLimited, onlyOverridden, isOverridable }) => {
      const { name, config } = limit;
      const options = { cursor: writeCursor(from), limit: most, onlyLimited, onlyOverridden };
      return await query(ctx)(api.list, { name, config, overrides: isOverridable, ...options });
    },
    sweep: async (ctx, targets) => await mutation(ctx)(sweep.sweep, { targets }),
  };
}

function demandArgs(request: Request) {
  const { atLeast } = request.asked;
  return { ...consumedArgs(request), ...(atLeast !== undefined && { atLeast }) };
}

function consumedArgs(request: Request) {
  const { count, reserve, refundable } = request.asked;
  return {
    ...bucketArgs(request),
    ...(count !== undefined && { count }),
    ...(reserve !== undefined && { reserve }),
    ...(refundable && { refundable }),
  };
}

function allArgs({ requests }: Bundle) {
  return {
    requests: requests.map((request) => ({
      ...consumedArgs(request),
      ...(request.asked.shadow && { shadow: true }),
    })),
  };
}
