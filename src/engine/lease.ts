/** A lease, from the caller or from the wire → the bucket that holds its slot. Neither source is trusted. */
import type { RateLimitLease } from "../wire/answers.js";
import type { Bucket } from "./bucket.js";
import { MAX_SLOTS } from "./kinds/fields.js";
import { bucketOf } from "./request.js";

/** A slot, as its lease names it. */
export interface Slot {
  readonly bucket: Bucket;
  readonly takenAt: number;
  readonly until: number;
  readonly seen: number;
}

/**
 * The bucket is that of the lease's own length, whatever the limit is now. How many slots it has does not matter.
 * @throws when no lease is as long, or name or key are none.
 */
export function slotOf({ name, key, takenAt, until, seen = 0 }: RateLimitLease): Slot {
  const config = { kind: "concurrency", slots: MAX_SLOTS, lease: until - takenAt } as const;
  return { bucket: bucketOf({ name, key, config }), takenAt, until, seen };
}
