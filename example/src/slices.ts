/** The rows of a limit side by side, with what each holds at a moment: to draw them. What is decided, the library decides. */
import { projectRateLimit, type RateLimitSnapshot } from "convex-rate-limits";

/** A row of a split bucket, or the one row of another. */
export interface Slice {
  /** Where it lies in the whole, from 0 to 1. */
  from: number;
  to: number;
  tokens: number;
  capacity: number;
  hasRow: boolean;
}

/** A row's `shard` is 16 times the start of its interval, in 1/1024ths, plus its level: it is 2^-level long. */
export function slicesAt(snapshot: RateLimitSnapshot, now: number): Slice[] {
  return snapshot.parts.map((part) => {
    const { shard = 0, capacity = snapshot.capacity } = part;
    const from = Math.floor(shard / 16) / 1024;
    const { value } = projectRateLimit({ ...snapshot, ...part, parts: [part] }, { now, count: 0 });
    return {
      from,
      to: from + 2 ** -(shard % 16),
      tokens: value,
      capacity: capacity / snapshot.unitsPerToken,
      hasRow: part.ts > 0,
    };
  });
}
