/** The functions of a set of limits: find the limit, ask the place where it lives, throw if asked. */
import { checkField, checkFields, type Fields } from "../engine/fields.js";
import { fieldError, needError } from "../engine/misuse.js";
import { adjustedField, takenAtField, untilField } from "../engine/adjustment.js";
import { demandFields } from "../engine/request.js";
import { idOf } from "../storage/rows.js";
import type { RateLimitAllStatus, RateLimitStatus } from "../wire/answers.js";
import type { ThrowsArg } from "./args.js";
import { conclude, concludeOne, leased } from "./decision.js";
import { type AnyArgs, type AnyBucketArgs, anything, checkTokens, complete, findBucket } from "./definitions.js";
import { modeField, throwsField } from "./options.js";
import { type Ctx, type InTables, LIMIT_SET, type LimitSet, wakeQueue } from "./place.js";
import type { RateLimits } from "./rateLimits.js";

const askedFields = (): Fields => ({ ...demandFields, mode: modeField });
const callFields = (): Fields => ({ ...askedFields(), throws: throwsField });

/** The functions of a set, which take what JavaScript may pass: their types are those of `RateLimits`. */
export function functionsOf(set: LimitSet) {
  const { definitions, place, options } = set;
  return {
    [LIMIT_SET]: set,

    async rateLimit(ctx: Ctx, args: AnyArgs): Promise<RateLimitStatus> {
      const request = complete(set, "rateLimit", args, callFields());
      const status = await place.consume(ctx, request);
      // The way of most calls is short.
      const isPlain = status.ok && !request.shadow && !("lease" in request.config);
      return isPlain ? status : leased(request, concludeOne(request, status, options));
    },

    async checkRateLimit(ctx: Ctx, args: AnyArgs): Promise<RateLimitStatus> {
      const request = complete(set, "checkRateLimit", args, callFields());
      return concludeOne(request, await place.peek(ctx, request), options);
    },

    async rateLimitAll(ctx: Ctx, list: readonly AnyArgs[], choice?: ThrowsArg): Promise<RateLimitAllStatus> {
      const requests = parseAll(set, "rateLimitAll", list, choice);
      const all = await place.consumeAll(ctx, requests);
      const statuses = conclude(requests, all, options);
      return { ...all, statuses: statuses.map((status, i) => leased(requests[i], status)) };
    },

    async checkRateLimitAll(ctx: Ctx, list: readonly AnyArgs[], choice?: ThrowsArg): Promise<RateLimitAllStatus> {
      const requests = parseAll(set, "checkRateLimitAll", list, choice);
      const all = await place.peekAll(ctx, requests);
      return { ...all, statuses: conclude(requests, all, options) };
    },

    async pauseRateLimit(ctx: Ctx, args: AnyBucketArgs & { until: number }): Promise<null> {
      const bucket = findBucket(definitions, "pauseRateLimit", args, { more: { until: anything } });
      const { until } = args;
      checkField(bucket.name, "until", untilField, until);
      await place.pause(ctx, { ...idOf(bucket), until });
      await wakeQueue(set, ctx, bucket);
      return null;
    },

    async resetRateLimit(ctx: Ctx, args: AnyBucketArgs): Promise<null> {
      const bucket = findBucket(definitions, "resetRateLimit", args);
      await place.reset(ctx, bucket);
      await wakeQueue(set, ctx, bucket);
      return null;
    },

    adjustRateLimit: (ctx: Ctx, args: AdjustmentArgs) => adjust(set, ctx, args),
  } satisfies Record<keyof RateLimits<never, InTables>, unknown>;
}

type AdjustmentArgs = AnyBucketArgs & { count: number; takenAt?: number };

async function adjust(set: LimitSet, ctx: Ctx, args: AdjustmentArgs): Promise<RateLimitStatus> {
  const more = { count: anything, takenAt: takenAtField };
  const bucket = findBucket(set.definitions, "adjustRateLimit", args, { more });
  const { count, takenAt } = args;
  checkTokens("adjustRateLimit", bucket);
  checkField(bucket.name, "count", adjustedField, count);
  // A date that is lost on the way must not become a gift.
  if ("takenAt" in args && takenAt === undefined) {
    const permitted = "that of the answer to a call with refundable: true, or left out for a gift";
    throw fieldError(bucket.name, "takenAt", permitted, takenAt);
  }
  // One adjustment has one status, and it is always ok.
  const [status = { ok: true }] = await set.place.adjust(ctx, [{ ...bucket, count, takenAt }]);
  await wakeQueue(set, ctx, bucket);
  return status;
}

function parseAll(set: LimitSet, call: string, list: readonly AnyArgs[], choice: ThrowsArg = {}) {
  // JavaScript may pass anything.
  if (!Array.isArray(list) || list.length === 0) throw needError(call, "an array of one or more requests", list);
  checkFields({ of: call }, "the options", choice, { throws: throwsField });
  return Array.from(list, (args: AnyArgs) => {
    const { throws, ...request } = complete(set, call, args, askedFields());
    return { ...request, throws: choice.throws ?? throws };
  });
}
