/** What the worker says of a queue that is full. Callers must not count the jobs that wait, or they would conflict. */
import { END_OF_TIME } from "../engine/time.js";
import type { Pace } from "./pace.js";
import type { WorkerRow } from "./tables.js";

/**
 * A report that a queue is full ends this long after its jobs will have made room. So a later report ends no later, and
 * a caller that waits for the end of the first one is let in.
 */
const FULL_MS = 1000;

interface Known {
  readonly now: number;
  /** The jobs that wait. */
  readonly queued: number;
  readonly row: Pick<WorkerRow, "state" | "fullUntil">;
  readonly pace: Pace;
  readonly maxQueued: number;
  /** About when so many of the jobs that wait will have left. */
  readonly whenLeft: (jobs: number) => number;
}

/** The state of the row for callers. */
export function reportOf(known: Known): Pick<WorkerRow, "queued" | "fullUntil"> {
  const { now, queued, row, pace, maxQueued, whenLeft } = known;
  const { fullUntil = 0 } = row;
  if (queued < maxQueued) {
    // A report for a second ends by itself.
    const isStale = fullUntil - now > (row.state === "waiting" ? 0 : FULL_MS);
    return { queued: undefined, fullUntil: isStale ? now : row.fullUntil };
  }
  const isSleeping = pace.state === "waiting";
  const roomAt = Math.max(isSleeping ? pace.at : now, whenLeft(queued - maxQueued + 1));
  const until = Math.min(END_OF_TIME, roomAt + FULL_MS);
  if (isSleeping) return { queued, fullUntil: until };
  return { queued: undefined, fullUntil: fullUntil >= until - 0.3 * FULL_MS ? fullUntil : until };
}
