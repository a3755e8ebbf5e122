/** The answer of one bucket to one demand, under the terms that hold now, and the write that makes it true. */
import type { Adjustment } from "../engine/adjustment.js";
import { canServe } from "../engine/decide.js";
import { type Request, requestTo } from "../engine/request.js";
import { adjustOnAll, decideOnAll, overview, servedFrom } from "../engine/sharding/pool.js";
import { areAll, type Shard } from "../engine/sharding/shard.js";
import { END_OF_TIME } from "../engine/time.js";
import type { Reader, RowChange } from "../storage/rows.js";
import { changeOf, loadAt, shardsOf, type StoredShard } from "../storage/shards.js";
import type { RateLimitStatus } from "../wire/answers.js";
import { present } from "../wire/present.js";
import { answerSplit, reshaped } from "./split.js";
import { type Call, findTerms, type Terms } from "./terms.js";

/** What a call has read: the limit in force, and shards as they were. */
interface Looked {
  readonly limit: Request["limit"];
  readonly shards: readonly StoredShard[];
  readonly timing: Terms["timing"];
}

/** The answer of a bucket to a demand. Nothing has been written. */
export interface Answer {
  readonly status: RateLimitStatus;
  /** The write that makes it true; absent for a denial. */
  readonly change?: RowChange | undefined;
  readonly before: Looked;
}

/** Reads the bucket and its control row, finds the terms, and decides. */
export async function answer(ctx: Reader, asked: Request, call: Call): Promise<Answer> {
  return await answerUnder(ctx, await findTerms(ctx, asked, call), call);
}

export async function answerUnder(ctx: Reader, terms: Terms<Request>, call: Call): Promise<Answer> {
  const { override, bucket } = terms;
  const request = override?.limit ? requestTo(terms.counted, bucket.asked) : bucket;
  const shards = await loadFirst(ctx, terms, request, call);
  if (override?.reason) return block(terms, shards);
  if (override?.unlimited) return await letThrough(ctx, terms, shards, call);
  const [first] = shards;
  const { timing, found } = terms;
  const answered =
    first && isSplittable(request, shards)
      ? await answerSplit(ctx, request, { ...call, ...timing, found }, first)
      : answerOnAll(request, shards, timing);
  const { status } = answered;
  if (!override || status.ok || status.retryAt < override.until) return answered;
  // A denial looks beyond the end of the override, when the limit's own config holds again.
  const { reason: _, ...denied } = status;
  const retryAt = await whenServedAfter(ctx, terms, call);
  const last = override.until === END_OF_TIME ? request : bucket;
  const isTooLarge = !canServe(last.limit, last.demand) && { reason: "too large" as const };
  return { ...answered, status: { ...denied, retryAt, ...isTooLarge } };
}

/** The shards of a bucket that a call starts with: all of one that is not split, else the one that was found. */
async function loadFirst(ctx: Reader, { found }: Terms, bucket: Request, { random }: Call): Promise<readonly StoredShard[]> {
  if (found.rows) return shardsOf(bucket, found.control, found.rows);
  return [await loadAt(ctx, bucket, found, random())];
}

/** Whether a write may change the number of rows: of one row, or of some of several. */
export function isSplittable({ limit }: Request | Adjustment, shards: readonly Shard[]): boolean {
  return limit.levels.most > 0 && (shards.length === 1 || !areAll(shards));
}

/** The answer of a call that has read all shards of a bucket. */
export function answerOnAll(request: Request, shards: readonly StoredShard[], timing: Terms["timing"]): Answer {
  const { limit, demand } = request;
  const { status, left } = decideOnAll(limit, shards, timing, demand);
  return { status, change: left === shards ? undefined : changeOf(request, shards, left), before: { limit, shards, timing } };
}

/** The status of the bucket if nothing is taken from it; of one of which only some rows were read, no more than that. */
export function untouched({ before }: Answer): RateLimitStatus {
  const { limit, shards, timing } = before;
  return { ok: true, ...(areAll(shards) && overview(limit, shards, timing)) };
}

function block({ bucket, override, timing }: Terms<Request>, shards: readonly StoredShard[]): Answer {
  const { until = END_OF_TIME } = override ?? {};
  const { limit, demand } = bucket;
  const later = { ...timing, now: until };
  const isForEver = until === END_OF_TIME;
  const status = present({
    ok: false as const,
    reason: "blocked" as const,
    retryAt: isForEver ? END_OF_TIME : servedFrom(limit, shards, later, demand),
    remaining: 0,
    resetAt: isForEver ? END_OF_TIME : areAll(shards) ? overview(limit, shards, later).resetAt : undefined,
  });
  return { status, before: { limit, shards, timing } };
}

/** Takes what is there, and owes the rest. A pause also holds for a bucket without a bound. */
async function letThrough(
  ctx: Reader,
  { bucket, timing, found }: Terms<Request>,
  shards: readonly StoredShard[],
  call: Call,
): Promise<Answer> {
  const { limit, demand } = bucket;
  const { units, reserve, isRefundable } = demand;
  const { now, pausedUntil } = timing;
  const before = { limit, shards, timing };
  const waits = now < pausedUntil && units > 0;
  const isWhole = areAll(shards);
  if (waits && (!reserve || pausedUntil - now > demand.withinMs)) {
    return { status: { ok: false, retryAt: pausedUntil, ...(isWhole && overview(limit, shards, timing)) }, before };
  }
  const left = units === 0 ? shards : adjustOnAll(shards, now, { units, isRefundable });
  const status: RateLimitStatus = {
    ok: true,
    ...(waits && { retryAt: pausedUntil }),
    ...(isWhole && overview(limit, left, timing)),
    ...(isRefundable && { takenAt: waits ? now : dateOf(left, now) }),
  };
  const [first] = shards;
  const [after] = left;
  const charged = first && after && isSplittable(bucket, shards) && units > 0 && !call.isCheck;
  const change = charged
    ? await reshaped(ctx, bucket, { before: first, after, demand: { units, reserve: false } }, { ...call, ...timing, found })
    : changeOf(bucket, shards, left);
  return { status, change, before };
}

/** One row may have a later time: of a clock ahead. Units taken from several are dated by the clock. */
function dateOf(left: readonly Shard[], now: number): number {
  return left.length === 1 ? Math.max(now, left[0]?.state.ts ?? now) : now;
}

/** When the limit's own config lets the request go, once the override has ended. */
async function whenServedAfter(ctx: Reader, terms: Terms<Request>, call: Call): Promise<number> {
  const { override, bucket, timing } = terms;
  const { until = END_OF_TIME } = override ?? {};
  if (until === END_OF_TIME || !canServe(bucket.limit, bucket.demand)) return END_OF_TIME;
  const shards = await loadFirst(ctx, terms, bucket, call);
  return servedFrom(bucket.limit, shards, { ...timing, now: until }, bucket.demand);
}
