/** Settling after the fact: charging what was really used, giving back what was not. */
import { outlook } from "../engine/decide.js";
import type { State } from "../engine/kinds/kind.js";
import { type Adjustment, adjustmentOf } from "../engine/request.js";
import { WHOLE } from "../engine/sharding/interval.js";
import { giveBack, owing, takenAt } from "../engine/sharding/pool.js";
import { advance, fold, heldByAll } from "../engine/sharding/shard.js";
import type { Row, Writer } from "../storage/rows.js";
import { loadAll, save, shardsOf, type StoredShard } from "../storage/shards.js";
import type { RateLimitStatus } from "../validators.js";
import { answerOnAll, type Call } from "./answer.js";
import { findOverride } from "./override.js";
import { loadAtRandom, settle } from "./split.js";

/** Charges units without asking, or gives them back. */
export async function adjust(ctx: Writer, adjustment: Adjustment): Promise<RateLimitStatus> {
  const call: Call = { now: Date.now(), random: Math.random };
  if (!adjustment.isOverridable) return await adjustRows(ctx, adjustment, call);
  const { override, rows } = await findOverride(ctx, adjustment, call.now);
  // Blocked or unlimited, what was really used is counted by the limit's own config.
  if (override?.does !== "configure") return await adjustRows(ctx, adjustment, call, rows);
  return await adjustRows(ctx, adjustmentOf({ ...adjustment, limit: override.limit }, adjustment), call, rows);
}

/** @param rows - those of the bucket, where they have been read. */
async function adjustRows(
  ctx: Writer,
  adjustment: Adjustment,
  call: Call,
  rows?: readonly Row[],
): Promise<RateLimitStatus> {
  const { units } = adjustment;
  const alone = await adjustOneRow(ctx, adjustment, call);
  if (alone) return alone;
  const shards = rows ? shardsOf(adjustment, rows) : await loadAll(ctx, adjustment);
  if (units <= 0) return await refund(ctx, adjustment, shards, call.now);
  if (heldByAll(shards, call.now) < units) return await charge(ctx, adjustment, shards, call.now);
  const demand = { units, reserve: false, withinMs: Infinity };
  const { status, write } = answerOnAll({ ...adjustment, asked: {}, demand }, shards, call.now);
  await write?.(ctx);
  return status;
}

/** Several adjustments in their order: two may be of one bucket. */
export async function adjustAll(ctx: Writer, adjustments: readonly Adjustment[]): Promise<RateLimitStatus[]> {
  const statuses: RateLimitStatus[] = [];
  for (const adjustment of adjustments) statuses.push(await adjust(ctx, adjustment));
  return statuses;
}

/**
 * One of several rows, if it has what is charged, or takes all that comes back: a cancelled job's tokens come from what was taken at
 * its moment, which may be in other rows.
 */
async function adjustOneRow(ctx: Writer, adjustment: Adjustment, call: Call): Promise<RateLimitStatus | undefined> {
  const { units, at, limit } = adjustment;
  if (units === 0 || limit.levels.most === 0) return undefined;
  const shard = await loadAtRandom(ctx, adjustment, call);
  if (shard.interval === WHOLE) return undefined;
  const { limit: share, state } = advance(shard, call.now);
  const next = units > 0 ? share.kind.take(share, state, units) : share.kind.giveBack(share, state, -units, at);
  if (next.value < 0 || state.value - next.value !== units) return undefined;
  if ((takenAt(share, state, at) ?? -units) < -units) return undefined;
  const after = { ...shard, state: next };
  const write =
    units > 0
      ? await settle(ctx, adjustment, shard, after, { units, reserve: false }, call)
      : (writer: Writer) => save(writer, adjustment, [shard], [after]);
  await write(ctx);
  return { ok: true };
}

/** More than all rows hold is owed by the bucket as a whole. */
async function charge(
  ctx: Writer,
  bucket: Adjustment,
  shards: readonly StoredShard[],
  now: number,
): Promise<RateLimitStatus> {
  const { limit, units } = bucket;
  const charged = owing(limit, shards, now, units);
  await save(ctx, bucket, shards, [charged]);
  return standing(limit, charged.state, now);
}

/** What comes back goes to as few rows as have room for it. */
async function refund(
  ctx: Writer,
  bucket: Adjustment,
  shards: readonly StoredShard[],
  now: number,
): Promise<RateLimitStatus> {
  const { limit, units, at } = bucket;
  const { before, after } = giveBack(shards, now, -units, at);
  await save(ctx, bucket, before, after);
  const all = [...shards.filter((shard) => !before.includes(shard)), ...after];
  return standing(limit, fold(limit, WHOLE, all, now).state, now);
}

/** How a bucket stands; while it is in debt, with the moment at which the debt is paid. */
function standing(limit: Adjustment["limit"], stored: State, now: number): RateLimitStatus {
  const state = limit.kind.advance(limit, stored, now);
  const wait = state.value < 0 ? { retryAt: limit.kind.whenHolding(limit, state, 0) } : {};
  return { ok: true, ...wait, ...outlook(limit, state, now) };
}
