/** A limit as public functions, with the arguments and the answer that the official component's React hook expects. */
import * as convex from "convex/server";
import { type ObjectType, v } from "convex/values";
import { keyFrom, serverTime } from "../client/exposure.js";
import type { AnyDataModel } from "../client/place.js";
import { misuseError } from "../engine/misuse.js";
import { configValidator } from "../wire/configs.js";
import { functionOf } from "../wire/functionOf.js";
import { type RateLimitSnapshot, snapshotValidator } from "../wire/snapshots.js";
import type { GetValueReturns } from "./official.js";

export interface HookOptions<DataModel extends convex.GenericDataModel> {
  /** The key, or the server's function from the caller (and the key that the client asks for) to the key. */
  key?: string | ((ctx: convex.GenericQueryCtx<DataModel>, keyFromClient?: string) => string | Promise<string>);
  /** Accepted, and without effect: a limit's value is that of all its shards. */
  sampleShards?: number;
}

const hookArgs = () => ({
  name: v.optional(v.string()),
  key: v.optional(v.string()),
  sampleShards: v.optional(v.number()),
});
const hookValue = () => v.object({ ...snapshotValidator().fields, shard: v.number(), config: configValidator() });

/**
 * The arguments that a client may send. `name` must be the limit's own, and a `config` is refused: the server chooses
 * both.
 */
export type HookArgs = ObjectType<ReturnType<typeof hookArgs>>;

/**
 * The answer of `getValue` with the limit's name, so that `useRateLimit` of `convex-rate-limits/react` takes it as
 * well.
 */
export type HookValue = Omit<RateLimitSnapshot, keyof GetValueReturns> & GetValueReturns;

/** The public functions of one limit. Export them from a module. */
export interface HookApi {
  getRateLimit: convex.RegisteredQuery<"public", HookArgs, Promise<HookValue>>;
  getServerTime: convex.RegisteredMutation<"public", Record<string, never>, Promise<number>>;
}

export function hookApi(
  name: string,
  key: HookOptions<AnyDataModel>["key"],
  read: (ctx: convex.GenericQueryCtx<AnyDataModel>, key: string | undefined) => Promise<HookValue>,
): HookApi {
  const handler = async (ctx: convex.GenericQueryCtx<AnyDataModel>, args: HookArgs) => {
    if (args.name !== undefined && args.name !== name) {
      throw misuseError(name, "a client cannot choose another limit; export a hookAPI for each.");
    }
    if (typeof key === "function") return await read(ctx, keyFrom(name, "hookAPI", await key(ctx, args.key)));
    if (key === undefined && args.key !== undefined) {
      throw misuseError(name, "a client can send a key only if hookAPI has a key function.");
    }
    return await read(ctx, key);
  };
  return { getRateLimit: convex.queryGeneric(functionOf(hookArgs, hookValue, handler)), getServerTime: serverTime() };
}
