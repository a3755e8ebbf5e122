/**
 * A bucket that may be split: which rows a call reads, until the answer is clear. One random row first, since each row read is one
 * that other calls conflict on. A second if it is short (the power of two choices, asked lazily); of a window up to twenty. Then all.
 */
import { decide } from "../engine/decide.js";
import type { Request } from "../engine/request.js";
import type { Bucket } from "../engine/bucket.js";
import { pointAt, WHOLE } from "../engine/sharding/interval.js";
import { levelAfter, spanFor, type ShardChange } from "../engine/sharding/policy.js";
import { areEnough, areFull, fitsFew, looksFurther, MOST_DRAWS } from "../engine/sharding/looks.js";
import { distribute, mayDenyOnTwo, whenAnyServes } from "../engine/sharding/pool.js";
import { advance, balance, fold, heldBy, heldByAll, splitTo } from "../engine/sharding/shard.js";
import type { Reader, RowChange } from "../storage/rows.js";
import { changeOf, loadAll, loadAt, type StoredShard } from "../storage/shards.js";
import { present } from "../wire/present.js";
import { type Answer, answerOnAll, type Call, renewing } from "./answer.js";

export async function answerSplit(ctx: Reader, request: Request, call: Call): Promise<Answer> {
  const { limit, demand } = request;
  const { now, random } = call;
  const { units } = demand;
  // A request that takes nothing gets an exact answer.
  if (units === 0) return answerOnAll(request, await loadAll(ctx, request), now);
  const first = await loadAt(ctx, request, random());
  if (first.interval === WHOLE || heldBy(first, now) >= units) return await answerOn(ctx, request, call, [first]);

  // It was split under a larger `shards`. Smaller rows than the limit permits now fill more slowly than a denial's `retryAt` says.
  const isTooSmall = first.interval.length > limit.levels.most;
  if (!isTooSmall && looksFurther(limit, demand) && fitsFew(first, units))
    return await answerLooking(ctx, request, first, call);
  const needsMore = demand.reserve || isTooSmall || 2 * units > first.limit.capacity;
  const span = spanFor(limit, first.interval, units);
  let rows: readonly StoredShard[];
  if (needsMore) {
    rows = await loadAll(ctx, request, span);
    // The rows around a row are merged with it, so that the next such count finds a row that can hold it. Reservations thus make one row
    // of a bucket that runs out, step by step: only the whole may owe.
    if (heldByAll(rows, now) >= units) {
      const merged = { ...fold(limit, rows, now, span), rows: rows.flatMap((row) => row.rows) };
      return await answerOn(ctx, request, call, [merged]);
    }
  } else {
    const second = await loadAt(ctx, request, random());
    if (heldBy(second, now) >= units) return await answerOn(ctx, request, call, [second, first]);
    rows = [first, second];
  }
  if (mayDenyOnTwo(limit, demand) && !areJustWritten(rows, now)) return denialOn(request, rows, now);
  // If the span is the whole bucket, it has been read.
  const all = needsMore && span === WHOLE ? rows : await loadAll(ctx, request);
  return answerOnAll(request, all, now);
}

/**
 * The answer of a window whose first row is short. It reads one row after another, until one holds the count or several do together, or
 * enough are short. Several at once cost as many attempts: a row that need not have been read is one more to conflict on.
 */
async function answerLooking(ctx: Reader, request: Request, first: StoredShard, call: Call): Promise<Answer> {
  const { limit, demand } = request;
  const { units, isRefundable } = demand;
  const { now, random } = call;
  const rows = [first];
  for (let draws = 0; draws < MOST_DRAWS && !areEnough(limit, rows, now, units); draws++) {
    const drawn = random();
    // Each read is one more range, also of a row that has been read.
    if (rows.some(({ interval }) => pointAt(drawn).startsWith(interval))) continue;
    const row = await loadAt(ctx, request, drawn);
    if (heldBy(row, now) >= units) return await answerOn(ctx, request, call, [row, first]);
    rows.push(row);
    if (heldByAll(rows, now) < units) continue;
    const left = distribute(rows, now, { units, isRefundable });
    return { status: { ok: true, ...(isRefundable && { takenAt: now }) }, change: changeOf(request, rows, left) };
  }
  if (!areFull(rows, now) && !areJustWritten(rows.slice(0, 2), now)) return denialOn(request, rows, now);
  return answerOnAll(request, await loadAll(ctx, request), now);
}

/** Whether rows say nothing of the others: one was written this very millisecond, by this transaction or in a burst. */
export function areJustWritten(rows: readonly StoredShard[], now: number): boolean {
  return rows.some(({ state }) => state.ts >= now);
}

function denialOn({ limit, demand }: Request, rows: readonly StoredShard[], now: number): Answer {
  return { status: { ok: false, retryAt: whenAnyServes(limit, rows, now, demand.units) } };
}

/** A shard that decides, and another that was read before and does not hold the demand. */
type Drawn = readonly [shard: StoredShard, short?: StoredShard | undefined];

/** The answer of the whole as one shard, or of a part that holds the demand. */
async function answerOn(ctx: Reader, request: Request, call: Call, [shard, short]: Drawn): Promise<Answer> {
  const { limit, demand } = request;
  const { now } = call;
  const { status, taken } = decide(shard.limit, shard.state, now, demand);
  const isWhole = shard.interval === WHOLE;
  const known = isWhole && { before: { limit, shards: [shard] } };
  if (!taken) return { status, ...known };
  const after = { ...shard, state: taken };
  // Evening out two rows of a window writes to one that other calls have just read.
  const balanced = short && !looksFurther(limit, demand) && balance(advance(short, now), after);
  const change = { before: shard, after, demand: { ...demand, wasShort: short !== undefined } };
  return {
    // Nobody knows what remains in the other parts.
    status: isWhole
      ? renewing(request, status, now, () => taken)
      : present({ ...status, remaining: undefined, resetAt: undefined }),
    ...known,
    change: balanced ? changeOf(request, [short, shard], balanced) : await reshaped(ctx, request, change, call),
  };
}

/** The write of a row's new state: the row stays, is split, or is merged with its neighbours. */
export async function reshaped(
  ctx: Reader,
  bucket: Bucket,
  change: ShardChange<StoredShard>,
  call: Call,
): Promise<RowChange> {
  const { before, after } = change;
  const level = levelAfter(bucket, change, call);
  const interval = before.interval.slice(0, level);
  const around = interval === before.interval ? [] : await loadAll(ctx, bucket, interval);
  const others = around.filter((shard) => !shard.interval.startsWith(before.interval));
  const whole = fold(bucket.limit, [...others, after], call.now, interval);
  return changeOf(bucket, [before, ...others], splitTo(bucket.limit, whole, level, call.now));
}
