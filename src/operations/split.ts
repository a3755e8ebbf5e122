/**
 * A bucket that may be split: which rows a call reads, until the answer is clear. One random row first, since each row read is one
 * that other calls conflict on; the fuller of two when it is short (the power of two choices, asked lazily); all only then.
 */
import { decide } from "../engine/decide.js";
import type { Bucket, Request } from "../engine/request.js";
import { around, type Interval, isSame, POINTS } from "../engine/sharding/interval.js";
import { areIdle, fateOf, isFast, isJustWritten, spanFor } from "../engine/sharding/policy.js";
import { outlookOf, whenAnyServes } from "../engine/sharding/pool.js";
import { advance, fold, heldBy, heldByAll, type Shard, splitTo } from "../engine/sharding/shard.js";
import type { Reader } from "../storage/rows.js";
import { loadAll, loadAt, loadWithin, save, type StoredShard } from "../storage/shards.js";
import type { RateLimitStatus } from "../validators.js";
import { type Answer, answerOnAll, type Call, unknown } from "./answer.js";

/** Fewer whole tokens than this are not worth a second row's write. */
const WORTH_MOVING = 2;

export async function answerSplit(ctx: Reader, request: Request, call: Call): Promise<Answer> {
  const { limit, demand } = request;
  const { now } = call;
  const { units, reserve } = demand;
  // A question that takes nothing is answered in full.
  const first = units === 0 ? undefined : await loadAtRandom(ctx, request, call);
  if (!first) return await answerAll(ctx, request, now);
  if (first.interval.level === 0) return await answerOnWhole(ctx, request, first, call);
  if (heldBy(first, now) >= units) return await taking(ctx, request, first, call);

  const isLarge = 2 * units > first.limit.capacity;
  const span = spanFor(limit, first.interval, units);
  const seen = isLarge ? await loadSpan(ctx, request, span) : await loadSecond(ctx, request, first, call);
  if (isLarge && heldByAll(seen, now) >= units) return takingTogether(request, span, seen, now);
  const [, second] = seen;
  if (!isLarge && second && heldBy(second, now) >= units)
    return await takingEvenly(ctx, request, [first, second], call);
  if (!reserve && !demand.atLeast && isFast(limit, units) && !isJustWritten(seen, now)) {
    const retryAt = whenAnyServes(limit, seen, now, units);
    return { status: { ok: false, retryAt }, untouched: unknown };
  }
  return await answerAll(ctx, request, now);
}

async function answerAll(ctx: Reader, request: Request, now: number): Promise<Answer> {
  return answerOnAll(request, await loadAll(ctx, request), now);
}

/** The shard at a random point; undefined when the bucket was split under another config. */
export async function loadAtRandom(ctx: Reader, bucket: Bucket, { random }: Call): Promise<StoredShard | undefined> {
  return await loadAt(ctx, bucket, Math.floor(random() * POINTS));
}

/** The first row, and a second. */
async function loadSecond(ctx: Reader, bucket: Bucket, first: StoredShard, call: Call): Promise<StoredShard[]> {
  const second = await loadAtRandom(ctx, bucket, call);
  return second && !isSame(second.interval, first.interval) ? [first, second] : [first];
}

/** The rows of an interval. */
async function loadSpan(ctx: Reader, bucket: Bucket, span: Interval): Promise<StoredShard[]> {
  return span.level === 0 ? await loadAll(ctx, bucket) : await loadWithin(ctx, bucket, span);
}

/** The bucket is one row, and may become two. */
async function answerOnWhole(ctx: Reader, request: Request, shard: StoredShard, call: Call): Promise<Answer> {
  const { limit, demand } = request;
  const { now } = call;
  const { status, taken } = decide(limit, shard.state, now, demand);
  const untouched = (): RateLimitStatus => ({ ok: true, ...outlookOf(limit, [shard], now) });
  if (!taken) return { status, untouched };
  return { status, untouched, write: await settle(ctx, request, shard, { ...shard, state: taken }, demand, call) };
}

/** Takes all from one row. What the others hold is not known, so the status does not say what remains. */
async function taking(
  ctx: Reader,
  request: Request,
  shard: StoredShard,
  call: Call,
  wasShort = false,
): Promise<Answer> {
  const { units } = request.demand;
  const { kind } = shard.limit;
  const state = kind.take(shard.limit, kind.advance(shard.limit, shard.state, call.now), units);
  const write = await settle(ctx, request, shard, { ...shard, state }, { ...request.demand, wasShort }, call);
  return { status: servedInFull(request), untouched: unknown, write };
}

/**
 * Takes all from the second row, the first being short, and gives the first half of what the second then has more: so the next call
 * there is not in vain.
 */
async function takingEvenly(
  ctx: Reader,
  request: Request,
  rows: readonly [StoredShard, StoredShard],
  call: Call,
): Promise<Answer> {
  const { limit, demand } = request;
  const { kind, unitsPerToken } = limit;
  const [first, second] = [advance(rows[0], call.now), advance(rows[1], call.now)];
  const more = second.state.value - demand.units - first.state.value;
  const room = first.limit.capacity - first.state.value;
  const moved = Math.floor(Math.min(more / 2, room) / unitsPerToken) * unitsPerToken;
  if (moved < WORTH_MOVING * unitsPerToken) return await taking(ctx, request, rows[1], call, true);
  const after = [
    { ...first, state: kind.giveBack(first.limit, first.state, moved) },
    { ...second, state: kind.take(second.limit, second.state, demand.units + moved) },
  ];
  return { status: servedInFull(request), untouched: unknown, write: (writer) => save(writer, request, rows, after) };
}

/** Takes from several rows, which become one: so that the next such count finds a row that can hold it. */
function takingTogether(request: Request, interval: Interval, span: readonly StoredShard[], now: number): Answer {
  const { limit, demand } = request;
  const { limit: share, state } = fold(limit, interval, span, now);
  const after = [{ interval, limit: share, state: share.kind.take(share, state, demand.units) }];
  return { status: servedInFull(request), untouched: unknown, write: (ctx) => save(ctx, request, span, after) };
}

/** What a call that has not read all rows can say. */
function servedInFull({ demand: { units, atLeast } }: Request): RateLimitStatus {
  return { ok: true, ...(atLeast && { taken: atLeast.tokens(units) }) };
}

/** What has to be written for a row's new state: it stays, is split, or becomes one with its neighbours. */
export async function settle(
  ctx: Reader,
  bucket: Bucket,
  before: StoredShard,
  after: Shard,
  demand: Parameters<typeof fateOf>[3],
  call: Call,
): Promise<NonNullable<Answer["write"]>> {
  const { limit, key } = bucket;
  const { now } = call;
  const { level, mustBeIdle } = fateOf(limit, before, after, demand, { key, ...call });
  if (level < before.interval.level) {
    const interval = around(before.interval, level);
    const all = await loadSpan(ctx, bucket, interval);
    const others = all.filter((shard) => !isSame(shard.interval, before.interval));
    if (!mustBeIdle || areIdle(others, now)) {
      const folded = fold(limit, interval, [...others, after], now);
      return (writer) => save(writer, bucket, all, [folded]);
    }
  }
  return (writer) => save(writer, bucket, [before], splitTo(limit, after, level, now));
}
