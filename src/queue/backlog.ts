/** What the worker says of a queue that is full. Callers must not count the jobs that wait, or they would conflict. */
import { END_OF_TIME } from "../engine/time.js";
import type { Pace } from "./pace.js";
import type { WorkerRow } from "./tables.js";

/** A report that a queue is full holds this long, unless the worker knows better. */
const FULL_MS = 1000;
/** While a worker that has slept runs, the queue is still full: what it says next must not come too late. */
const WAKING_MS = 400;

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
  const roomAt = whenLeft(queued - maxQueued + 1);
  if (pace.state === "waiting") return { queued, fullUntil: later(Math.max(pace.at, roomAt), WAKING_MS) };
  const until = Math.max(now + FULL_MS, later(roomAt, WAKING_MS));
  return { queued: undefined, fullUntil: fullUntil >= until - 0.3 * FULL_MS ? fullUntil : until };
}

/** A later time, at most the last that a Date can name. */
const later = (time: number, ms: number): number => Math.min(END_OF_TIME, time + ms);
