/** The functions of a set of limits: find the limit, ask the place where it lives, throw if asked. */
import { booleanField, checkFields, type Fields } from "../engine/fields.js";
import { misuseError, show } from "../engine/misuse.js";
import { adjustedField, untilField } from "../engine/adjustment.js";
import { countField, reserveField } from "../engine/request.js";
import type { RateLimitAllStatus, RateLimitStatus } from "../wire/answers.js";
import type { RateLimitSnapshot } from "../wire/snapshots.js";
import type { RateLimitDefinitions, ThrowChoice } from "./args.js";
import { conclude, concludeAll, orGiveBack, report } from "./decision.js";
import {
  type AnyArgs,
  type AnyBucketArgs,
  type AnyDemandArgs,
  anything,
  BUCKET_FIELDS,
  findBucket,
  judge,
  type JudgedRequest,
  writtenFields,
} from "./definitions.js";
import { type AnyExposeArgs, expose } from "./expose.js";
import { modeField, throwsField } from "./options.js";
import type { InComponent, InTables, LimitSet } from "./place.js";
import type { RateLimits } from "./rateLimits.js";
import { cancelScheduled, schedule } from "./schedule.js";
import { LIMIT_SET, wakeQueue } from "./set.js";

const demandFields = (): Fields => ({
  ...BUCKET_FIELDS,
  count: countField,
  reserve: reserveField,
  mode: modeField,
  refundable: booleanField,
});
const callFields = (): Fields => ({ ...demandFields(), atLeast: anything, throws: throwsField });
const adjustFields = (): Fields => ({ ...writtenFields(), count: adjustedField, takenAt: anything });
const pauseFields = (): Fields => ({ ...BUCKET_FIELDS, until: untilField });

export function functionsOf<Contexts extends InTables | InComponent>(
  set: LimitSet<Contexts>,
): RateLimits<RateLimitDefinitions, Contexts> {
  return {
    [LIMIT_SET]: set,
    rateLimit: (ctx, args) => rateLimit(set, ctx, args as AnyArgs) as never,
    checkRateLimit: (ctx, args) => checkRateLimit(set, ctx, args as AnyArgs) as never,
    rateLimitAll: (ctx, list, options) => rateLimitAll(set, ctx, list as never, options) as never,
    checkRateLimitAll: (ctx, list, options) => checkRateLimitAll(set, ctx, list as never, options) as never,
    adjustRateLimit: (ctx, args) => adjustRateLimit(set, ctx, args as never) as never,
    pauseRateLimit: (ctx, args) => pauseRateLimit(set, ctx, args as never),
    resetRateLimit: (ctx, args) => resetRateLimit(set, ctx, args as AnyBucketArgs),
    getRateLimit: (ctx, args) => getRateLimit(set, ctx, args as AnyBucketArgs, "getRateLimit"),
    exposeRateLimit: (name, args) => exposeRateLimit(set, name, args as AnyExposeArgs),
    scheduleRateLimited: (ctx, args, fn, ...fnArgs) => schedule(set, ctx, args as never, fn, fnArgs) as never,
    cancelRateLimited: (ctx, job) => cancelScheduled(set, ctx, job),
  };
}

async function rateLimit<Contexts extends InTables | InComponent>(
  set: LimitSet<Contexts>,
  ctx: Contexts["mutation"],
  args: AnyArgs,
): Promise<RateLimitStatus> {
  const request = judge(set, "rateLimit", args, callFields());
  const status = await set.place.consume(ctx, request);
  if (set.options.onDecision) {
    const all = { ok: true, statuses: [status] };
    await orGiveBack(set, ctx, [[request], all], () => report(ctx, [request], all, set.options));
  }
  // The way of most calls is short.
  return status.ok && request.mode === "enforce" ? status : conclude(request, status, set.options);
}

async function checkRateLimit<Contexts extends InTables | InComponent>(
  set: LimitSet<Contexts>,
  ctx: Contexts["query"],
  args: AnyArgs,
): Promise<RateLimitStatus> {
  const request = judge(set, "checkRateLimit", args, callFields());
  return conclude(request, await set.place.peek(ctx, request), set.options);
}

async function rateLimitAll<Contexts extends InTables | InComponent>(
  set: LimitSet<Contexts>,
  ctx: Contexts["mutation"],
  list: readonly AnyDemandArgs[],
  options: { throws?: ThrowChoice | undefined } = {},
): Promise<RateLimitAllStatus> {
  const requests = parseAll(set, "rateLimitAll", list, options);
  const all = await set.place.consumeAll(ctx, requests);
  await orGiveBack(set, ctx, [requests, all], () => report(ctx, requests, all, set.options));
  return concludeAll(requests, all, set.options);
}

async function checkRateLimitAll<Contexts extends InTables | InComponent>(
  set: LimitSet<Contexts>,
  ctx: Contexts["query"],
  list: readonly AnyDemandArgs[],
  options: { throws?: ThrowChoice | undefined } = {},
): Promise<RateLimitAllStatus> {
  const requests = parseAll(set, "checkRateLimitAll", list, options);
  return concludeAll(requests, await set.place.peekAll(ctx, requests), set.options);
}

function parseAll(
  set: LimitSet,
  call: string,
  list: readonly AnyDemandArgs[],
  options: { throws?: ThrowChoice | undefined },
): JudgedRequest[] {
  // JavaScript may pass anything.
  const given: unknown = list;
  if (!Array.isArray(given) || given.length === 0) {
    throw new Error(`${call} needs an array of one or more requests, got ${show(given)}.`);
  }
  checkFields(call, "the options", options, { throws: throwsField });
  return Array.from(list, (args) => {
    const request = judge(set, call, args, demandFields());
    const { throws = request.throws } = options;
    const shadow = request.mode === "shadow" || undefined;
    return { ...request, throws, asked: { ...request.asked, shadow } };
  });
}

async function adjustRateLimit<Contexts extends InTables | InComponent>(
  set: LimitSet<Contexts>,
  ctx: Contexts["mutation"],
  args: AnyBucketArgs & { count: number; takenAt?: number },
): Promise<RateLimitStatus> {
  const bucket = findBucket(set.definitions, "adjustRateLimit", args, adjustFields());
  const { count, takenAt } = args;
  // A date that is lost on the way must not become a gift.
  if ("takenAt" in args && takenAt === undefined) {
    throw misuseError(
      bucket.name,
      "takenAt must be the takenAt of the call's answer, got undefined: make that call with refundable: true, or leave takenAt out for a gift.",
    );
  }
  const status = await set.place.adjust(ctx, { bucket, count, takenAt });
  if (count < 0) await wakeQueue(set, ctx, bucket.name, bucket.key);
  return status;
}

async function pauseRateLimit<Contexts extends InTables | InComponent>(
  set: LimitSet<Contexts>,
  ctx: Contexts["mutation"],
  args: AnyBucketArgs & { until: number },
): Promise<null> {
  const bucket = findBucket(set.definitions, "pauseRateLimit", args, pauseFields());
  return await set.place.pause(ctx, { bucket, until: args.until });
}

async function resetRateLimit<Contexts extends InTables | InComponent>(
  set: LimitSet<Contexts>,
  ctx: Contexts["mutation"],
  args: AnyBucketArgs,
): Promise<null> {
  const { name, key } = findBucket(set.definitions, "resetRateLimit", args, writtenFields());
  await set.place.reset(ctx, { name, key });
  await wakeQueue(set, ctx, name, key);
  return null;
}

async function getRateLimit<Contexts extends InTables | InComponent>(
  { definitions, place }: LimitSet<Contexts>,
  ctx: Contexts["query"],
  args: AnyBucketArgs,
  call: string,
): Promise<RateLimitSnapshot> {
  const snapshot = await place.get(ctx, findBucket(definitions, call, args, writtenFields()));
  return definitions.get(args.name)?.mode === "shadow" ? { ...snapshot, mode: "shadow" } : snapshot;
}

function exposeRateLimit<Contexts extends InTables | InComponent>(
  set: LimitSet<Contexts>,
  name: string,
  args: AnyExposeArgs,
) {
  return expose(name, args, {
    check: (bucket) => {
      set.place.check(findBucket(set.definitions, "exposeRateLimit", bucket, writtenFields()));
    },
    get: (ctx, bucket) => getRateLimit(set, ctx as never, bucket, "exposeRateLimit"),
  });
}
