/** The terms of a bucket: its plan as it was written, and what an operator decided. */
import { asWritten, type Bucket } from "../engine/bucket.js";
import { type Override, overrideOf, pausedUntil } from "../engine/control.js";
import type { Timing } from "../engine/decide.js";
import { find, type Found } from "../storage/found.js";
import type { Reader } from "../storage/rows.js";
import { isForgotten } from "../storage/shards.js";

/** The time and the randomness of one call. */
export interface Call {
  readonly now: number;
  /** Random numbers in [0, 1). */
  readonly random: () => number;
  /** Whether nothing is taken. */
  readonly isCheck?: boolean | undefined;
}

export function startCall(isCheck = false): Call {
  return { now: Date.now(), random: Math.random, isCheck };
}

/** A bucket under the terms that hold now, and the call that asks it. */
export interface Terms<Own extends Bucket = Bucket> extends Call, Timing {
  /** Under the limit's own config or plan. */
  readonly bucket: Own;
  readonly override: Override | undefined;
  /** The limit in force: the bucket's own, or that of an override. Blocked or unlimited, it is counted by its own. */
  readonly counted: Own;
  readonly found: Found;
}

export async function findTerms<Own extends Bucket>(ctx: Reader, asked: Own, call: Call): Promise<Terms<Own>> {
  return termsOf(asked, await find(ctx, asked, call.random()), call);
}

/** @throws when the override cannot be used: nothing is let through until it is cleared. */
export function termsOf<Own extends Bucket>(asked: Own, found: Found, { now, random, isCheck }: Call): Terms<Own> {
  const { control, row } = found;
  // After a reset none was written under any plan.
  const bucket = asWritten(asked, row && !isForgotten(row, control) ? row : undefined);
  const override = overrideOf(bucket, control, now);
  const counted = override?.limit ? { ...bucket, limit: override.limit } : bucket;
  const call = { now, random, isCheck, pausedUntil: pausedUntil(control) };
  return { ...call, bucket, override, counted, found: { ...found, now } };
}
