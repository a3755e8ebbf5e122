/** The functions of a set of limits: find the limit, ask the place where it lives, throw if asked. */
import { booleanField, checkFields, type Fields } from "../engine/fields.js";
import { misuseError, show } from "../engine/misuse.js";
import { adjustedField, untilField } from "../engine/adjustment.js";
import { countField, reserveField } from "../engine/request.js";
import type { RateLimitAllStatus, RateLimitStatus } from "../wire/answers.js";
import { alone, conclude, concludeOne, orGiveBack, report } from "./decision.js";
import {
  type AnyArgs,
  type AnyBucketArgs,
  anything,
  BUCKET_FIELDS,
  findBucket,
  judge,
  type JudgedRequest,
  writtenFields,
} from "./definitions.js";
import type { RateLimitDefinitions, ThrowChoice } from "./definitionTypes.js";
import { expose, getRateLimit } from "./expose.js";
import { modeField, throwsField } from "./options.js";
import type { Ctx, InComponent, InTables, LimitSet } from "./place.js";
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

/** From the typed functions to those below, which take what JavaScript may pass. */
export function functionsOf<Contexts extends InTables | InComponent>(
  set: LimitSet<Contexts>,
): RateLimits<RateLimitDefinitions, Contexts> {
  return {
    [LIMIT_SET]: set,
    rateLimit: (ctx, args) => rateLimit(set, ctx as Ctx, args) as never,
    checkRateLimit: (ctx, args) => checkRateLimit(set, ctx as Ctx, args) as never,
    rateLimitAll: (ctx, list, options) => rateLimitAll(set, ctx as Ctx, list, options) as never,
    checkRateLimitAll: (ctx, list, options) => checkRateLimitAll(set, ctx as Ctx, list, options) as never,
    adjustRateLimit: (ctx, args) => adjustRateLimit(set, ctx as Ctx, args) as never,
    pauseRateLimit: (ctx, args) => pauseRateLimit(set, ctx as Ctx, args),
    resetRateLimit: (ctx, args) => resetRateLimit(set, ctx as Ctx, args),
    getRateLimit: (ctx, args) => getRateLimit(set, ctx as Ctx, args, "getRateLimit"),
    exposeRateLimit: (name, args) => expose(set, name, args),
    scheduleRateLimited: (ctx, args, fn, ...fnArgs) => schedule(set, ctx as never, args, { fn, fnArgs }) as never,
    cancelRateLimited: (ctx, job) => cancelScheduled(set, ctx as never, job),
  };
}

async function rateLimit(set: LimitSet, ctx: Ctx, args: AnyArgs): Promise<RateLimitStatus> {
  const request = judge(set, "rateLimit", args, callFields());
  const status = await set.place.consume(ctx, request);
  if (set.options.onDecision) {
    const all = alone(status);
    await orGiveBack(set, ctx, [[request], all], () => report(ctx, [request], all, set.options));
  }
  // The way of most calls is short.
  return status.ok && request.mode === "enforce" ? status : concludeOne(request, status, set.options);
}

async function checkRateLimit(set: LimitSet, ctx: Ctx, args: AnyArgs): Promise<RateLimitStatus> {
  const request = judge(set, "checkRateLimit", args, callFields());
  return concludeOne(request, await set.place.peek(ctx, request), set.options);
}

/** The requests of a call, and the choice for all of them. */
type List = readonly AnyArgs[];
type ListOptions = { throws?: ThrowChoice | undefined } | undefined;

async function rateLimitAll(set: LimitSet, ctx: Ctx, list: List, options: ListOptions): Promise<RateLimitAllStatus> {
  const requests = parseAll(set, "rateLimitAll", list, options);
  const all = await set.place.consumeAll(ctx, requests);
  await orGiveBack(set, ctx, [requests, all], () => report(ctx, requests, all, set.options));
  return conclude(requests, all, set.options);
}

async function checkRateLimitAll(
  set: LimitSet,
  ctx: Ctx,
  list: List,
  options: ListOptions,
): Promise<RateLimitAllStatus> {
  const requests = parseAll(set, "checkRateLimitAll", list, options);
  return conclude(requests, await set.place.peekAll(ctx, requests), set.options);
}

function parseAll(set: LimitSet, call: string, list: List, options: ListOptions = {}): JudgedRequest[] {
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

async function adjustRateLimit(
  set: LimitSet,
  ctx: Ctx,
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
  if (count < 0) await wakeQueue(set, ctx, bucket);
  return status;
}

async function pauseRateLimit(set: LimitSet, ctx: Ctx, args: AnyBucketArgs & { until: number }): Promise<null> {
  const bucket = findBucket(set.definitions, "pauseRateLimit", args, pauseFields());
  return await set.place.pause(ctx, { bucket, until: args.until });
}

async function resetRateLimit(set: LimitSet, ctx: Ctx, args: AnyBucketArgs): Promise<null> {
  const bucket = findBucket(set.definitions, "resetRateLimit", args, writtenFields());
  await set.place.reset(ctx, bucket);
  await wakeQueue(set, ctx, bucket);
  return null;
}
