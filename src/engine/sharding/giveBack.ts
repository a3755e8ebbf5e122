/** Tokens that come back: unused ones of an estimate, or those of a cancelled job. */
import { project } from "../kinds/bucket.js";
import type { Part } from "../types.js";

/** The parts that take the units, the emptiest first, none above its capacity; and the units for which there was no room. */
export function giveBack(parts: readonly Part[], now: number, units: number): { taken: Part[]; left: number } {
  const current = parts.map((part) => ({ ...part, bucket: project(part.limit, part.bucket, now) }));
  current.sort((a, b) => a.bucket.value - a.limit.capacity - (b.bucket.value - b.limit.capacity));
  const taken: Part[] = [];
  let left = units;
  for (const { bucket, ...part } of current) {
    const back = Math.min(left, part.limit.capacity - bucket.value);
    if (back === 0) break;
    taken.push({ ...part, bucket: { ...bucket, value: bucket.value + back } });
    left -= back;
  }
  return { taken, left };
}
