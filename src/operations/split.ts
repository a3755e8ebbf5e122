/**
 * A bucket that is split: which rows a call reads, until the answer is clear. One random row first, since each row read
 * is one that other calls conflict on. A second if it is short (the power of two choices, asked lazily), and a
 * reservation is made on the one that has its units first. A call on a window reads up to twenty. All rows only for a
 * count that is larger than a row's share, and for one of a slow limit that two rows are short of.
 */
import { canServe, decide } from "../engine/decide.js";
import type { Request } from "../engine/request.js";
import { pointAt, WHOLE } from "../engine/sharding/interval.js";
import { isFast, levelAfter, spanFor, type ShardChange } from "../engine/sharding/policy.js";
import { areEnough, areFull, fitsFew, looksFurther, MOST_DRAWS } from "../engine/sharding/looks.js";
import { decideOnAll, distribute } from "../engine/sharding/pool.js";
import { reserveOnOne, tellsAll, whenAnyServes } from "../engine/sharding/waits.js";
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
import { changeOf, loadAll, loadAt, type StoredShard } from "../storage/shards.js";
import type { RateLimitStatus } from "../wire/answers.js";
import { present } from "../wire/present.js";
import type { Terms } from "./terms.js";

/** The answer of a bucket to a demand. Nothing has been written. */
export interface Answer {
  readonly status: RateLimitStatus;
  /** The write that makes it true; absent for a denial. */
  readonly change?: RowChange | undefined;
  /** What the call has read, as it was. */
  readonly shards: readonly StoredShard[];
}

/** The answer of a bucket that may be split. @param first - the row that was found. */
export async function answerSplit(ctx: Reader, terms: Terms<Request>, first: StoredShard): Promise<Answer> {
  const { counted, now, pausedUntil, found, random } = terms;
  const { limit, demand } = counted;
  const { units, reserve } = demand;
  if (first.interval === WHOLE) return await answerOn(ctx, terms, first);
  // A demand for nothing takes nothing: any row that does not owe says so.
  if (!canServe(limit, demand)) {
    return { status: { ok: false, retryAt: END_OF_TIME, reason: "too large" }, shards: [first] };
  }
  const isPaused = now < pausedUntil && units > 0;
  if (isPaused && !reserve) {
    if (tellsAll(first, limit, demand)) return denialOn(terms, [first]);
    return answerOnAll(terms, await loadAll(ctx, counted, found));
  }
  if (!isPaused && heldBy(first, now) >= units) return await answerOn(ctx, terms, first);
  if (looksFurther(limit, demand) && fitsFew(first, units)) return await answerLooking(ctx, terms, first);
  if (2 * units > first.limit.capacity) return await answerAround(ctx, terms, first);
  const second = await loadAt(ctx, counted, found, random());
  if (!isPaused && heldBy(second, now) >= units) return await answerOn(ctx, terms, second, first);
  return await answerShort(ctx, terms, second.interval === first.interval ? [first] : [first, second]);
}

/**
 * The answer of a count that is large for a row. The rows around a row are merged with it, so that the next such count
 * finds a row that can hold it.
 */
async function answerAround(ctx: Reader, terms: Terms<Request>, first: StoredShard): Promise<Answer> {
  const { counted, now, found } = terms;
  const { limit, demand } = counted;
  const { units, reserve } = demand;
  const span = spanFor(limit, first.interval, units);
  const rows = await loadAll(ctx, counted, found, span);
  const someOwe = rows.some((row) => isOwing(row, now));
  const isLarger = reserve && rows.every((row) => units > row.limit.capacity);
  const mayMerge = someOwe ? isLarger && isFast(limit, units) : reserve || givenByAll(rows, now) >= units;
  if (mayMerge) {
    const one = { ...merged(limit, rows, now, span), rows: rows.flatMap((row) => row.rows) };
    const answer = await answerOn(ctx, terms, one);
    if (answer.status.ok) return answer;
  }
  return span === WHOLE && !reserve ? answerOnAll(terms, rows) : await answerShort(ctx, terms, rows);
}

/** The answer of a demand that some rows are short of. */
async function answerShort(ctx: Reader, terms: Terms<Request>, rows: readonly StoredShard[]): Promise<Answer> {
  const { counted, now, pausedUntil, found } = terms;
  const { limit, demand } = counted;
  const { units, reserve } = demand;
  const { best, reservedFrom } = reserveOnOne(reserve ? rows : [], terms, demand);
  if (best) return await answerOn(ctx, terms, best);
  // A row that was written this very millisecond, by this transaction or in a burst, says nothing of the others.
  const isTelling = now < pausedUntil || !areJustWritten(rows, now);
  const mayDeny = isFast(limit, units) && (!reserve || reservedFrom.length > 0);
  if (mayDeny && isTelling) return denialOn(terms, rows, reservedFrom);
  return answerOnAll(terms, areAll(rows) ? rows : await loadAll(ctx, counted, found));
}

/**
 * The answer of a window whose first row is short. It reads one row after another, until one holds the count or several
 * do together, or enough are short. Several at once cost as many attempts: a row that need not have been read is one
 * more to conflict on.
 */
async function answerLooking(ctx: Reader, terms: Terms<Request>, first: StoredShard): Promise<Answer> {
  const { counted, now, random, found } = terms;
  const { limit, demand } = counted;
  const { units, isRefundable } = demand;
  const rows = [first];
  for (let draws = 0; draws < MOST_DRAWS && !areEnough(limit, rows, now, units); draws++) {
    const drawn = random();
    // Each read is one more range, also of a row that has been read.
    if (rows.some(({ interval }) => pointAt(drawn).startsWith(interval))) continue;
    const row = await loadAt(ctx, counted, found, drawn);
    if (heldBy(row, now) >= units) return await answerOn(ctx, terms, row, first);
    rows.push(row);
    if (!canGive(rows, now, units)) continue;
    const left = distribute(rows, now, { units, isRefundable });
    const status = { ok: true as const, ...(isRefundable && { takenAt: now }) };
    return { status, change: changeOf(counted, rows, left), shards: rows };
  }
  if (!areFull(rows, now)) return denialOn(terms, rows);
  return answerOnAll(terms, await loadAll(ctx, counted, found));
}

/** The answer of a call that has read all shards of a bucket. */
export function answerOnAll(terms: Terms<Request>, shards: readonly StoredShard[]): Answer {
  const { counted } = terms;
  const { status, left } = decideOnAll(counted.limit, shards, terms, counted.demand);
  return { status, change: left === shards ? undefined : changeOf(counted, shards, left), shards };
}

export function areJustWritten(rows: readonly StoredShard[], now: number): boolean {
  return rows.some(({ state }) => state.ts === now);
}

/** @param reservedFrom - when each of the shards that may promise it serves a reservation. */
function denialOn(terms: Terms<Request>, shards: readonly StoredShard[], reservedFrom: readonly number[] = []): Answer {
  const { limit, demand } = terms.counted;
  const { units, reserve } = demand;
  // A row that was not read reserves by the time at which it would hold the units if it were empty now.
  const retryAt = Math.max(...reservedFrom, whenAnyServes(limit, reserve ? [] : shards, terms, units));
  return { status: { ok: false, retryAt }, shards };
}

/**
 * The answer of the whole as one shard, or of a part.
 * @param short - another part, which was read before and does not hold the demand.
 */
async function answerOn(ctx: Reader, terms: Terms<Request>, shard: StoredShard, short?: StoredShard): Promise<Answer> {
  const { counted, now } = terms;
  const { limit, demand } = counted;
  const { status, taken } = decide(shard.limit, shard.state, terms, demand);
  // Nobody knows what remains in the other parts.
  const isWhole = shard.interval === WHOLE;
  const shown = isWhole ? status : present({ ...status, remaining: undefined, resetAt: undefined });
  const answer = { status: shown, shards: [shard] };
  if (!taken || terms.isCheck) return answer;
  const after = { ...shard, state: taken };
  // Evening out two rows of a window writes to one that other calls have just read.
  const balanced = short && !looksFurther(limit, demand) ? balance(advance(short, now), after) : undefined;
  const change = { before: shard, after, demand: { ...demand, wasShort: short !== undefined } };
  return {
    ...answer,
    change: short && balanced ? changeOf(counted, [short, shard], balanced) : await reshaped(ctx, terms, change),
  };
}

/**
 * The write of a row's new state: the row stays, is split, or is merged with its neighbours, unless one of these owes.
 */
export async function reshaped(ctx: Reader, terms: Terms, change: ShardChange<StoredShard>): Promise<RowChange> {
  const { counted: bucket, now, found } = terms;
  const { limit } = bucket;
  const { before, after } = change;
  const level = levelAfter(bucket, change, terms);
  if (level >= before.interval.length) return changeOf(bucket, [before], splitTo(limit, after, level, now));
  const interval = before.interval.slice(0, level);
  const around = await loadAll(ctx, bucket, found, interval);
  const others = around.filter((shard) => !shard.interval.startsWith(before.interval));
  if ([...others, after].some((shard) => isOwing(shard, now))) return changeOf(bucket, [before], [after]);
  return changeOf(bucket, [before, ...others], [fold(limit, [...others, after], now, interval)]);
}
