/** The functions of a set of limits: find the limit, ask the place where it lives, throw if asked. */
import type { OptionalRestArgs, SchedulableFunctionReference } from "convex/server";
import { bundle } from "../engine/bundle.js";
import { checkFields, type Fields } from "../engine/fields.js";
import { misuseError, show } from "../engine/misuse.js";
import { parseOverride } from "../engine/override.js";
import { adjustmentOf, type Bucket, requestTo } from "../engine/request.js";
import { parseList } from "../operations/list.js";
import { sweepTargets } from "../operations/sweep.js";
import type { RateLimitOverride } from "../configs.js";
import { checkJobReader } from "../storage/jobs.js";
import { idOf, inTurn } from "../storage/rows.js";
import type { RateLimitSnapshot } from "../snapshots.js";
import type { RateLimitAllStatus } from "../validators.js";
import type { AnyArgs, AnyBucketArgs, AnyDemandArgs, ModeArg, RateLimitDefinitions, ThrowsArg } from "./args.js";
import { type AskedRequest, concluded, concludedAll, told } from "./decision.js";
import {
  ADJUST_FIELDS,
  CALL_FIELDS,
  checkArgs,
  checkTerms,
  DEMAND_FIELDS,
  type Definitions,
  THROWS_FIELDS,
} from "./definitions.js";
import { type AnyExposeArgs, expose } from "./expose.js";
import type { InComponent, InTables, Place } from "./places.js";
import { queueFunctionsIn } from "./queueFunctions.js";
import type { RateLimits, RateLimitsOptions } from "./rateLimits.js";
import {
  cancelPending,
  checkFunction,
  checkJob,
  checkScheduler,
  isReference,
  reserveFor,
  SCHEDULE_FIELDS,
  scheduleReserved,
} from "./schedule.js";

export function functionsIn<Contexts extends InTables | InComponent>(
  place: Place<Contexts>,
  definitions: Definitions,
  options: RateLimitsOptions,
): RateLimits<RateLimitDefinitions, Contexts> {
  const { limits, lookUp, termsOf } = definitions;
  const { errorKeys = false, throws: byDefault = false, onDecision } = options;
  const { wake, ...queueFunctions } = queueFunctionsIn(place, definitions, options);
  /** What is nearest to the call decides: the call itself, the definition, the options. */
  const askedOf = (bucket: Bucket, args: AnyArgs): AskedRequest => {
    const defined = termsOf(args.name);
    if (args.mode !== undefined || args.throws !== undefined) checkTerms(args.name, args);
    const { throws = defined?.throws ?? byDefault, mode = defined?.mode ?? "enforce" } = args;
    return { request: requestTo(bucket, args), throws, mode };
  };
  const parse = (args: AnyArgs, call: string): AskedRequest => askedOf(lookUp(args, call, CALL_FIELDS), args);
  const parseAll = (list: readonly AnyDemandArgs[], options: ThrowsArg, call: string) => {
    // The types forbid anything else, JavaScript does not.
    const given: unknown = list;
    if (!Array.isArray(given) || given.length === 0) {
      throw new Error(`${call} needs an array of one or more requests, got ${show(given)}.`);
    }
    checkFields(call, "the options", options, THROWS_FIELDS);
    const asked = Array.from(list, (args) => {
      const one = askedOf(lookUp(args, call, DEMAND_FIELDS), { ...args, throws: options.throws });
      const { request, mode } = one;
      return mode === "shadow" ? { ...one, request: { ...request, asked: { ...request.asked, shadow: true } } } : one;
    });
    return { asked, bundled: bundle(asked.map(({ request }) => request)) };
  };
  /** Tells of decisions, one after another, in the caller's transaction; what `onDecision` throws is the app's. */
  const tell = async (
    ctx: unknown,
    asked: readonly AskedRequest[],
    all: Pick<RateLimitAllStatus, "ok" | "statuses">,
  ) => {
    if (!onDecision) return;
    for (const [i, one] of asked.entries()) {
      const status = all.statuses[i];
      // Where another limit has denied, one that has not took nothing.
      if (status && (all.ok || !status.ok)) await onDecision(ctx as never, told(one, status));
    }
  };
  const get = async (ctx: Contexts["query"], bucket: AnyBucketArgs, call: string): Promise<RateLimitSnapshot> => {
    const snapshot = await place.get(ctx, lookUp(bucket, call));
    return termsOf(bucket.name)?.mode === "shadow" ? { ...snapshot, mode: "shadow" } : snapshot;
  };
  const lookUpOverridable = (args: AnyBucketArgs, call: string) => {
    const bucket = lookUp(args, call);
    if (bucket.isOverridable) return bucket;
    throw misuseError(bucket.name, `${call} needs a limit that is defined with overrides: true.`);
  };
  return {
    ...queueFunctions,
    rateLimit: async (ctx, args: AnyArgs) => {
      const asked = parse(args, "rateLimit");
      const status = await place.consume(ctx, asked.request);
      if (onDecision) await tell(ctx, [asked], { ok: true, statuses: [status] });
      // The way of most calls is short.
      return (status.ok && asked.mode === "enforce" ? status : concluded(asked, status, errorKeys)) as never;
    },
    checkRateLimit: async (ctx, args: AnyArgs) => {
      const asked = parse(args, "checkRateLimit");
      return concluded(asked, await place.check(ctx, asked.request), errorKeys) as never;
    },
    rateLimitAll: async (ctx, list: readonly AnyDemandArgs[], options: ThrowsArg = {}) => {
      const { asked, bundled } = parseAll(list, options, "rateLimitAll");
      const all = await place.consumeAll(ctx, bundled);
      await tell(ctx, asked, all);
      return concludedAll(asked, all, errorKeys) as never;
    },
    checkRateLimitAll: async (ctx, list: readonly AnyDemandArgs[], options: ThrowsArg = {}) => {
      const { asked, bundled } = parseAll(list, options, "checkRateLimitAll");
      return concludedAll(asked, await place.checkAll(ctx, bundled), errorKeys) as never;
    },
    adjustRateLimit: async (ctx, args: AnyBucketArgs & { count: number; takenAt?: number }) => {
      const bucket = lookUp(args, "adjustRateLimit", ADJUST_FIELDS);
      const { count, takenAt } = args;
      // A date that is lost on the way must not become a gift.
      if ("takenAt" in args && takenAt === undefined) throw undatedError(bucket.name);
      const adjustment = adjustmentOf(bucket, { count, takenAt });
      const status = await place.adjust(ctx, adjustment);
      if (args.count < 0) await wake(ctx, args);
      return status as never;
    },
    resetRateLimit: async (ctx, args: AnyBucketArgs) => {
      const { limit, key } = lookUp(args, "resetRateLimit");
      await place.reset(ctx, { name: limit.name, key });
      await wake(ctx, args);
      return null;
    },
    getRateLimit: async (ctx, args: AnyBucketArgs) => await get(ctx, args, "getRateLimit"),
    exposeRateLimit: (name: string, args: AnyExposeArgs) =>
      expose(name, args, {
        check: (bucket) => lookUp(bucket, "exposeRateLimit"),
        get: (ctx, bucket) => get(ctx, bucket, "exposeRateLimit"),
      }),
    scheduleRateLimited: async <Fn extends SchedulableFunctionReference>(
      ctx: Parameters<typeof scheduleReserved>[0] & Contexts["mutation"],
      args: AnyBucketArgs & ThrowsArg & ModeArg & { count?: number; spread?: number },
      fn: Fn,
      ...fnArgs: OptionalRestArgs<Fn>
    ) => {
      const bucket = lookUp(args, "scheduleRateLimited", SCHEDULE_FIELDS);
      const { name, config, count = 1, spread = 0 } = args;
      const asked = askedOf(bucket, { ...args, count, reserve: reserveFor(name, spread), refundable: true });
      checkScheduler(ctx, "scheduleRateLimited");
      checkFunction(name, fn, fnArgs);
      const decided = await place.consume(ctx, asked.request);
      await tell(ctx, [asked], { ok: true, statuses: [decided] });
      const status = concluded(asked, decided, errorKeys);
      // The job is stored in documents: only its own fields, and none that is undefined.
      const reserved = { ...idOf(args), count, ...(config && { config }) };
      return (await scheduleReserved(ctx, status, { ...reserved, spread }, fn, fnArgs)) as never;
    },
    cancelRateLimited: async (ctx, job) => {
      checkJob(job);
      checkScheduler(ctx, "cancelRateLimited");
      checkJobReader(ctx, "cancelRateLimited");
      const { config, dueAt = job.runAt, takenAt } = job;
      const bucket = lookUp({ ...idOf(job), ...(config && { config }) }, "cancelRateLimited");
      const refund = adjustmentOf(bucket, { count: -job.count, at: dueAt, takenAt });
      const result = await inTurn(ctx, () => cancelPending(ctx, job));
      if (result.canceled) {
        await place.adjust(ctx, refund);
        await wake(ctx, job);
      }
      return result;
    },
    listRateLimits: async (ctx, args) => {
      checkArgs(args, "listRateLimits", limits);
      const { name, ...options } = args;
      const limit = limits.get(name);
      if (!limit) throw misuseError(name, "is not defined, so its keys cannot be listed.");
      return await place.list(ctx, parseList(limit, options, termsOf(name)?.overrides));
    },
    overrideRateLimit: async (ctx, args: AnyBucketArgs & RateLimitOverride) => {
      checkArgs(args, "overrideRateLimit", limits);
      const { name, key, ...override } = args;
      const bucket = lookUpOverridable({ name, key }, "overrideRateLimit");
      return await place.override(ctx, bucket, parseOverride(name, override));
    },
    clearRateLimitOverride: async (ctx, args: AnyBucketArgs) =>
      await place.clearOverride(ctx, lookUpOverridable(args, "clearRateLimitOverride")),
    sweepRateLimits: async (ctx, options) => {
      checkScheduler(ctx, "sweepRateLimits");
      checkFields("sweepRateLimits", "the options", options, SWEEP_FIELDS);
      return await place.sweep(ctx, sweepTargets(limits, options.configs), options);
    },
  };
}

function undatedError(name: string): Error {
  return misuseError(
    name,
    "takenAt must be the takenAt of the call's answer, got undefined: make that call with refundable: true, or leave takenAt out for a gift.",
  );
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
