/**
 * How many jobs wait, where their number is bounded. Callers must not count, or they would conflict: the worker tells
 * them.
 */
import { END_OF_TIME } from "../engine/time.js";
import type { RunArgs } from "../wire/queue.js";
import type { Pace } from "./pace.js";
import type { WorkerRow } from "./tables.js";

/**
 * The worker's count includes jobs that were cancelled while it ran. So it counts all of them again before it reports a
 * full queue, and then this often, until it sleeps on a fresh count. A later cancel wakes it.
 */
const RECOUNT_MS = 10_000;
/** A report that a queue is full holds this long, unless the worker knows better. */
const FULL_MS = 1000;
/** While a worker that has slept runs, the queue is still full: what it says next must not come too late. */
const WAKING_MS = 400;

/** The jobs that wait, about, and when they were last found to fill the queue. */
export interface Count {
  readonly queued: number;
  readonly countedAt: number;
}

/** What a run has found and done. */
interface Findings {
  readonly now: number;
  readonly maxQueued: number;
  readonly run: Pick<RunArgs, "queued" | "countedAt">;
  /** The jobs that came, and those that left. */
  readonly arrived: number;
  readonly left: number;
  /** Whether all jobs that the run could see have left. */
  readonly isDrained: boolean;
}

/** @param countAll - counts all jobs; if it was cut off, there may be more. */
export async function countBacklog(
  { now, maxQueued, run, arrived, left, isDrained }: Findings,
  countAll: () => Promise<{ count: number; isCut: boolean }>,
): Promise<Count> {
  const queued = isDrained ? 0 : Math.max(0, (run.queued ?? 0) + arrived - left);
  // The first count finds all as new.
  const { countedAt = queued < maxQueued ? 0 : now } = run;
  // The clock may have stepped back.
  if (queued < maxQueued || Math.abs(now - countedAt) < RECOUNT_MS) return { queued, countedAt };
  const { count, isCut } = await countAll();
  const counted = Math.max(count, isCut ? queued : 0);
  return { queued: counted, countedAt: counted < maxQueued ? countedAt : now };
}

/** The state of the row for callers, and when the worker must count again at the latest. */
interface Report extends Pick<WorkerRow, "queued" | "fullUntil"> {
  readonly recountAt: number;
}

interface Known {
  readonly now: number;
  readonly row: Pick<WorkerRow, "state" | "fullUntil">;
  readonly pace: Pace;
  readonly maxQueued: number;
  /** About when so many of the jobs that wait will have left. */
  readonly whenLeft: (jobs: number) => number;
}

export function reportOf({ queued, countedAt }: Count, { now, row, pace, maxQueued, whenLeft }: Known): Report {
  const { fullUntil = 0 } = row;
  if (queued < maxQueued) {
    // A report for a second ends by itself.
    const isStale = fullUntil - now > (row.state === "waiting" ? 0 : FULL_MS);
    return { queued: undefined, fullUntil: isStale ? now : row.fullUntil, recountAt: Infinity };
  }
  const roomAt = whenLeft(queued - maxQueued + 1);
  if (pace.state === "waiting") {
    const recountAt = countedAt === now ? Infinity : countedAt + RECOUNT_MS;
    return { queued, fullUntil: later(Math.max(pace.at, roomAt), WAKING_MS), recountAt };
  }
  const until = Math.max(now + FULL_MS, later(roomAt, WAKING_MS));
  const isSaid = fullUntil >= until - 0.3 * FULL_MS;
  return { queued: undefined, fullUntil: isSaid ? fullUntil : until, recountAt: Infinity };
}

/** A later time, at most the last that a Date can name. */
const later = (time: number, ms: number): number => Math.min(END_OF_TIME, time + ms);
