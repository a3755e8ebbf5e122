/** The two homes of a limit: the app's own tables, or the component. Both answer the same four questions. */
import type { GenericActionCtx, GenericDataModel } from "convex/server";
import type { ComponentApi } from "../convex/_generated/component.js";
import * as operations from "./operations.js";
import type { Place, Request } from "./request.js";
import type { Reader, Writer } from "./store.js";
import type { RateLimitSnapshot, RateLimitStatus } from "./validators.js";

/** The contexts of home A: a database that has the `rateLimits` table. */
export interface TablesHome {
  query: Reader;
  mutation: Writer;
}

/**
 * The contexts of home B: queries, mutations, actions and HTTP actions can call the component. An action's signature is the
 * narrowest of them (no options), so all fit.
 */
export interface ComponentHome {
  query: Pick<GenericActionCtx<GenericDataModel>, "runQuery">;
  mutation: Pick<GenericActionCtx<GenericDataModel>, "runMutation">;
}

export interface Home<Contexts extends TablesHome | ComponentHome> {
  consume(ctx: Contexts["mutation"], request: Request): Promise<RateLimitStatus>;
  check(ctx: Contexts["query"], request: Request): Promise<RateLimitStatus>;
  get(ctx: Contexts["query"], place: Place): Promise<RateLimitSnapshot>;
  reset(ctx: Contexts["mutation"], bucket: { name: string; key?: string | undefined }): Promise<null>;
}

/** Home A: no hop, the caller's own transaction. */
export const tablesHome: Home<TablesHome> = operations;

/** Home B: one hop a call; from a mutation it is a sub-transaction of the caller's. */
export function componentHome({ public: api }: ComponentApi): Home<ComponentHome> {
  return {
    consume: (ctx, request) => ctx.runMutation(api.consume, requestArgs(request)),
    check: (ctx, request) => ctx.runQuery(api.check, requestArgs(request)),
    get: (ctx, place) => ctx.runQuery(api.get, placeArgs(place)),
    reset: (ctx, bucket) => ctx.runMutation(api.reset, bucketArgs(bucket)),
  };
}

function requestArgs({ demand, ...place }: Request) {
  return { ...placeArgs(place), count: demand.count / place.limit.unitsPerToken, reserve: demand.reserve };
}

function placeArgs({ limit, key }: Place) {
  return { ...bucketArgs({ name: limit.name, key }), config: limit.config };
}

/** An absent key stays absent: undefined is no value on the wire. */
function bucketArgs({ name, key }: { name: string; key?: string | undefined }) {
  return key === undefined ? { name } : { name, key };
}
