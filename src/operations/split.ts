/**
 * A bucket that may be split: which rows a call reads, until the answer is clear. One random row first, since each row read is one
 * that other calls conflict on; the fuller of two when it is short (the power of two choices, asked lazily); all only then.
 */
import { decide } from "../engine/decide.js";
import type { Bucket, Request } from "../engine/request.js";
import { around, pointAt, WHOLE } from "../engine/sharding/interval.js";
import { levelAfter, spanFor, type ShardDemand } from "../engine/sharding/policy.js";
import { mayDenyOnTwo, outlookOf, whenAnyServes } from "../engine/sharding/pool.js";
import { advance, even, fold, heldBy, heldByAll, type Shard, splitTo } from "../engine/sharding/shard.js";
import type { Reader } from "../storage/rows.js";
import { loadAll, loadAt, save, type StoredShard } from "../storage/shards.js";
import type { RateLimitStatus } from "../validators.js";
import { type Answer, answerOnAll, type Call, unknown } from "./answer.js";

export async function answerSplit(ctx: Reader, request: Request, call: Call): Promise<Answer> {
  const { limit, demand } = request;
  const { now } = call;
  const { units } = demand;
  // A question that takes nothing is answered in full.
  if (units === 0) return await answerAll(ctx, request, now);
  const first = await loadAtRandom(ctx, request, call);
  if (first.interval === WHOLE || heldBy(first, now) >= units) return await answerOn(ctx, request, first, call);

  const isLarge = 2 * units > first.limit.capacity;
  const span = spanFor(limit, first.interval, units);
  const second = isLarge ? undefined : await loadAtRandom(ctx, request, call);
  const seen = second ? [first, second] : await loadAll(ctx, request, span);
  if (second && heldBy(second, now) >= units) return await answerOn(ctx, request, second, call, first);
  if (isLarge && heldByAll(seen, now) >= units) {
    // They become one: so that the next such count finds a row that can hold it.
    const together = { ...fold(limit, span, seen, now), rows: seen.flatMap(({ rows }) => rows) };
    return await answerOn(ctx, request, together, call);
  }
  // A row that was written this very millisecond, by this transaction or in a burst, says nothing of the others.
  const isJustWritten = seen.some(({ state }) => state.ts >= now);
  if (mayDenyOnTwo(limit, demand) && !isJustWritten) {
    return { status: { ok: false, retryAt: whenAnyServes(limit, seen, now, units) }, untouched: unknown };
  }
  // Where the count takes the whole bucket, that has been read.
  return isLarge && span === WHOLE ? answerOnAll(request, seen, now) : await answerAll(ctx, request, now);
}

async function answerAll(ctx: Reader, request: Request, now: number): Promise<Answer> {
  return answerOnAll(request, await loadAll(ctx, request), now);
}

/** The shard at a random point. */
export async function loadAtRandom(ctx: Reader, bucket: Bucket, { random }: Call): Promise<StoredShard> {
  return await loadAt(ctx, bucket, pointAt(random()));
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
  const whole = (): RateLimitStatus => ({ ok: true, ...outlookOf(limit, [shard], now) });
  const untouched = isWhole ? whole : unknown;
  if (!taken) return { status, untouched };
  const after = { ...shard, state: taken };
  const evened = short && even(advance(short, now), after);
  return {
    status: isWhole ? status : { ok: true, ...(atLeast && { taken: atLeast.tokens(units) }) },
    untouched,
    write: evened
      ? (writer) => save(writer, request, [short, shard], evened)
      : await settle(ctx, request, shard, after, { ...demand, wasShort: short !== undefined }, call),
  };
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
  if (level >= before.interval.length) {
    return (writer) => save(writer, bucket, [before], splitTo(bucket.limit, after, level, call.now));
  }
  const interval = around(before.interval, level);
  const all = await loadAll(ctx, bucket, interval);
  const others = all.filter((shard) => !shard.interval.startsWith(before.interval));
  const folded = fold(bucket.limit, interval, [...others, after], call.now);
  return (writer) => save(writer, bucket, all, [folded]);
}
