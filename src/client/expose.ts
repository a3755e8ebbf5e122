/** A limit as public functions, for clients. A client may ask, and request a key; the server decides everything. */
import {
  type GenericDataModel,
  type GenericQueryCtx,
  mutationGeneric,
  queryGeneric,
  type RegisteredMutation,
  type RegisteredQuery,
} from "convex/server";
import { v, type VString } from "convex/values";
import { checkFields, type Fields, isFunction } from "../engine/fields.js";
import { fieldError } from "../engine/misuse.js";
import { checkName } from "../engine/names.js";
import type { RateLimitConfig } from "../wire/configs.js";
import { type RateLimitSnapshot, snapshotValidator } from "../wire/snapshots.js";
import type { KeyArg } from "./args.js";
import type { AnyPlanArg } from "./planTypes.js";

/** A value that the server chooses from a query's ctx, and the client cannot. */
type Decided<DataModel extends GenericDataModel, Input, Value> = (
  ctx: GenericQueryCtx<DataModel>,
  input: Input,
) => Value | Promise<Value>;

/**
 * The server's function from the caller (and the key that the client requests, if any) to the key it gets. Ignore the request, or
 * check it: the client sees the bucket of the returned key. Throw to refuse.
 */
type ExposedKey<DataModel extends GenericDataModel = GenericDataModel> = Decided<DataModel, string | undefined, string>;

/** The config, where it is not the defined one: the same for all, or chosen by the server for a key (plans, tiers). */
type ExposedConfig<DataModel extends GenericDataModel = GenericDataModel> =
  RateLimitConfig | Decided<DataModel, string | undefined, RateLimitConfig>;

/** The plan of a limit with plans: the same for all, or chosen by the server for a key. */
type ExposedPlan<Definition, DataModel extends GenericDataModel> = Decided<
  DataModel,
  string | undefined,
  Definition extends { plans: infer Plans } ? keyof Plans & string : never
>;

/** The arguments of `exposeRateLimit`: a key function if calls of the limit need a key. */
export type ExposeArgs<Limits, Name, DataModel extends GenericDataModel> = Name extends keyof Limits
  ? KeyArg<Limits[Name], ExposedKey<DataModel>> &
      AnyPlanArg<Limits[Name], ExposedPlan<Limits[Name], DataModel>> &
      (Limits[Name] extends { plans: object } ? { config?: undefined } : { config?: ExposedConfig<DataModel> })
  : { key?: ExposedKey<DataModel> | undefined; config: ExposedConfig<DataModel> };

// The data model of whichever app registers the functions: its own functions were typed with it.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type AnyDataModel = any;

/** The arguments as JavaScript may pass them. */
export interface AnyExposeArgs {
  key?: ExposedKey<AnyDataModel> | undefined;
  config?: ExposedConfig<AnyDataModel>;
  plan?: string | Decided<AnyDataModel, string | undefined, string> | undefined;
}

/** The public functions of one limit. Export them from a module; `useRateLimit` takes the references to them. */
export interface ExposedRateLimit {
  getRateLimit: RegisteredQuery<"public", { key?: string }, Promise<RateLimitSnapshot>>;
  /** The server's clock, so that the hook need not trust the browser's. A mutation, because a query's answer is cached. */
  getServerTime: RegisteredMutation<"public", Record<string, never>, Promise<number>>;
}

/** One bucket as the server has decided it. */
interface ExposedBucket {
  name: string;
  key?: string | undefined;
  config?: RateLimitConfig;
  plan?: string;
}

const fields = (): Fields => ({
  key: { permitted: "a function from ctx to the key", holds: isFunction },
  plan: {
    permitted: "the name of a plan, or a function from ctx to one",
    holds: (value) => typeof value === "function" || typeof value === "string",
  },
  config: {
    permitted: "a config, or a function from ctx to one",
    holds: (value) => typeof value === "function" || (typeof value === "object" && value !== null),
  },
});

/**
 * @param get - reads a bucket; throws when name, key and config do not fit together.
 * @throws at once when it is already certain that they will not.
 */
export function expose(
  name: string,
  args: AnyExposeArgs,
  {
    check,
    get,
  }: {
    check: (bucket: ExposedBucket) => unknown;
    get: (ctx: GenericQueryCtx<AnyDataModel>, bucket: ExposedBucket) => Promise<RateLimitSnapshot>;
  },
): ExposedRateLimit {
  checkName(name);
  checkFields(name, "the options of exposeRateLimit", args, fields());
  const { key: keyFor, config, plan } = args;
  const isChosenLater = typeof config === "function" || typeof plan === "function";
  if (!isChosenLater)
    check({ name, ...(keyFor && { key: "any" }), ...(config && { config }), ...(plan !== undefined && { plan }) });
  return {
    getRateLimit: queryGeneric({
      // All that a client can say: no name, no config, no shards, and a key only where the server reads it.
      get args() {
        return keyFor ? { key: v.optional(v.string()) } : ({} as { key: VString<string | undefined, "optional"> });
      },
      get returns() {
        return snapshotValidator();
      },
      handler: async (ctx: GenericQueryCtx<AnyDataModel>, { key: requested }: { key?: string }) => {
        const key = keyFor && someKey(name, await keyFor(ctx, requested));
        const chosen = typeof config === "function" ? await config(ctx, key) : config;
        const under = typeof plan === "function" ? await plan(ctx, key) : plan;
        const named = under !== undefined && { plan: under };
        return await get(ctx, { name, ...(keyFor && { key }), ...(chosen && { config: chosen }), ...named });
      },
    }),
    getServerTime: mutationGeneric({
      args: {},
      get returns() {
        return v.number();
      },
      handler: async () => await Promise.resolve(Date.now()),
    }),
  };
}

/** A key function that finds nobody must not show the bucket that belongs to everybody. */
function someKey(name: string, key: unknown): string {
  if (typeof key === "string" && key !== "") return key;
  throw fieldError(name, "the key that exposeRateLimit's key function returns", "a non-empty string", key);
}
