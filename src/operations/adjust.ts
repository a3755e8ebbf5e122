/** Settling after the fact: charging what was really used, giving back what was not. */
import { outlook, renewsAt } from "../engine/decide.js";
import { type Adjustment, adjustmentOf } from "../engine/adjustment.js";
import { WHOLE } from "../engine/sharding/interval.js";
import { adjustOnAll } from "../engine/sharding/pool.js";
import { adjusted, advance, fold, offerOf } from "../engine/sharding/shard.js";
import { type Row, write, type Writer } from "../storage/rows.js";
import { changeOf, loadAll, loadAt, shardsOf } from "../storage/shards.js";
import type { RateLimitStatus } from "../wire/answers.js";
import type { Call } from "./answer.js";
import { countedUnder, findTerms } from "./override.js";
import { reshaped } from "./split.js";

/** Charges units without asking, or gives them back. */
export async function adjust(ctx: Writer, adjustment: Adjustment): Promise<RateLimitStatus> {
  const call: Call = { now: Date.now(), random: Math.random };
  if (!adjustment.isOverridable && !adjustment.plans) return await adjustRows(ctx, adjustment, call);
  const { bucket, override, ...known } = await findTerms(ctx, adjustment, call);
  return await adjustRows(ctx, adjustmentOf(countedUnder(override, bucket), adjustment), call, known);
}

/** The rows of a bucket that have been read: all of them, or one. */
interface Known {
  readonly rows?: readonly Row[];
  readonly row?: Row | null;
}

async function adjustRows(
  ctx: Writer,
  adjustment: Adjustment,
  call: Call,
  { rows, row }: Known = {},
): Promise<RateLimitStatus> {
  const { limit } = adjustment;
  const { now } = call;
  const alone = await adjustOneRow(ctx, adjustment, call, row);
  if (alone) return alone;
  const shards = rows ? shardsOf(adjustment, rows) : await loadAll(ctx, adjustment);
  const left = adjustOnAll(limit, shards, now, adjustment);
  await write(ctx, changeOf(adjustment, shards, left));
  const { state } = fold(limit, WHOLE, left, now);
  // `retryAt` of a bucket in debt is when the debt is paid.
  const wait = state.value < 0 ? { retryAt: limit.kind.whenHolding(limit, state, 0) } : {};
  const next = adjustment.renews === undefined ? undefined : renewsAt(limit, state, adjustment.renews, now);
  return { ok: true, ...wait, ...outlook(limit, state, now), ...(next !== undefined && { renewsAt: next }) };
}

/** Several adjustments in their order: two may be of one bucket. */
export async function adjustAll(ctx: Writer, adjustments: readonly Adjustment[]): Promise<RateLimitStatus[]> {
  const statuses: RateLimitStatus[] = [];
  for (const adjustment of adjustments) statuses.push(await adjust(ctx, adjustment));
  return statuses;
}

/**
 * Adjusts one of several rows, if it has the units of the charge, or had the refund taken from it. A cancelled job's tokens may
 * have been taken from other rows.
 */
async function adjustOneRow(
  ctx: Writer,
  adjustment: Adjustment,
  call: Call,
  known: Known["row"],
): Promise<RateLimitStatus | undefined> {
  const { units, limit } = adjustment;
  if (units === 0 || limit.levels.most === 0) return undefined;
  const shard = await loadAt(ctx, adjustment, call.random(), known);
  if (shard.interval === WHOLE) return undefined;
  const before = advance(shard, call.now);
  if (offerOf(before, adjustment) < Math.abs(units)) return undefined;
  const after = adjusted(before, adjustment);
  const charged = { before: shard, after, demand: { units, reserve: false } };
  const change = units > 0 ? await reshaped(ctx, adjustment, charged, call) : changeOf(adjustment, [shard], [after]);
  await write(ctx, change);
  return { ok: true };
}
