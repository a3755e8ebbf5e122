/** Changes that no bucket is asked about: charging what was really used, giving back what was not, pausing, forgetting. */
import { outlook, renewsAt } from "../engine/decide.js";
import { type Adjustment, adjustmentOf, parsePause } from "../engine/adjustment.js";
import { checkBucket } from "../engine/names.js";
import type { Bucket } from "../engine/bucket.js";
import { WHOLE } from "../engine/sharding/interval.js";
import { adjustOnAll, adjustOnSome, pauseAll } from "../engine/sharding/pool.js";
import { adjusted, advance, fold, offerOf } from "../engine/sharding/shard.js";
import { type BucketId, holdsTokens, readRows, type Row, write, type Writer } from "../storage/rows.js";
import { changeOf, loadAt } from "../storage/shards.js";
import type { RateLimitStatus } from "../wire/answers.js";
import { present } from "../wire/present.js";
import type { Call } from "./answer.js";
import { findTerms } from "./override.js";
import { areJustWritten, reshaped } from "./split.js";

/** Charges units without asking, or gives them back. */
export async function adjust(ctx: Writer, given: Adjustment): Promise<RateLimitStatus> {
  const call: Call = { now: Date.now(), random: Math.random };
  const { now } = call;
  const { counted, load, row } = await findTerms(ctx, given, call);
  // Under the limit that it was parsed for, the units stay: a settlement has its own.
  const adjustment = counted === given ? given : adjustmentOf(counted, given.asked);
  const adjustedFew = await adjustFewRows(ctx, adjustment, call, row);
  if (adjustedFew) return adjustedFew;
  const { limit, asked } = adjustment;
  const shards = await load();
  const left = adjustOnAll(limit, shards, now, adjustment);
  await write(ctx, changeOf(adjustment, shards, left));
  const { state } = fold(limit, left, now);
  // `retryAt` of a bucket in debt is when the debt is paid.
  const retryAt = state.value < 0 ? limit.kind.whenHolding(limit, state, 0) : undefined;
  const next = asked.renews === undefined ? undefined : renewsAt(limit, state, asked.renews, now);
  return present({ ok: true, retryAt, ...outlook(limit, state, now), renewsAt: next });
}

/** Several adjustments in their order: two may be of one bucket. */
export async function adjustAll(ctx: Writer, adjustments: readonly Adjustment[]): Promise<RateLimitStatus[]> {
  const statuses: RateLimitStatus[] = [];
  for (const adjustment of adjustments) statuses.push(await adjust(ctx, adjustment));
  return statuses;
}

/** Adjusts one or two of several rows, if that will do. Tokens of a cancelled job may be another row's. */
async function adjustFewRows(
  ctx: Writer,
  adjustment: Adjustment,
  call: Call,
  known: Row | null,
): Promise<RateLimitStatus | undefined> {
  const { units, limit, taking } = adjustment;
  const { now, random } = call;
  if (units === 0 || limit.levels.most === 0) return undefined;
  const shard = await loadAt(ctx, adjustment, random(), known);
  if (shard.interval === WHOLE) return undefined;
  const before = advance(shard, now);
  if (offerOf(before, adjustment, taking?.startsAt) >= Math.abs(units)) {
    const after = adjusted(before, adjustment);
    const charged = { before: shard, after, demand: { units, reserve: false } };
    const change = units > 0 ? await reshaped(ctx, adjustment, charged, call) : changeOf(adjustment, [shard], [after]);
    await write(ctx, change);
    return { ok: true };
  }
  if (units > 0) return undefined;
  const other = await loadAt(ctx, adjustment, random());
  const rows = other.interval === shard.interval ? [shard] : [shard, other];
  const left = areJustWritten(rows, now) ? undefined : adjustOnSome(limit, rows, now, adjustment);
  if (!left) return undefined;
  await write(ctx, changeOf(adjustment, rows, left));
  return { ok: true };
}

/**
 * Pauses a bucket as a whole. A time that has passed, or one before the end of a longer pause, changes nothing and writes nothing.
 * @throws when the time is more than five years ahead.
 */
export async function pause(ctx: Writer, { until: asked, ...bucket }: Bucket & { until: number }): Promise<null> {
  const call: Call = { now: Date.now(), random: Math.random };
  const { now } = call;
  const until = parsePause(bucket.name, asked, now);
  if (until <= now) return null;
  const { counted, load } = await findTerms(ctx, bucket, call);
  const shards = await load();
  await write(ctx, changeOf(counted, shards, pauseAll(counted.limit, shards, now, until)));
  return null;
}

/** Forgets a bucket: no row means full. Overrides stay. */
export async function reset(ctx: Writer, bucket: BucketId): Promise<null> {
  checkBucket(bucket);
  const rows = await readRows(ctx, bucket);
  await write(ctx, { bucket, rows: rows.filter(holdsTokens), contents: [] });
  return null;
}
