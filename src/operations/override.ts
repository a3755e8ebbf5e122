/** Overrides: setting one, clearing it, and finding the one of a bucket. */
import { asWritten, type Bucket } from "../engine/bucket.js";
import type { RateLimitOverride } from "../wire/configs.js";
import { fieldError } from "../engine/misuse.js";
import { checkBucket } from "../engine/names.js";
import { type Override, overrideError, overrideOf, parseOverride } from "../engine/override.js";
import { OVERRIDE_SHARD, pointAt } from "../engine/sharding/interval.js";
import * as storage from "../storage/rows.js";
import { planOf, shardsOf } from "../storage/shards.js";
import type { Call } from "./answer.js";

/** Puts an override in the place of the one that is there, if any. @throws when it is none, or ends before it begins. */
export async function setOverride(
  ctx: storage.Writer,
  bucket: storage.BucketId,
  given: RateLimitOverride,
): Promise<null> {
  const now = Date.now();
  checkBucket(bucket);
  const override = parseOverride(bucket.name, given);
  const { until = Infinity } = override;
  if (until <= now) {
    throw fieldError(bucket.name, "until", `a time after now (${now}), in milliseconds since the epoch`, until);
  }
  const rows = await storage.readOverrideRows(ctx, bucket);
  await storage.write(ctx, { bucket, rows, contents: [{ shard: OVERRIDE_SHARD, value: 0, ts: now, override }] });
  return null;
}

export async function clearOverride(ctx: storage.Writer, bucket: storage.BucketId): Promise<null> {
  checkBucket(bucket);
  await storage.write(ctx, { bucket, rows: await storage.readOverrideRows(ctx, bucket), contents: [] });
  return null;
}

/**
 * A bucket as it is counted under its stored plan and its override, and what was read of its rows for that: `load` reads the rest. One that
 * cannot be split is read with its override, in one range. Else the override is read, and a row if the stored plan decides.
 */
export async function findTerms(ctx: storage.Reader, asked: Bucket, { now, random }: Call) {
  const { isOverridable, plans } = asked;
  const rows = asked.limit.levels.most === 0 ? await storage.readRows(ctx, asked) : undefined;
  const row = plans && !rows ? await storage.readLast(ctx, asked, pointAt(random())) : null;
  const bucket = asWritten(asked, rows ? planOf(rows) : row?.plan);
  const among = rows ?? (isOverridable ? await storage.readOverrideRows(ctx, asked) : []);
  const counted = countedUnder(bucket, among, now);
  const load = async () => shardsOf(counted, rows ?? (await storage.readRows(ctx, counted)));
  return { counted, load, row };
}

/** The bucket as it is counted under its override: blocked or unlimited, by the limit's own config. */
export function countedUnder(bucket: Bucket, rows: readonly storage.Row[], now: number): Bucket {
  const override = overrideAmong(bucket, rows, now);
  return override?.limit ? { ...bucket, limit: override.limit } : bucket;
}

/**
 * The override in force, if calls ask for one and it is among the rows; without `now`, the one that was set last.
 * @throws when it cannot be used, or when there are several: nothing is let through until they are cleared.
 */
export function overrideAmong(bucket: Bucket, rows: readonly storage.Row[], now = 0): Override | undefined {
  const [stored, ...others] = bucket.isOverridable ? overridesAmong(rows) : [];
  if (others.length > 0) throw overrideError(bucket, "There must be one, not several.");
  const override = stored && overrideOf(bucket, stored);
  return override && now < override.until ? override : undefined;
}

/** The override among the rows of a bucket, as it is stored: one, or none. */
export function overridesAmong(rows: readonly storage.Row[]): RateLimitOverride[] {
  return rows.flatMap((row) => (row.override && !storage.holdsTokens(row) ? [row.override] : []));
}
