/** Giving a slot back by its lease: exactly its own, and once. */
import type { Slot } from "../engine/request.js";
import { readRows, write, type Writer } from "../storage/rows.js";
import { changeOf, foundAmong, isOf, shardsOf } from "../storage/shards.js";

/**
 * Frees the slot of a lease. One that has ended, was released, or is from before a reset holds none: nothing is
 * written.
 */
export async function release(ctx: Writer, { bucket, takenAt, until, seen = 0 }: Slot): Promise<null> {
  if (!(Date.now() < until)) return null;
  const { limit } = bucket;
  const found = foundAmong(bucket, await readRows(ctx, bucket));
  const { control, rows } = found;
  if (control.reset && !(seen >= control.reset.count)) return null;
  // The row keeps the plan that it was written under.
  const held = { ...bucket, plan: rows.find((row) => isOf(limit, row))?.plan };
  for (const before of shardsOf(bucket, found)) {
    const state = limit.kind.release?.(limit, before.state, takenAt);
    if (state && state !== before.state) await write(ctx, changeOf(held, [before], [{ ...before, state }]));
  }
  return null;
}
