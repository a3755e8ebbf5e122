/** convex-rate-limits/admin: lists, sweeps and overrides of a set of limits. */
import type { Scheduler } from "convex/server";
import { checkFields, type Fields } from "../engine/fields.js";
import type { Limit } from "../engine/kinds/kind.js";
import { misuseError, show } from "../engine/misuse.js";
import { parseOverride } from "../engine/override.js";
import { list, parseList } from "../operations/list.js";
import { clearOverride, setOverride } from "../operations/override.js";
import { sweepBatch, sweepTargets } from "../operations/sweep.js";
import type { QueueWriter } from "../queue/rows.js";
import { sweepInTurn, sweepWorkers } from "../queue/sweep.js";
import { writeCursor } from "../storage/batches.js";
import { idOf, inTurn, readingInTurn, takingTurns } from "../storage/rows.js";
import type { RateLimitPage, SweepResult } from "../wire/answers.js";
import type { RateLimitConfig, RateLimitOverride } from "../wire/configs.js";
import type { KeyArg, SweepContinuation } from "./args.js";
import { type AnyBucketArgs, checkNamed, type Definitions, findBucket } from "./definitions.js";
import { limitOf } from "./limitOf.js";
import type { InComponent, InTables, LimitSet } from "./place.js";
import { type DefinedRateLimits, setOf, type TypesOf } from "./set.js";
import { checkScheduler, isReference } from "./schedule.js";

export type { RateLimitPage, SweepResult } from "../wire/answers.js";
export type { RateLimitOverride } from "../wire/configs.js";

/** What `listRateLimits` takes. */
export type ListArgs<Name> = {
  name: Name;
  /** Where the page before ended; absent for the first. */
  cursor?: string | undefined;
  /** The most keys on a page: a whole number from 1 to 1,000, default 100. */
  limit?: number | undefined;
  /** Only keys that would be denied a token now. A page may then be short, even empty, before the last. */
  onlyLimited?: boolean | undefined;
  /** Only keys whose limit is overridden now. A page may then be short, even empty, before the last. */
  onlyOverridden?: boolean | undefined;
};

export interface SweepOptions {
  /**
   * The other configs that limits are called with (`config: tiers[plan]`, limits defined inline), by limit. A bucket is swept
   * only when it is full under the definition and all of these; rows of limits that are neither defined nor here stay.
   */
  configs?: Readonly<Record<string, readonly RateLimitConfig[]>> | undefined;
}

/** The names of the limits that are defined with `overrides: true`. */
export type OverridableIn<Limits> = {
  [Name in keyof Limits & string]: Limits[Name] extends { overrides?: infer Given }
    ? true extends Given
      ? Name
      : never
    : never;
}[keyof Limits & string];

/** What holds in place of the limit's config: exactly one of these. */
type OverrideWay =
  | {
      /** Another config; the rows of a bucket stay what the limit's own `shards` says. */
      config: RateLimitConfig;
      block?: undefined;
      unlimited?: undefined;
    }
  | {
      /** Nothing is let through: denials say `reason: "blocked"`, and as `retryAt` when calls succeed once `until` is over. */
      block: true;
      config?: undefined;
      unlimited?: undefined;
    }
  | {
      /** Everything is let through, and counted still: more than there is becomes a debt. */
      unlimited: true;
      config?: undefined;
      block?: undefined;
    };

/** The bucket of an override. */
export type OverriddenArgs<Limits, Name> = Name extends keyof Limits ? { name: Name } & KeyArg<Limits[Name]> : never;

/** What `overrideRateLimit` takes. */
export type OverrideArgs<Limits, Name> = OverriddenArgs<Limits, Name> &
  OverrideWay & {
    /** When it ends by itself: a moment to come, in whole milliseconds since the epoch; without it, when it is cleared. */
    until?: number | undefined;
    /** For the people who look at a list: at most 500 characters. Callers and clients do not get it. */
    note?: string | undefined;
  };

/** Administration of a set of limits. Misuse throws as it does from the functions of `defineRateLimits`. */
export interface RateLimitAdmin<Limits, Contexts extends InTables | InComponent> {
  /**
   * Changes a limit at run time for one key (or for the bucket without one): another config, blocked, or unlimited; until a time, or
   * until it is cleared. Takes the place of an override that is there. What was taken stays taken. Only for a limit that is defined
   * with `overrides: true`.
   */
  overrideRateLimit: <Name extends OverridableIn<Limits>>(
    ctx: Contexts["mutation"],
    args: OverrideArgs<Limits, Name>,
  ) => Promise<null>;

  /** The limit's own config holds again. Nothing happens where there is no override. */
  clearRateLimitOverride: <Name extends OverridableIn<Limits>>(
    ctx: Contexts["mutation"],
    args: OverriddenArgs<Limits, Name>,
  ) => Promise<null>;

  /**
   * A page of a limit's keys with what they hold, for admin pages. Only for a defined limit, by its own config. It reads the
   * clock, so a live query that returns it shows the time at which it last ran.
   */
  listRateLimits: <Name extends keyof Limits & string>(
    ctx: Contexts["query"],
    args: ListArgs<Name>,
  ) => Promise<RateLimitPage>;

  /**
   * Deletes rows that have been full for a minute, since they mean the same as no row, and overrides that have ended: a batch of about
   * 512 rows now, and the next ones in transactions of their own, each scheduled by the one before. For a daily cron.
   */
  sweepRateLimits: (
    ctx: Contexts["mutation"] & { scheduler: Scheduler },
    args: SweepOptions & Contexts["sweep"],
  ) => Promise<SweepResult>;
}

/**
 * The functions that administer a set of limits, in either place.
 *
 * @param limits - what `defineRateLimits` returned.
 * @example
 * ```ts
 * import { defineRateLimits, MINUTE } from "convex-rate-limits";
 * import { rateLimitAdmin } from "convex-rate-limits/admin";
 *
 * const limits = defineRateLimits({ api: { kind: "token bucket", rate: 60, period: MINUTE, overrides: true } });
 * export const { listRateLimits, sweepRateLimits, overrideRateLimit, clearRateLimitOverride } = rateLimitAdmin(limits);
 * ```
 */
export function rateLimitAdmin<Set extends DefinedRateLimits>(
  limits: Set,
): RateLimitAdmin<TypesOf<Set>["limits"], TypesOf<Set>["contexts"]> {
  const set = setOf(limits, "rateLimitAdmin");
  return {
    listRateLimits: (ctx, args) => listRateLimits(set, ctx as Ctx, args),
    overrideRateLimit: (ctx, args) => overrideRateLimit(set, ctx as Ctx, args as never),
    clearRateLimitOverride: (ctx, args) => clearRateLimitOverride(set, ctx as Ctx, args as never),
    sweepRateLimits: (ctx, args) => sweepRateLimits(set, ctx as never, args as never),
  };
}

/** The ctx of either place: which one is known when the limits are defined. */
type Ctx = InTables["mutation"] & InComponent["mutation"] & InComponent["query"];

async function listRateLimits(set: LimitSet, ctx: Ctx, args: ListArgs<string>): Promise<RateLimitPage> {
  checkNamed(set.definitions, "listRateLimits", args);
  const { name, ...options } = args;
  const definition = set.definitions.get(name);
  if (!definition) throw misuseError(name, "is not defined, so its keys cannot be listed.");
  const request = parseList(limitOf(name, definition), options, definition.overrides);
  const { component } = set.place;
  if (!component) return await readingInTurn(list)(ctx, request);
  const { from, most, onlyLimited, onlyOverridden, isOverridable } = request;
  const asked = { cursor: writeCursor(from), limit: most, onlyLimited, onlyOverridden };
  const { config } = definition;
  return await component.query(ctx)(component.api.public.list, { name, config, overrides: isOverridable, ...asked });
}

async function overrideRateLimit(set: LimitSet, ctx: Ctx, args: AnyBucketArgs & RateLimitOverride): Promise<null> {
  checkNamed(set.definitions, "overrideRateLimit", args);
  const { name, key, ...override } = args;
  const id = idOf(findOverridable(set.definitions, "overrideRateLimit", { name, key }));
  const parsed = parseOverride(name, override);
  const { component } = set.place;
  if (!component) return await takingTurns(setOverride)(ctx, id, parsed);
  return await component.mutation(ctx)(component.api.public.override, { ...id, ...parsed });
}

async function clearRateLimitOverride(set: LimitSet, ctx: Ctx, args: AnyBucketArgs): Promise<null> {
  const id = idOf(findOverridable(set.definitions, "clearRateLimitOverride", args));
  const { component } = set.place;
  if (!component) return await takingTurns(clearOverride)(ctx, id);
  return await component.mutation(ctx)(component.api.public.clearOverride, id);
}

function findOverridable(definitions: Definitions, call: string, args: AnyBucketArgs) {
  const bucket = findBucket(definitions, call, args);
  if (bucket.overrides) return bucket;
  throw misuseError(bucket.name, `${call} needs a limit that is defined with overrides: true.`);
}

const SWEEP_FIELDS: Fields = {
  configs: {
    permitted: "an object of configs by name",
    // The entries of a map are no fields: rows would be swept as if their plans were not there.
    holds: (value) => typeof value === "object" && value !== null && !(Symbol.iterator in value),
  },
  cursor: { permitted: "one that the batch before passed on", holds: (value) => typeof value === "string" },
  next: { permitted: "a reference to a function of yours, such as internal.upkeep.sweep", holds: isReference },
};

const NO_MORE = { deleted: 0, cursor: null };

async function sweepRateLimits(
  { definitions, place }: LimitSet,
  ctx: Ctx & { scheduler: Scheduler },
  options: SweepOptions & Partial<SweepContinuation>,
): Promise<SweepResult> {
  checkScheduler(ctx, "sweepRateLimits");
  checkFields("sweepRateLimits", "the options", options, SWEEP_FIELDS);
  const limits = new Map<string, Limit>();
  for (const name of definitions.names) {
    const definition = definitions.get(name);
    if (definition) limits.set(name, limitOf(name, definition));
  }
  const targets = sweepTargets(limits, options.configs);
  const { component } = place;
  if (component) return await component.mutation(ctx)(component.api.sweep.sweep, { targets });
  const { cursor, next } = options;
  if (!next) {
    throw new Error(`sweepRateLimits needs next, a function of yours that continues the sweep, got ${show(next)}.`);
  }
  const queued = definitions.names.filter((name) => definitions.get(name)?.queue);
  // Where no limit has a queue, its tables may be missing.
  const workers = async (from: string) =>
    queued.length === 0 ? NO_MORE : await sweepWorkers(ctx as unknown as QueueWriter, queued, from);
  const batch = () => sweepInTurn(cursor, () => sweepBatch(ctx, { targets, cursor }), workers);
  const swept = await inTurn(ctx, batch, true);
  if (swept.cursor !== null) await ctx.scheduler.runAfter(0, next, { cursor: swept.cursor });
  return { deleted: swept.deleted, isDone: swept.cursor === null };
}
