/** convex-rate-limits/admin: lists, sweeps and overrides of a set of limits. */
import type { Scheduler } from "convex/server";
import { checkField, checkFields } from "../engine/fields.js";
import { misuseError, needError } from "../engine/misuse.js";
import { OVERRIDES, parseOverride } from "../engine/control.js";
import { list, type ListOptions, parseList } from "../operations/list.js";
import { clearOverride, setOverride } from "../operations/override.js";
import { sweepBatch } from "../operations/sweep.js";
import { MAX_TOKENS } from "../engine/units.js";
import { findWorkers, sweepInTurn } from "../queue/sweep.js";
import { inQueue } from "../queue/worker.js";
import { idOf, inTurn } from "../storage/rows.js";
import type { RateLimitPage, SweepResult } from "../wire/admin.js";
import type { RateLimitOverride } from "../wire/configs.js";
import type { KeyArg, PlanArg } from "./args.js";
import { type AnyBucketArgs, checkNamed, findBucket, undefinedError } from "./definitions.js";
import type { Ctx, DefinedRateLimits, InComponent, InTables, LimitSet, SweepContinuation, TypesOf } from "./place.js";
import { setOf, wakeQueue } from "./place.js";
import { queueModuleOf } from "./options.js";
import { checkBucketOf, plansOf, queueTermsOf, termUnder } from "./plans.js";
import { checkScheduler, isReference, type SchedulingCtx } from "./scheduler.js";

export type { RateLimitPage, SweepResult } from "../wire/admin.js";
export type { RateLimitOverride } from "../wire/configs.js";

/** The values of `more` for a limit with slots: a part of a slot would add nothing. */
const SLOTS = { above: 0, atMost: MAX_TOKENS, isWhole: true, unit: "slots" } as const;

type ListArgs<Name, Definition = unknown> = { name: Name } & ListOptions & Partial<PlanArg<Definition>>;

type OverriddenArgs<Limits, Name> = Name extends keyof Limits ? { name: Name } & KeyArg<Limits[Name]> : never;

/** The override: exactly one of config, more, block and unlimited, or a plan of the limit. */
type OverrideArgs<Limits, Name> = OverriddenArgs<Limits, Name> &
  OneOf<Omit<RateLimitOverride, "until" | "note"> & PlanArg<Name extends keyof Limits ? Limits[Name] : never>> & {
    [Field in "until" | "note"]?: RateLimitOverride[Field] | undefined;
  };
type OneOf<Ways> = {
  [Way in keyof Ways]-?: Required<Pick<Ways, Way>> & Partial<Record<Exclude<keyof Ways, Way>, undefined>>;
}[keyof Ways];

/** Administration of a set of limits. Misuse throws as it does from the functions of `defineRateLimits`. */
export interface RateLimitAdmin<Limits, Contexts extends InTables | InComponent> {
  /**
   * Changes a limit at run time for one key (or for the bucket without one): another config, more tokens, blocked, or
   * unlimited; until a time, or until it is cleared. Replaces an earlier override of the key. Tokens that were taken
   * stay taken. The config for a limit with `shards` is of its kind, and a window's of its period.
   * @throws unless there is exactly one of `config`, `more`, `block`, `unlimited` and `plan`. Also when `until` has
   * passed, when a limit without slots would get them, or when `more` is a part of a slot.
   */
  overrideRateLimit: <Name extends keyof Limits & string>(
    ctx: Contexts["mutation"],
    args: OverrideArgs<Limits, Name>,
  ) => Promise<null>;

  /** The limit's own config applies again. Nothing happens if there is no override. */
  clearRateLimitOverride: <Name extends keyof Limits & string>(
    ctx: Contexts["mutation"],
    args: OverriddenArgs<Limits, Name>,
  ) => Promise<null>;

  /**
   * A page of a limit's keys with what they hold, for admin pages. Only for a defined limit. Each key is shown under
   * the plan or config that it was last asked under, or under the plan that this call names. It reads the clock, so a
   * live query that returns it shows the time at which it last ran.
   */
  listRateLimits: <Name extends keyof Limits & string>(
    ctx: Contexts["query"],
    args: ListArgs<Name, Limits[Name]>,
  ) => Promise<RateLimitPage>;

  /**
   * Deletes overrides that have ended, and rows of buckets that have been full for a minute. Rows of a fixed window
   * stay for one window more, or two of a calendar. Deleted rows mean the same as no row. Looks at a batch of about 512
   * rows now, and schedules the next one. Returns what this batch did. For a daily cron.
   * @throws in your tables when `next` is missing.
   */
  sweepRateLimits: (
    ctx: Contexts["mutation"] & { scheduler: Scheduler },
    args: Contexts["sweep"],
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
 * const limits = defineRateLimits({ api: { kind: "token bucket", rate: 60, period: MINUTE } });
 * export const { listRateLimits, sweepRateLimits, overrideRateLimit, clearRateLimitOverride } = rateLimitAdmin(limits);
 * ```
 */
export function rateLimitAdmin<Set extends DefinedRateLimits>(
  limits: Set,
): RateLimitAdmin<TypesOf<Set>["limits"], TypesOf<Set>["contexts"]> {
  const set = setOf(limits, "rateLimitAdmin");
  const { definitions } = set;
  const { component } = set.place;
  return {
    async listRateLimits(ctx: Ctx, args: ListArgs<string> & { plan?: string }): Promise<RateLimitPage> {
      checkNamed("listRateLimits", args);
      const { name, plan, ...options } = args;
      const own = definitions.get(name);
      if (!own) throw undefinedError(definitions, name, "define it to list its keys");
      const term = termUnder(name, own, plan, false);
      const listed = { name, config: term.config, plans: plan === undefined ? plansOf(own) : undefined };
      const request = parseList({ ...listed, term }, options);
      if (!component) return await inTurn(ctx, () => list(ctx, request));
      return await component.query(ctx, component.api.snapshots.list, { ...listed, ...options });
    },

    async overrideRateLimit(ctx: Ctx, args: AnyBucketArgs & RateLimitOverride): Promise<null> {
      checkNamed("overrideRateLimit", args);
      const { name, key, plan, ...override } = args;
      if (!definitions.get(name)) throw undefinedError(definitions, name, "define it to override it");
      const bucket = findBucket(definitions, "overrideRateLimit", { name, key, plan });
      const other = OVERRIDES.find((way) => override[way] !== undefined);
      if (plan !== undefined && other) throw misuseError(name, `plan and ${other} cannot be combined.`);
      const id = idOf(bucket);
      const parsed = parseOverride(name, plan === undefined ? override : { ...override, config: bucket.config });
      const { config } = parsed;
      if ("lease" in bucket.config) checkField(name, "more", SLOTS, override.more);
      // No refund or cancel of the limit gives a slot back.
      if (config && "lease" in config && !("lease" in bucket.config)) {
        throw misuseError(name, `config must be of a kind with tokens, as the limit is, got a ${config.kind}.`);
      }
      if (config) checkBucketOf(name, "config", config, bucket.config);
      if (!component) await inTurn(ctx, () => setOverride(ctx, id, parsed), true);
      else await component.mutation(ctx, component.api.upkeep.override, { ...id, ...parsed });
      await wakeQueue(set, ctx, id);
      return null;
    },

    async clearRateLimitOverride(ctx: Ctx, args: AnyBucketArgs): Promise<null> {
      const id = idOf(findBucket(definitions, "clearRateLimitOverride", args));
      if (!component) await inTurn(ctx, () => clearOverride(ctx, id), true);
      else await component.mutation(ctx, component.api.upkeep.clearOverride, id);
      await wakeQueue(set, ctx, id);
      return null;
    },

    sweepRateLimits: (ctx: Ctx & SchedulingCtx, options: Partial<SweepContinuation>) => sweep(set, ctx, options),
  } satisfies Record<keyof RateLimitAdmin<never, InTables>, unknown> as never;
}

async function sweep(
  { definitions, options: setOptions, place: { component } }: LimitSet,
  ctx: Ctx & SchedulingCtx,
  options: Partial<SweepContinuation>,
): Promise<SweepResult> {
  checkScheduler(ctx, "sweepRateLimits");
  checkFields({ of: "sweepRateLimits" }, "the options", options, {
    cursor: { permitted: "one that the batch before passed on", holds: (value) => typeof value === "string" },
    next: { permitted: "a reference to a function of yours, such as internal.upkeep.sweep", holds: isReference },
  });
  const targets = definitions.names.flatMap((name) => {
    // A bucket is full only under all of a limit's plans.
    const configs = definitions.get(name)?.configs.map(({ config }) => config);
    return configs ? [{ name, configs }] : [];
  });
  const queues = definitions.names.flatMap((name) => queueTermsOf(definitions, name) ?? []);
  if (component) return await component.mutation(ctx, component.api.sweep.sweep, { targets, queues });
  const { cursor, next } = options;
  if (!next) throw needError("sweepRateLimits", "next, a function of yours that continues the sweep", next);
  // The queue's tables, and the module of the worker, may be missing if no limit has a queue: then none is read.
  const own = inQueue(ctx, queues.length > 0 ? queueModuleOf(setOptions) : "");
  const sweepBuckets = () => sweepBatch(ctx, { targets, cursor });
  const find = (from: string) => findWorkers(ctx, { queues, cursor: from });
  const swept = await inTurn(ctx, () => sweepInTurn(own, { cursor, queues }, sweepBuckets, find));
  if (swept.cursor !== null) await ctx.scheduler.runAfter(0, next, { cursor: swept.cursor });
  return { deleted: swept.deleted, isDone: swept.cursor === null };
}
