/** When a worker looks again, and at how many jobs: pure, so that no rule hides in what reads and writes. */
import type { LaterPayment } from "./pay.js";
import type { WorkerRow } from "./tables.js";

/** Between two runs while jobs keep coming, or there is more to do: 50 a second. A job waits half of it on average. */
const NAP_MS = 20;
/**
 * While the bucket is short, jobs are paid a second before they start. So nobody waits longer if a run pays for those
 * of 200 ms together: five runs a second instead of fifty. If nothing can be paid within 400 ms, the worker looks again
 * after a nap while jobs keep coming.
 */
const BATCH_MS = 200;
const MOST_BATCH_MS = 400;
/**
 * A worker that has seen no arrival for this time looks less often (of 60 jobs a second, one in 400 comes this late),
 */
const CALM_MS = 100;
const CALM_NAP_MS = 50;
/** and after this time it stops: the next caller starts it, which costs that caller a write. */
export const LINGER_MS = 200;

/**
 * The number of jobs that a run looks at: the first of a start, and each that may pay for all, as many as keep the
 * transaction short.
 */
export const FIRST_JOBS = 16;
const MOST_JOBS = 256;

/** While the bucket is short, reading jobs that cannot be paid is wasted: a few more than the last run paid. */
export const mostJobs = (isShort: boolean, taken: number) => (isShort ? 4 + Math.ceil(1.25 * taken) : MOST_JOBS);

interface Findings {
  readonly now: number;
  /** Whether it took all that it looked at, so that more may wait. */
  readonly hasMore: boolean;
  /** Of the first job that waits. */
  readonly awaited: LaterPayment | undefined;
  readonly busyAt: number;
}

/** The state of a worker after a run, and when the next run comes; of an idle one, now: there is none. */
export interface Pace extends Pick<WorkerRow, "state"> {
  readonly at: number;
}

export const paceWithMore = (now: number): Pace => ({ state: "running", at: now + NAP_MS });

export function paceOf({ now, hasMore, awaited, busyAt }: Findings): Pace {
  if (hasMore) return paceWithMore(now);
  if (awaited && awaited.dueAt <= now + MOST_BATCH_MS) {
    // A job that cannot be paid ahead is late from its start time on.
    return { state: "running", at: Math.max(awaited.dueAt, now + (awaited.isAhead ? BATCH_MS : NAP_MS)) };
  }
  const soon = now + (awaited || now < busyAt + CALM_MS ? NAP_MS : CALM_NAP_MS);
  if (now < busyAt + LINGER_MS) return { state: "running", at: soon };
  return awaited ? { state: "waiting", at: awaited.dueAt } : { state: "idle", at: now };
}
