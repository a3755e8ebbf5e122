/** Overrides: setting one, and clearing it. */
import { type Control, NO_CONTROL, parseOverride } from "../engine/control.js";
import type { RateLimitOverride } from "../wire/configs.js";
import { fieldError } from "../engine/misuse.js";
import { checkBucket } from "../engine/names.js";
import * as storage from "../storage/rows.js";
import { controlAmong } from "../storage/found.js";

/**
 * Puts an override in the place of the one that is there, if any. @throws when it is none, or ends before it begins.
 */
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
  return await putOverride(ctx, bucket, override);
}

export async function clearOverride(ctx: storage.Writer, bucket: storage.BucketId): Promise<null> {
  checkBucket(bucket);
  return await putOverride(ctx, bucket, undefined);
}

/** Nothing stays of a control row that cannot be used. */
async function putOverride(
  ctx: storage.Writer,
  bucket: storage.BucketId,
  override: Control["override"],
): Promise<null> {
  const rows = await storage.readControl(ctx, bucket);
  let control = NO_CONTROL;
  try {
    control = controlAmong(bucket, rows);
  } catch {
    // Calls have said what is wrong with it.
  }
  await storage.writeControl(ctx, bucket, rows, { ...control, override });
  return null;
}
