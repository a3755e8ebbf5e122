/** The answer of one bucket to one demand, under the terms that hold now, and the write that makes it true. */
import { canServe } from "../engine/decide.js";
import { policyOf } from "../engine/kinds/policy.js";
import { type Request, requestTo } from "../engine/request.js";
import { overview, servedFrom } from "../engine/sharding/pool.js";
import { tellsAll } from "../engine/sharding/waits.js";
import { advance, areAll, charged, type Shard } from "../engine/sharding/shard.js";
import { END_OF_TIME } from "../engine/time.js";
import type { Reader } from "../storage/rows.js";
import { loadAll, loadFirst, type StoredShard } from "../storage/shards.js";
import type { RateLimitStatus } from "../wire/answers.js";
import { present } from "../wire/present.js";
import { answerSplit, reshaped, type SplitCall } from "./split.js";
import type { Call, Terms } from "./terms.js";
import { type Answer, answerOnAll, type AnswerSource } from "./whole.js";

export type { Answer } from "./whole.js";

/** The answer of a bucket whose terms were found. */
export async function answerUnder(ctx: Reader, terms: Terms<Request>, call: Call): Promise<Answer> {
  const { override, bucket, timing, found } = terms;
  const request = override?.limit ? requestTo(terms.counted, bucket.asked) : bucket;
  const first = await loadFirst(ctx, request, found);
  if (override?.reason) return await block(ctx, terms, first, override.until);
  const split = { ...call, ...timing, found };
  if (override?.unlimited) return await letThrough(ctx, request, first, split);
  const answered =
    request.limit.levels.most > 0
      ? await answerSplit(ctx, request, split, first)
      : answerOnAll(request, [first], timing);
  const { status } = answered;
  if (!override || status.ok || status.retryAt < override.until) return answered;
  // A denial looks beyond the end of the override, when the limit's own config holds again.
  const { reason: _, ...denied } = status;
  const retryAt = await whenServedAfter(ctx, terms, override.until);
  const last = override.until === END_OF_TIME ? request : bucket;
  const isTooLarge = !canServe(last.limit, last.demand) && { reason: "too large" as const };
  return { ...answered, status: { ...denied, retryAt, ...isTooLarge } };
}

/**
 * The status of the bucket if nothing is taken from it; of one of which only some rows were read, no more than that.
 */
export function untouched({ before }: Answer): RateLimitStatus {
  const { limit, shards, timing } = before;
  return { ok: true, ...(areAll(shards) && overview(limit, shards, timing)) };
}

async function block(ctx: Reader, terms: Terms<Request>, first: StoredShard, until: number): Promise<Answer> {
  const { bucket, timing } = terms;
  const { limit, demand } = bucket;
  const later = { ...timing, now: until };
  const isForEver = until === END_OF_TIME;
  const shards = isForEver ? [first] : await telling(ctx, terms, first);
  const status = present({
    ok: false as const,
    reason: "blocked" as const,
    retryAt: isForEver ? END_OF_TIME : servedFrom(limit, shards, later, demand),
    remaining: 0,
    resetAt: isForEver ? END_OF_TIME : areAll(shards) ? overview(limit, shards, later).resetAt : undefined,
  });
  return { status, before: { limit, shards, timing } };
}

/** For header fields: what the bucket holds when it is full, and the time in which that comes back. */
export function describe({ limit, isUnlimited }: Pick<AnswerSource, "limit" | "isUnlimited">) {
  return { ...policyOf(limit.config), ...(isUnlimited && { unlimited: true as const }) };
}

/** Takes what is there, and owes the rest. A pause also holds for a bucket without a bound. */
async function letThrough(ctx: Reader, request: Request, first: StoredShard, call: SplitCall): Promise<Answer> {
  const { limit, demand } = request;
  const { units, reserve, isRefundable } = demand;
  const { now, pausedUntil } = call;
  const before = { limit, shards: [first], timing: call, isUnlimited: true };
  const waits = now < pausedUntil && units > 0;
  const outlookOf = (shards: readonly Shard[]) => areAll(shards) && overview(limit, shards, call);
  if (waits && (!reserve || pausedUntil - now > demand.withinMs)) {
    return { status: { ok: false, retryAt: pausedUntil, ...outlookOf([first]) }, before };
  }
  const after = units === 0 ? first : charged(advance(first, now), units, isRefundable);
  const status: RateLimitStatus = {
    ok: true,
    ...(waits && { retryAt: pausedUntil }),
    ...outlookOf([after]),
    // A clock ahead may have written the row.
    ...(isRefundable && { takenAt: waits ? now : Math.max(now, after.state.ts) }),
  };
  if (units === 0 || call.isCheck) return { status, before };
  const change = { before: first, after, demand: { units, reserve: false } };
  return { status, before, change: await reshaped(ctx, request, change, call) };
}

/** When the limit's own config lets the request go, once the override has ended. */
async function whenServedAfter(ctx: Reader, terms: Terms<Request>, until: number): Promise<number> {
  const { bucket, timing, found } = terms;
  if (until === END_OF_TIME || !canServe(bucket.limit, bucket.demand)) return END_OF_TIME;
  const shards = await telling(ctx, terms, await loadFirst(ctx, bucket, found));
  return servedFrom(bucket.limit, shards, { ...timing, now: until }, bucket.demand);
}

/** The shards that say when the limit's own config lets a request go. */
async function telling(ctx: Reader, { bucket, found }: Terms<Request>, first: StoredShard): Promise<StoredShard[]> {
  return tellsAll(first, bucket.limit, bucket.demand) ? [first] : await loadAll(ctx, bucket, found);
}
