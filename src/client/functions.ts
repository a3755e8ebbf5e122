/** The functions of a set of limits: find the limit, ask the place where it lives, throw if asked. */
import type { OptionalRestArgs, SchedulableFunctionReference } from "convex/server";
import { bundle } from "../engine/bundle.js";
import { checkFields, type Fields } from "../engine/fields.js";
import { misuseError, show } from "../engine/misuse.js";
import { adjustmentOf, type Request, requestTo } from "../engine/request.js";
import { parseList } from "../operations/list.js";
import { sweepTargets } from "../operations/sweep.js";
import { checkDatabase } from "../storage/rows.js";
import { inTurn } from "../storage/turns.js";
import type { RateLimitAllStatus, RateLimitStatus } from "../validators.js";
import type { AnyBucketArgs, AnyDemandArgs, RateLimitDefinitions, ThrowsArg } from "./args.js";
import { checkArgs, COUNT_FIELDS, DEMAND_FIELDS, type Definitions, THROWS_FIELDS } from "./definitions.js";
import { denialError } from "./errors.js";
import { type AnyExposeArgs, expose } from "./expose.js";
import type { InComponent, InTables, Place } from "./places.js";
import { queueFunctionsIn } from "./queueFunctions.js";
import type { RateLimits, RateLimitsOptions } from "./rateLimits.js";
import { cancelPending, checkJob, checkScheduler, reserveFor, SCHEDULE_FIELDS, scheduleReserved } from "./schedule.js";

export function functionsIn<Contexts extends InTables | InComponent>(
  place: Place<Contexts>,
  definitions: Definitions,
  options: RateLimitsOptions,
): RateLimits<RateLimitDefinitions, Contexts> {
  const { limits, lookUp } = definitions;
  const { errorKeys = false } = options;
  const { wake, ...queueFunctions } = queueFunctionsIn(place, definitions, options);
  const throwDenial = ({ limit, key }: Request, status: RateLimitStatus) => {
    if (!status.ok) throw denialError({ name: limit.name, key: errorKeys ? key : undefined }, status.retryAt);
  };
  /** Of several denials the one that takes longest is thrown: it is the one to wait for. */
  const throwLongest = (requests: readonly Request[], all: RateLimitAllStatus) => {
    requests.forEach((request, i) => {
      const status = all.statuses[i];
      if (status && status.retryAt === all.retryAt) throwDenial(request, status);
    });
  };
  const parse = (args: AnyDemandArgs & ThrowsArg, call: string): Request =>
    requestTo(lookUp(args, call, CALL_FIELDS), args);
  const parseAll = (list: readonly AnyDemandArgs[], options: ThrowsArg, call: string) => {
    // The types forbid anything else, JavaScript does not.
    const given: unknown = list;
    if (!Array.isArray(given) || given.length === 0) {
      throw new Error(`${call} needs an array of one or more requests, got ${show(given)}.`);
    }
    checkFields(call, "the options", options, THROWS_FIELDS);
    return bundle(Array.from(list, (args) => requestTo(lookUp(args, call, DEMAND_FIELDS), args)));
  };
  return {
    ...queueFunctions,
    rateLimit: async (ctx, args: AnyDemandArgs & ThrowsArg) => {
      const request = parse(args, "rateLimit");
      const status = await place.consume(ctx, request);
      if (args.throws) throwDenial(request, status);
      return exact(status);
    },
    checkRateLimit: async (ctx, args: AnyDemandArgs & ThrowsArg) => {
      const request = parse(args, "checkRateLimit");
      const status = await place.check(ctx, request);
      if (args.throws) throwDenial(request, status);
      return exact(status);
    },
    rateLimitAll: async (ctx, list: readonly AnyDemandArgs[], options: ThrowsArg = {}) => {
      const bundled = parseAll(list, options, "rateLimitAll");
      const all = await place.consumeAll(ctx, bundled);
      if (options.throws) throwLongest(bundled.requests, all);
      return exact(all);
    },
    checkRateLimitAll: async (ctx, list: readonly AnyDemandArgs[], options: ThrowsArg = {}) => {
      const bundled = parseAll(list, options, "checkRateLimitAll");
      const all = await place.checkAll(ctx, bundled);
      if (options.throws) throwLongest(bundled.requests, all);
      return exact(all);
    },
    adjustRateLimit: async (ctx, args: AnyBucketArgs & { count: number }) => {
      const adjustment = adjustmentOf(lookUp(args, "adjustRateLimit", COUNT_FIELDS), { count: args.count });
      const status = await place.adjust(ctx, adjustment);
      if (args.count < 0) await wake(ctx, args);
      return exact(status);
    },
    resetRateLimit: async (ctx, args: AnyBucketArgs) => {
      const { limit, key } = lookUp(args, "resetRateLimit");
      await place.reset(ctx, { name: limit.name, key });
      await wake(ctx, args);
      return null;
    },
    getRateLimit: async (ctx, args: AnyBucketArgs) => await place.get(ctx, lookUp(args, "getRateLimit")),
    exposeRateLimit: (name: string, args: AnyExposeArgs) =>
      expose(name, args, {
        check: (bucket) => lookUp(bucket, "exposeRateLimit"),
        get: (ctx, bucket) => place.get(ctx, lookUp(bucket, "exposeRateLimit")),
      }),
    scheduleRateLimited: async <Fn extends SchedulableFunctionReference>(
      ctx: Parameters<typeof scheduleReserved>[0] & Contexts["mutation"],
      args: AnyBucketArgs & { count?: number; spread?: number },
      fn: Fn,
      ...fnArgs: OptionalRestArgs<Fn>
    ) => {
      const bucket = lookUp(args, "scheduleRateLimited", SCHEDULE_FIELDS);
      const { name, key, config, count = 1, spread = 0 } = args;
      const request = requestTo(bucket, { count, reserve: reserveFor(spread) });
      checkScheduler(ctx, "scheduleRateLimited");
      const status = await place.consume(ctx, request);
      // The job is stored in documents: only its own fields, and none that is undefined.
      const reserved = { name, count, ...(key !== undefined && { key }), ...(config && { config }) };
      return await scheduleReserved(ctx, status, { ...reserved, spread }, fn, fnArgs);
    },
    cancelRateLimited: async (ctx, job) => {
      checkJob(job);
      checkScheduler(ctx, "cancelRateLimited");
      checkDatabase(ctx);
      const { name, key, config, dueAt = job.runAt } = job;
      const bucket = lookUp(
        { name, ...(key !== undefined && { key }), ...(config && { config }) },
        "cancelRateLimited",
      );
      const refund = adjustmentOf(bucket, { count: -job.count, at: dueAt });
      const result = await inTurn(ctx, () => cancelPending(ctx, job));
      if (result.canceled) {
        await place.adjust(ctx, refund);
        await wake(ctx, job);
      }
      return result;
    },
    listRateLimits: async (ctx, args) => {
      checkArgs(args, "listRateLimits");
      const { name, ...options } = args;
      const limit = limits.get(name);
      if (!limit) throw misuseError(name, "is not defined, so its keys cannot be listed.");
      return await place.list(ctx, parseList(limit, options));
    },
    sweepRateLimits: async (ctx, options) => {
      checkScheduler(ctx, "sweepRateLimits");
      checkFields("sweepRateLimits", "the options", options, SWEEP_FIELDS);
      return await place.sweep(ctx, sweepTargets(limits, options.configs), options);
    },
  };
}

/** Whether a status is exact follows from the definitions, which the types of the functions know and those in here do not. */
function exact(status: RateLimitStatus | RateLimitAllStatus): never {
  return status as never;
}

const SWEEP_FIELDS: Fields = {
  configs: { permitted: "an object of configs by name", holds: (value) => typeof value === "object" && value !== null },
  cursor: { permitted: "one that the batch before passed on", holds: (value) => typeof value === "string" },
  next: { permitted: "a function of yours", holds: (value) => value !== null },
};
const CALL_FIELDS: Fields = { ...DEMAND_FIELDS, ...THROWS_FIELDS };
