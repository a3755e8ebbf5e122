/**
 * convex-rate-limits/live: a limit as clients see it: its state, also as public functions. A client may ask, and
 * request a key; the server decides everything.
 */
import * as convex from "convex/server";
import { v, type VString } from "convex/values";
import { checkFields, isFunction, isObjectOrFunction } from "../engine/fields.js";
import { checkName } from "../engine/names.js";
import type { RateLimitConfig } from "../wire/configs.js";
import { functionOf } from "../wire/functionOf.js";
import { type RateLimitSnapshot, snapshotValidator } from "../wire/snapshots.js";
import type { ConfigArg, KeyArg, NameIn, PlanArg, PlanName, WrittenBucketArgs } from "./args.js";
import { type AnyBucketArgs, findBucket } from "./definitions.js";
import type { AnyDataModel, Ctx, DefinedRateLimits, InComponent, InTables, LimitSet, TypesOf } from "./place.js";
import { type ExposedRateLimit, keyFrom, readSnapshot, serverTime } from "./exposure.js";
import { setOf } from "./place.js";

export type { RateLimitSnapshot } from "../wire/snapshots.js";
export type { ExposedRateLimit } from "./exposure.js";

/**
 * A value that the server chooses from a query's ctx and the key that the client requests, if any. For a config or a
 * plan it is the key that the client gets. A function for the key ignores the request or checks it, since the client
 * sees the bucket of the returned key. Throw to refuse.
 */
type Decided<DataModel extends convex.GenericDataModel, Value> = (
  ctx: convex.GenericQueryCtx<DataModel>,
  key: string | undefined,
) => Value | Promise<Value>;

/** A value that is the same for all, or chosen by the server for a key. */
type Chosen<DataModel extends convex.GenericDataModel, Value> = Value | Decided<DataModel, Value>;

/** The arguments of `exposeRateLimit`: a key function if calls of the limit need a key. */
export type ExposeArgs<Limits, Name, DataModel extends convex.GenericDataModel> = Name extends keyof Limits
  ? KeyArg<Limits[Name], Decided<DataModel, string>> &
      Partial<PlanArg<Limits[Name], Chosen<DataModel, PlanName<Limits[Name]>>>> &
      ConfigArg<Limits[Name], Chosen<DataModel, RateLimitConfig>>
  : { key?: Decided<DataModel, string> | undefined; config: Chosen<DataModel, RateLimitConfig> };

/** The arguments as JavaScript may pass them. */
interface AnyExposeArgs {
  key?: Decided<AnyDataModel, string> | undefined;
  config?: Chosen<AnyDataModel, RateLimitConfig>;
  plan?: Chosen<AnyDataModel, string>;
}

/** The functions of `rateLimitLive`. Misuse throws as it does from the functions of `defineRateLimits`. */
export interface RateLimitLive<Limits, Contexts extends InTables | InComponent> {
  /**
   * The bucket's state, the same at any time; for live queries, with `projectRateLimit` in the client. It reads all
   * rows of a bucket that is split: in a mutation beside `rateLimit` it conflicts with every other call.
   */
  getRateLimit: <Name extends NameIn<Limits>>(
    ctx: Contexts["query"],
    args: WrittenBucketArgs<Limits, Name>,
  ) => Promise<RateLimitSnapshot>;

  /**
   * Public functions for the React hook `useRateLimit`: export them from a module. `key` is the server's function from
   * ctx (and the key that the client requests) to the key; a client can choose neither name nor config nor shards.
   * @throws at module load when name, key and config do not fit together.
   */
  exposeRateLimit: <Name extends NameIn<Limits>, DataModel extends convex.GenericDataModel = AnyDataModel>(
    name: Name,
    args: ExposeArgs<Limits, Name, DataModel>,
  ) => ExposedRateLimit;
}

/**
 * The functions that show a limit to clients, in either place.
 *
 * @param limits - what `defineRateLimits` returned.
 * @example
 * ```ts
 * import { defineRateLimits, MINUTE } from "convex-rate-limits";
 * import { rateLimitLive } from "convex-rate-limits/live";
 *
 * const limits = defineRateLimits({ publish: { kind: "token bucket", rate: 20, period: MINUTE } });
 * export const { getRateLimit, getServerTime } = rateLimitLive(limits).exposeRateLimit("publish", {});
 * ```
 */
export function rateLimitLive<Set extends DefinedRateLimits>(
  limits: Set,
): RateLimitLive<TypesOf<Set>["limits"], TypesOf<Set>["contexts"]> {
  const set = setOf(limits, "rateLimitLive");
  return {
    getRateLimit: async (ctx: Ctx, args: AnyBucketArgs) =>
      await readSnapshot(set, ctx, findBucket(set.definitions, "getRateLimit", args)),
    exposeRateLimit: (name: string, args: AnyExposeArgs) => expose(set, name, args),
  } satisfies Record<keyof RateLimitLive<never, InTables>, unknown> as never;
}

/** @throws at once when it is already certain that name, key and config do not fit together. */
function expose(set: LimitSet, name: string, options: AnyExposeArgs): ExposedRateLimit {
  const call = "exposeRateLimit";
  checkName(name);
  checkFields(name, "the options of exposeRateLimit", options, {
    key: { permitted: "a function from ctx to the key", holds: isFunction },
    plan: {
      permitted: "the name of a plan, or a function from ctx to one",
      holds: (value) => typeof value === "function" || typeof value === "string",
    },
    config: { permitted: "a config, or a function from ctx to one", holds: isObjectOrFunction },
  });
  const { key: keyFor, config, plan } = options;
  const find = (bucket: Omit<AnyBucketArgs, "name">) => findBucket(set.definitions, call, { name, ...bucket });
  const isChosenLater = typeof config === "function" || typeof plan === "function";
  if (!isChosenLater) find({ key: keyFor && "any", config, plan });
  // All that a client can say: no name, no config, no shards, and a key only where the server reads it.
  const args = () => (keyFor ? { key: v.optional(v.string()) } : ({} as { key: VString<"optional"> }));
  return {
    getRateLimit: convex.queryGeneric(
      functionOf(args, snapshotValidator, async (ctx: convex.GenericQueryCtx<AnyDataModel>, { key: requested }) => {
        const key = keyFor && keyFrom(name, call, await keyFor(ctx, requested));
        const chosen = typeof config === "function" ? await config(ctx, key) : config;
        const under = typeof plan === "function" ? await plan(ctx, key) : plan;
        return await readSnapshot(set, ctx as never, find({ key, config: chosen, plan: under }));
      }),
    ),
    getServerTime: serverTime(),
  };
}
