/** Overrides: setting one, and clearing it. */
import { parseOverride } from "../engine/control.js";
import type { RateLimitOverride } from "../wire/configs.js";
import { fieldError } from "../engine/misuse.js";
import { checkBucket } from "../engine/names.js";
import * as storage from "../storage/rows.js";
import { changeControl } from "./adjust.js";

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
  await changeControl(ctx, bucket, (control) => ({ ...control, override }));
  return null;
}

export async function clearOverride(ctx: storage.Writer, bucket: storage.BucketId): Promise<null> {
  checkBucket(bucket);
  await changeControl(ctx, bucket, ({ override: _, ...control }) => control);
  return null;
}
