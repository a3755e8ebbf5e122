/** The answer of one bucket to one demand, under the terms that hold now, and the write that makes it true. */
import { canServe } from "../engine/decide.js";
import { remembering } from "../engine/headroom.js";
import { policyOf } from "../engine/kinds/policy.js";
import { type Request, requestTo } from "../engine/request.js";
import { overview, servedFrom } from "../engine/sharding/pool.js";
import { tellsAll } from "../engine/sharding/waits.js";
import { advance, areAll, charged, type Shard } from "../engine/sharding/shard.js";
import { END_OF_TIME } from "../engine/time.js";
import type { Reader } from "../storage/rows.js";
import { loadAll, loadFirst, type StoredShard } from "../storage/shards.js";
import type { RateLimitStatus } from "../wire/answers.js";
import { type Answer, answerOnAll, answerSplit, reshaped } from "./split.js";
import type { Terms } from "./terms.js";

/** The answer of a bucket whose terms were found. */
export async function answerUnder(ctx: Reader, asked: Terms<Request>): Promise<Answer> {
  const { override, bucket, found } = asked;
  const terms = override?.limit ? { ...asked, counted: requestTo(asked.counted, bucket.asked) } : asked;
  const request = terms.counted;
  const first = await loadFirst(ctx, request, found);
  if (override?.reason) {
    const { reason, until } = override;
    const status = { ok: false as const, reason, ...(await servedAfter(ctx, asked, until, first)), remaining: 0 };
    return { status, shards: [first] };
  }
  const answered = await answerInForce(ctx, terms, first);
  const { status } = answered;
  if (!override || status.ok || status.retryAt < override.until) return answered;
  const { reason: _, ...denied } = status;
  const { retryAt } = await servedAfter(ctx, asked, override.until);
  const last = override.until === END_OF_TIME ? request : bucket;
  const isTooLarge = !canServe(last.limit, last.demand) && { reason: "too large" as const };
  return { ...answered, status: { ...denied, retryAt, ...isTooLarge } };
}

async function answerInForce(ctx: Reader, terms: Terms<Request>, first: StoredShard): Promise<Answer> {
  if (terms.override?.unlimited) return await letThrough(ctx, terms, first);
  const isSplit = terms.counted.limit.levels.most > 0;
  return isSplit ? await answerSplit(ctx, terms, first) : answerOnAll(terms, [first]);
}

/**
 * When the limit's own config lets a request go once an override has ended, and when the bucket is reset then, if its
 * rows that were read say so.
 */
async function servedAfter(
  ctx: Reader,
  { bucket, found, pausedUntil }: Terms<Request>,
  until: number,
  row?: StoredShard,
) {
  if (until === END_OF_TIME) return { retryAt: until, resetAt: until };
  const { limit, demand } = bucket;
  const first = row ?? (await loadFirst(ctx, bucket, found));
  const isEnough = !canServe(limit, demand) || tellsAll(first, limit, demand);
  const shards = isEnough ? [first] : await loadAll(ctx, bucket, found);
  const timing = { now: until, pausedUntil };
  return { ...(areAll(shards) && overview(limit, shards, timing)), retryAt: servedFrom(limit, shards, timing, demand) };
}

/** For header fields: what the bucket holds when it is full, and the time in which that comes back. */
export function describe({ counted, override }: Pick<Terms, "counted" | "override">) {
  return { ...policyOf(counted.limit.config), ...(override?.unlimited && { unlimited: true as const }) };
}

/** Takes what is there, and owes the rest. A pause also holds for a bucket without a bound. */
async function letThrough(ctx: Reader, terms: Terms<Request>, first: StoredShard): Promise<Answer> {
  const { counted, now, pausedUntil } = terms;
  const { limit, demand } = counted;
  const { units, reserve, withinMs, isRefundable } = demand;
  const shards = [first];
  const waits = now < pausedUntil && units > 0;
  const outlookOf = (own: Shard) => areAll([own]) && overview(limit, [own], terms);
  if (waits && (!reserve || pausedUntil - now > withinMs)) {
    const retryAt = reserve ? pausedUntil - withinMs : pausedUntil;
    return { status: { ok: false, retryAt, ...outlookOf(first) }, shards };
  }
  const taken = units === 0 ? first : charged(advance(first, now), units);
  // A clock ahead may have written the row.
  const takenAt = waits ? now : Math.max(now, taken.state.ts);
  const after = isRefundable ? { ...taken, state: remembering(taken.state, takenAt) } : taken;
  const status: RateLimitStatus = {
    ok: true,
    ...(waits && { retryAt: pausedUntil }),
    ...outlookOf(after),
    ...(isRefundable && { takenAt }),
  };
  if (units === 0 || terms.isCheck) return { status, shards };
  const change = { before: first, after, demand: { units, reserve: false } };
  return { status, shards, change: await reshaped(ctx, terms, change) };
}
