/**
 * A bucket that is split: which rows a call reads, until the answer is clear. One random row first, since each row read
 * is one that other calls conflict on. A second if it is short (the power of two choices, asked lazily), and a
 * reservation is made on the one that has its units first. A call on a window reads up to twenty. All rows only for a
 * count that is larger than a row's share, and for one of a slow limit that two rows are short of.
 */
import { canServe, decide, type Timing } from "../engine/decide.js";
import type { Request } from "../engine/request.js";
import type { Bucket } from "../engine/bucket.js";
import { pointAt, WHOLE } from "../engine/sharding/interval.js";
import { isFast, levelAfter, spanFor, type ShardChange } from "../engine/sharding/policy.js";
import { areEnough, areFull, fitsFew, looksFurther, MOST_DRAWS } from "../engine/sharding/looks.js";
import { distribute, soonest } from "../engine/sharding/pool.js";
import { ableOf, mayDenyOnTwo, tellsAll, whenAnyServes, whenEachReserves } from "../engine/sharding/waits.js";
import {
  advance,
  areAll,
  balance,
  canGive,
  fold,
  givenByAll,
  heldBy,
  isOwing,
  merged,
  splitTo,
} from "../engine/sharding/shard.js";
import { END_OF_TIME } from "../engine/time.js";
import type { Reader, RowChange } from "../storage/rows.js";
import { changeOf, type Found, loadAll, loadAt, type StoredShard } from "../storage/shards.js";
import { present } from "../wire/present.js";
import type { Call } from "./terms.js";
import { type Answer, answerOnAll } from "./whole.js";

/** A call on a bucket that is split, with what it has read of it first. */
export interface SplitCall extends Call, Timing {
  readonly found: Found;
}

/** The answer of a bucket that may be split. @param first - the row that was found. */
export async function answerSplit(ctx: Reader, request: Request, call: SplitCall, first: StoredShard): Promise<Answer> {
  const { limit, demand } = request;
  const { now, pausedUntil, found } = call;
  const { units, reserve } = demand;
  if (first.interval === WHOLE) return await answerOn(ctx, request, call, [first]);
  // A demand for nothing takes nothing: any row that does not owe says so.
  if (!canServe(limit, demand)) return tooLarge(request, [first], call);
  const isPaused = now < pausedUntil && units > 0;
  if (isPaused && !reserve) {
    if (tellsAll(first, limit, demand)) return denialOn(request, [first], call);
    return answerOnAll(request, await loadAll(ctx, request, found), call);
  }
  if (!isPaused && heldBy(first, now) >= units) return await answerOn(ctx, request, call, [first]);
  // It was split under a larger `shards`. Smaller rows than the limit permits now fill more slowly than a denial's
  // `retryAt` says.
  const isTooSmall = first.interval.length > limit.levels.most;
  if (!isTooSmall && looksFurther(limit, demand) && fitsFew(first, units)) {
    return await answerLooking(ctx, request, call, first);
  }
  if (isTooSmall || 2 * units > first.limit.capacity) return await answerAround(ctx, request, call, first);
  const second = await loadAnother(ctx, request, call);
  if (!isPaused && heldBy(second, now) >= units) return await answerOn(ctx, request, call, [second, first]);
  return await answerShort(ctx, request, call, second.interval === first.interval ? [first] : [first, second]);
}

async function loadAnother(ctx: Reader, bucket: Bucket, { random, found }: SplitCall): Promise<StoredShard> {
  return await loadAt(ctx, bucket, found.control, random());
}

/**
 * The answer of a count that is large for a row, or of rows that are too small. The rows around a row are merged with
 * it, so that the next such count finds a row that can hold it.
 */
async function answerAround(ctx: Reader, request: Request, call: SplitCall, first: StoredShard): Promise<Answer> {
  const { limit, demand } = request;
  const { now, found } = call;
  const { units, reserve } = demand;
  const span = spanFor(limit, first.interval, units);
  const rows = await loadAll(ctx, request, { control: found.control }, span);
  const someOwe = rows.some((row) => isOwing(row, now));
  const isLarger = reserve && ableOf(rows, demand).length === 0;
  const mayMerge = someOwe ? isLarger && isFast(limit, units) : reserve || givenByAll(rows, now) >= units;
  if (mayMerge) {
    const one = { ...merged(limit, rows, now, span), rows: rows.flatMap((row) => row.rows) };
    const answer = await answerOn(ctx, request, call, [one]);
    if (answer.status.ok) return answer;
  }
  return span === WHOLE && !reserve ? answerOnAll(request, rows, call) : await answerShort(ctx, request, call, rows);
}

/** The answer of a demand that some rows are short of. */
async function answerShort(
  ctx: Reader,
  request: Request,
  call: SplitCall,
  rows: readonly StoredShard[],
): Promise<Answer> {
  const { limit, demand } = request;
  const { now, pausedUntil, found } = call;
  const { units, reserve } = demand;
  const best = reserve ? soonest(rows, call, demand) : undefined;
  if (best) return await answerOn(ctx, request, call, [best]);
  // A row that was written this very millisecond, by this transaction or in a burst, says nothing of the others.
  const isTelling = now < pausedUntil || !areJustWritten(rows, now);
  const mayDeny = reserve ? isFast(limit, units) && ableOf(rows, demand).length > 0 : mayDenyOnTwo(limit, demand);
  if (mayDeny && isTelling) return denialOn(request, rows, call);
  const all = areAll(rows) ? rows : await loadAll(ctx, request, { control: found.control });
  return answerOnAll(request, all, call);
}

/**
 * The answer of a window whose first row is short. It reads one row after another, until one holds the count or several
 * do together, or enough are short. Several at once cost as many attempts: a row that need not have been read is one
 * more to conflict on.
 */
async function answerLooking(ctx: Reader, request: Request, call: SplitCall, first: StoredShard): Promise<Answer> {
  const { limit, demand } = request;
  const { units, isRefundable } = demand;
  const { now, random, found } = call;
  const rows = [first];
  for (let draws = 0; draws < MOST_DRAWS && !areEnough(limit, rows, now, units); draws++) {
    const drawn = random();
    // Each read is one more range, also of a row that has been read.
    if (rows.some(({ interval }) => pointAt(drawn).startsWith(interval))) continue;
    const row = await loadAt(ctx, request, found.control, drawn);
    if (heldBy(row, now) >= units) return await answerOn(ctx, request, call, [row, first]);
    rows.push(row);
    if (!canGive(rows, now, units)) continue;
    const left = distribute(rows, now, { units, isRefundable });
    return {
      status: { ok: true, ...(isRefundable && { takenAt: now }) },
      change: changeOf(request, rows, left),
      before: { limit, shards: rows, timing: call },
    };
  }
  if (!areFull(rows, now)) return denialOn(request, rows, call);
  return answerOnAll(request, await loadAll(ctx, request, { control: found.control }), call);
}

export function areJustWritten(rows: readonly StoredShard[], now: number): boolean {
  return rows.some(({ state }) => state.ts >= now);
}

function denialOn({ limit, demand }: Request, shards: readonly StoredShard[], call: SplitCall): Answer {
  const { units, reserve } = demand;
  // A row that was not read reserves by the time at which it would hold the units if it were empty now.
  const reservedFrom = reserve ? whenEachReserves(shards, call, demand) : [];
  const retryAt = Math.max(...reservedFrom, whenAnyServes(limit, reserve ? [] : shards, call, units));
  return { status: { ok: false, retryAt }, before: { limit, shards, timing: call } };
}

function tooLarge({ limit }: Request, shards: readonly StoredShard[], call: SplitCall): Answer {
  const status = { ok: false, retryAt: END_OF_TIME, reason: "too large" } as const;
  return { status, before: { limit, shards, timing: call } };
}

/** A shard that decides, and another that was read before and does not hold the demand. */
type Drawn = readonly [shard: StoredShard, short?: StoredShard | undefined];

/** The answer of the whole as one shard, or of a part. */
async function answerOn(ctx: Reader, request: Request, call: SplitCall, [shard, short]: Drawn): Promise<Answer> {
  const { limit, demand } = request;
  const { now } = call;
  const { status, taken } = decide(shard.limit, shard.state, call, demand);
  // Nobody knows what remains in the other parts.
  const isWhole = shard.interval === WHOLE;
  const shown = isWhole ? status : present({ ...status, remaining: undefined, resetAt: undefined });
  const before = { limit, shards: [shard], timing: call };
  if (!taken || call.isCheck) return { status: shown, before };
  const after = { ...shard, state: taken };
  // Evening out two rows of a window writes to one that other calls have just read.
  const balanced = short && !looksFurther(limit, demand) ? balance(advance(short, now), after) : undefined;
  const change = { before: shard, after, demand: { ...demand, wasShort: short !== undefined } };
  return {
    status: shown,
    before,
    change:
      short && balanced ? changeOf(request, [short, shard], balanced) : await reshaped(ctx, request, change, call),
  };
}

/**
 * The write of a row's new state: the row stays, is split, or is merged with its neighbours, unless one of these owes.
 */
export async function reshaped(
  ctx: Reader,
  bucket: Bucket,
  change: ShardChange<StoredShard>,
  call: SplitCall,
): Promise<RowChange> {
  const { limit } = bucket;
  const { now, found } = call;
  const { before, after } = change;
  const level = levelAfter(bucket, change, call);
  if (level >= before.interval.length) return changeOf(bucket, [before], splitTo(limit, after, level, now));
  const interval = before.interval.slice(0, level);
  const around = await loadAll(ctx, bucket, { control: found.control }, interval);
  const others = around.filter((shard) => !shard.interval.startsWith(before.interval));
  if ([...others, after].some((shard) => isOwing(shard, now))) return changeOf(bucket, [before], [after]);
  return changeOf(bucket, [before, ...others], [fold(limit, [...others, after], now, interval)]);
}
