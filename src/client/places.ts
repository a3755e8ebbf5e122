/** The two homes of a limit: the app's own tables, or the component. Both answer the same questions. */
import type { GenericActionCtx, GenericDataModel, Scheduler } from "convex/server";
import type { ComponentApi } from "../../convex/_generated/component.js";
import { adjust } from "../operations/adjust.js";
import { checkAll, consumeAll } from "../operations/all.js";
import type { Bundle } from "../engine/bundle.js";
import { list, type ListRequest } from "../operations/list.js";
import * as operations from "../operations/consume.js";
import type { SweepContinuation } from "./rateLimits.js";
import type { Adjustment, Place, Request } from "../engine/request.js";
import type { BucketId, Reader, Writer } from "../storage/rows.js";
import { sweepBatch } from "../operations/sweep.js";
import type {
  RateLimitAllStatus,
  RateLimitPage,
  RateLimitSnapshot,
  RateLimitStatus,
  SweepArgs,
  SweepResult,
} from "../validators.js";
import { writeCursor } from "../storage/batches.js";

/** The contexts of home A: a database that has the `rateLimits` table. */
export interface TablesHome {
  query: Reader;
  mutation: Writer;
  sweep: SweepContinuation;
}

/**
 * The contexts of home B: queries, mutations, actions and HTTP actions can call the component. An action's signature is the
 * narrowest of them (no options), so all fit.
 */
export interface ComponentHome {
  query: Pick<GenericActionCtx<GenericDataModel>, "runQuery">;
  mutation: Pick<GenericActionCtx<GenericDataModel>, "runMutation">;
  /** The component schedules its own batches. */
  sweep: object;
}

export interface Home<Contexts extends TablesHome | ComponentHome> {
  consume(ctx: Contexts["mutation"], request: Request): Promise<RateLimitStatus>;
  check(ctx: Contexts["query"], request: Request): Promise<RateLimitStatus>;
  consumeAll(ctx: Contexts["mutation"], requested: Bundle): Promise<RateLimitAllStatus>;
  checkAll(ctx: Contexts["query"], requested: Bundle): Promise<RateLimitAllStatus>;
  adjust(ctx: Contexts["mutation"], adjustment: Adjustment): Promise<RateLimitStatus>;
  get(ctx: Contexts["query"], place: Place): Promise<RateLimitSnapshot>;
  reset(ctx: Contexts["mutation"], bucket: BucketId): Promise<null>;
  list(ctx: Contexts["query"], request: ListRequest): Promise<RateLimitPage>;
  sweep(
    ctx: Contexts["mutation"] & { scheduler: Scheduler },
    targets: SweepArgs["targets"],
    how: Contexts["sweep"],
  ): Promise<SweepResult>;
}

/** Home A: no hop, the caller's own transaction. */
export const tablesHome: Home<TablesHome> = {
  ...operations,
  consumeAll,
  checkAll,
  adjust,
  list,
  sweep: async (ctx, targets, { cursor, next }) => {
    const swept = await sweepBatch(ctx, { targets, cursor });
    if (swept.cursor !== null) await ctx.scheduler.runAfter(0, next, { cursor: swept.cursor });
    return { deleted: swept.deleted, isDone: swept.cursor === null };
  },
};

/** Home B: one hop a call; from a mutation it is a sub-transaction of the caller's. */
export function componentHome({ public: api, sweep }: ComponentApi): Home<ComponentHome> {
  return {
    consume: (ctx, request) => ctx.runMutation(api.consume, requestArgs(request)),
    check: (ctx, request) => ctx.runQuery(api.check, requestArgs(request)),
    consumeAll: (ctx, { requests }) => ctx.runMutation(api.consumeAll, { requests: requests.map(requestArgs) }),
    checkAll: (ctx, { requests }) => ctx.runQuery(api.checkAll, { requests: requests.map(requestArgs) }),
    adjust: (ctx, { units, ...place }) =>
      ctx.runMutation(api.adjust, { ...placeArgs(place), count: units / place.limit.unitsPerToken }),
    get: (ctx, place) => ctx.runQuery(api.get, placeArgs(place)),
    reset: (ctx, bucket) => ctx.runMutation(api.reset, bucketArgs(bucket)),
    list: (ctx, { limit, from, most, onlyLimited }) => {
      const { name, config } = limit;
      return ctx.runQuery(api.list, { name, config, cursor: writeCursor(from), limit: most, onlyLimited });
    },
    sweep: (ctx, targets) => ctx.runMutation(sweep.sweep, { targets }),
  };
}

function requestArgs({ demand, ...place }: Request) {
  return { ...placeArgs(place), count: demand.count / place.limit.unitsPerToken, reserve: demand.reserve };
}

function placeArgs({ limit, key }: Place) {
  return { ...bucketArgs({ name: limit.name, key }), config: limit.config };
}

/** An absent key stays absent: undefined is no value on the wire. */
function bucketArgs({ name, key }: BucketId) {
  return key === undefined ? { name } : { name, key };
}
