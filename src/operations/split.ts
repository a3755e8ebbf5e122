/**
 * A bucket that may be split: which rows a call reads, until the answer is clear. One random row first, since each row read is one
 * that other calls conflict on; the fuller of two when it is short (the power of two choices, asked lazily); all only then.
 */
import { decide, outlook } from "../engine/decide.js";
import type { Bucket, Demand, Request } from "../engine/request.js";
import { around, type Interval, isSame, POINTS } from "../engine/sharding/interval.js";
import { areIdle, fateOf, isFast, isJustWritten } from "../engine/sharding/policy.js";
import { whenAnyServes } from "../engine/sharding/pool.js";
import { fold, heldBy, heldByAll, type Shard, spanFor, splitTo } from "../engine/sharding/shard.js";
import type { Reader } from "../storage/rows.js";
import { loadAll, loadAt, loadWithin, save, type StoredShard } from "../storage/shards.js";
import type { RateLimitStatus } from "../validators.js";
import { type Answer, answerOnAll, type Call, unknown } from "./answer.js";

/** A count of more than half a row's share is taken from a span of rows that can hold this many times as much. */
const SPAN = 4;
/**
 * A slow bucket that is down to 2^4 rows, one of them empty, is read whole while some are left: the calls that are served lay it anew on
 * fewer and in the end on one, which is all that denials then read.
 */
const FEW_LEVEL = 4;

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
  const isRunningOut = first.interval.level <= FEW_LEVEL && !isFast(limit, units);
  if (isRunningOut && !isLarge) return await answerAll(ctx, request, now);
  const span = isLarge ? spanFor(limit, first, SPAN * units) : undefined;
  const seen = span ? await loadSpan(ctx, request, span) : await loadSecond(ctx, request, first, call);
  const server = seen.find((shard) => heldBy(shard, now) >= units && 2 * units <= shard.limit.capacity);
  if (server) return await taking(ctx, request, server, call);
  if (span && heldByAll(seen, now) >= units) return takingTogether(request, span, seen, now);
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
  const untouched = (): RateLimitStatus => ({
    ok: true,
    ...outlook(limit, limit.kind.advance(limit, shard.state, now), now),
  });
  if (!taken) return { status, untouched };
  return { status, untouched, write: await settle(ctx, request, shard, { ...shard, state: taken }, demand, call) };
}

/** Takes all from one row. What the others hold is not known, so the status does not say what remains. */
async function taking(ctx: Reader, request: Request, shard: StoredShard, call: Call): Promise<Answer> {
  const { units } = request.demand;
  const { kind } = shard.limit;
  const state = kind.take(shard.limit, kind.advance(shard.limit, shard.state, call.now), units);
  const write = await settle(ctx, request, shard, { ...shard, state }, request.demand, call);
  return { status: servedInFull(request), untouched: unknown, write };
}

/** Takes from several rows, which become one: so that the next such count finds a row that can hold it. */
function takingTogether(request: Request, interval: Interval, span: readonly StoredShard[], now: number): Answer {
  const { limit, demand } = request;
  const { limit: share, state } = fold(limit, interval, span, now);
  const after = [{ interval, limit: share, state: share.kind.take(share, state, demand.units) }];
  return {
    status: servedInFull(request),
    untouched: unknown,
    write: (ctx) => save(ctx, request, span, after),
  };
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
  demand: Pick<Demand, "units" | "reserve">,
  call: Call,
): Promise<NonNullable<Answer["write"]>> {
  const { limit, key } = bucket;
  const { now } = call;
  const fate = fateOf(limit, before, after, demand, { key, ...call });
  switch (fate.kind) {
    case "stay":
      return (writer) => save(writer, bucket, [before], [after]);
    case "split":
      return (writer) => save(writer, bucket, [before], splitTo(limit, after, fate.level, now));
    case "fold": {
      const interval = around(before.interval, fate.level);
      const all = await loadSpan(ctx, bucket, interval);
      const others = all.filter((shard) => !isSame(shard.interval, before.interval));
      if (fate.mustBeIdle && !areIdle(others, now)) return (writer) => save(writer, bucket, [before], [after]);
      const folded = fold(limit, interval, [...others, after], now);
      return (writer) => save(writer, bucket, all, [folded]);
    }
  }
}
