/**
 * A bucket that may be split: which rows a call reads, until the answer is clear. One random row first, since each row read is one
 * that other calls conflict on; the fuller of two when it is short (the power of two choices, asked lazily); all only then.
 */
import { decide } from "../engine/decide.js";
import type { Bucket, Request } from "../engine/request.js";
import { WHOLE } from "../engine/sharding/interval.js";
import { levelAfter, spanFor, type ShardDemand } from "../engine/sharding/policy.js";
import { mayDenyOnTwo, standing, whenAnyServes } from "../engine/sharding/pool.js";
import { advance, even, fold, heldBy, type Shard, splitTo } from "../engine/sharding/shard.js";
import type { Reader } from "../storage/rows.js";
import type { RateLimitStatus } from "../wire/answers.js";
import { loadAll, loadAt, save, type StoredShard } from "../storage/shards.js";
import { type Answer, answerOnAll, type Call, unknown } from "./answer.js";

export async function answerSplit(ctx: Reader, request: Request, call: Call): Promise<Answer> {
  const { limit, demand } = request;
  const { now, random } = call;
  const { units } = demand;
  // A question that takes nothing is answered in full.
  if (units === 0) return answerOnAll(request, await loadAll(ctx, request), now);
  const first = await loadAt(ctx, request, random());
  if (first.interval === WHOLE || heldBy(first, now) >= units) return await answerOn(ctx, request, first, call);

  const isLarge = 2 * units > first.limit.capacity;
  const span = spanFor(limit, first.interval, units);
  const near = isLarge ? await loadAll(ctx, request, span) : undefined;
  // What is around a row becomes one with it: so that the next such count finds a row that can hold it.
  const second = near
    ? { ...fold(limit, span, near, now), rows: near.flatMap(({ rows }) => rows) }
    : await loadAt(ctx, request, random());
  if (heldBy(second, now) >= units) return await answerOn(ctx, request, second, call, near ? undefined : first);
  const seen = near ?? [first, second];
  // A row that was written this very millisecond, by this transaction or in a burst, says nothing of the others.
  const isJustWritten = seen.some(({ state }) => state.ts >= now);
  if (mayDenyOnTwo(limit, demand) && !isJustWritten) {
    return { status: { ok: false, retryAt: whenAnyServes(limit, seen, now, units) }, untouched: unknown };
  }
  // Where the count takes the whole bucket, that has been read.
  const all = near && span === WHOLE ? near : await loadAll(ctx, request);
  return answerOnAll(request, all, now);
}

/**
 * The answer of the whole as one shard, or of a part that holds the demand: then it is not known what remains.
 * @param short - another row, which was read before and does not hold it.
 */
async function answerOn(
  ctx: Reader,
  request: Request,
  shard: StoredShard,
  call: Call,
  short?: StoredShard,
): Promise<Answer> {
  const { limit, demand } = request;
  const { units, atLeast } = demand;
  const { now } = call;
  const { status, taken } = decide(shard.limit, shard.state, now, demand);
  const isWhole = shard.interval === WHOLE;
  const untouched = isWhole ? () => standing(limit, [shard], now) : unknown;
  if (!taken) return { status, untouched };
  const after = { ...shard, state: taken };
  const evened = short && even(advance(short, now), after);
  return {
    status: isWhole ? status : partStatus(status, atLeast?.tokens(units)),
    untouched,
    write: evened
      ? (writer) => save(writer, request, [short, shard], evened)
      : await settle(ctx, request, shard, after, { ...demand, wasShort: short !== undefined }, call),
  };
}

/** What a part of a bucket says: not what remains. */
function partStatus(status: RateLimitStatus, taken: number | undefined): RateLimitStatus {
  const { takenAt } = status.ok ? status : {};
  return { ok: true, ...(taken !== undefined && { taken }), ...(takenAt !== undefined && { takenAt }) };
}

/** What has to be written for a row's new state: it stays, is split, or becomes one with its neighbours. */
export async function settle(
  ctx: Reader,
  bucket: Bucket,
  before: StoredShard,
  after: Shard,
  taken: ShardDemand,
  call: Call,
): Promise<NonNullable<Answer["write"]>> {
  const level = levelAfter(bucket, before, after, taken, call);
  const interval = before.interval.slice(0, level);
  const around = interval === before.interval ? [] : await loadAll(ctx, bucket, interval);
  const others = around.filter((shard) => !shard.interval.startsWith(before.interval));
  const whole = fold(bucket.limit, interval, [...others, after], call.now);
  return (writer) => save(writer, bucket, [before, ...others], splitTo(bucket.limit, whole, level, call.now));
}
