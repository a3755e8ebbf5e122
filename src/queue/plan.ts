/** From what a run of the worker has found to what it writes: the next run, and the worker's row. Pure. */
import { present } from "../wire/present.js";
import type { RunArgs } from "../wire/queue.js";
import { type Count, reportOf } from "./backlog.js";
import { LINGER_MS, type Pace, paceOf } from "./pace.js";
import type { LaterPayment } from "./pay.js";
import type { JobRow, WorkerRow } from "./rows.js";
import { LEASE_MS } from "./worker.js";

/**
 * The number of jobs that a run looks at: the first of a start, and each that may pay for all, as many as keep the
 * transaction short.
 */
export const FIRST_JOBS = 16;
const MOST_JOBS = 256;
/** While the bucket is short, reading jobs that cannot be paid is wasted: a few more than the last run paid. */
const mostWhileShort = (taken: number) => 4 + Math.ceil(1.25 * taken);
/** A waiting worker looks once a day, so that it notices a raised limit and other changes without a report. */
const MOST_SLEEP_MS = 86_400_000;

/** What a run has found and done. */
export interface Findings {
  readonly now: number;
  /** The arrivals up to this commit have been seen. */
  readonly seenTo: bigint | undefined;
  /** The jobs that came; those that were paid or dropped as they were to be paid; all that left. */
  readonly arrived: number;
  readonly taken: number;
  readonly left: number;
  /** The first job that waits, and for what. */
  readonly awaited: (LaterPayment & { readonly job: JobRow }) | undefined;
  /** Whether it took all that it looked at, so that more may wait. */
  readonly hasMore: boolean;
  readonly busyAt: number;
  /** About when so many of the jobs that wait will have left. */
  readonly whenLeft: (jobs: number) => number;
}

interface Known extends Findings {
  readonly row: WorkerRow;
  readonly run: RunArgs;
  readonly terms: string;
  readonly maxQueued: number;
  readonly count: Count;
  /** When the next job expires. */
  readonly expiresAt: number;
}

interface Plan {
  /** The arguments of the next run; undefined if nothing waits. */
  readonly next: RunArgs | undefined;
  readonly nextAt: number;
  /** Whether no run follows before a job can be paid. */
  readonly isSleeping: boolean;
  /** The fields of the worker's row that change. */
  readonly row: Partial<WorkerRow>;
}

export function planOf(known: Known): Plan {
  const { now, row, run, awaited, taken, busyAt, seenTo, terms, count, maxQueued, whenLeft } = known;
  const pace: Pace = paceOf(known);
  const isFull = count.queued >= maxQueued;
  const roomAt = isFull ? whenLeft(count.queued - maxQueued + 1) : now;
  const report = reportOf(count, { now, row, pace, maxQueued, roomAt });
  const isSleeping = pace.kind === "wait";
  const state = pace.kind === "run" ? row.state : isSleeping ? "waiting" : "idle";
  const nextAt = pace.kind === "stop" ? now : Math.min(pace.at, now + MOST_SLEEP_MS, report.recountAt, known.expiresAt);
  const mustRenew = isSleeping || row.runsUntil - now < LEASE_MS / 2;
  const { name, key, plan, generation } = { ...run, plan: row.plan };
  const most = awaited ? mostWhileShort(taken) : MOST_JOBS;
  // Without a bound nobody counts.
  const counted = maxQueued < Infinity ? count : {};
  const next = present({ name, key, plan, generation, seenTo, busyAt, most, ...counted });
  return {
    next: pace.kind === "stop" ? undefined : next,
    nextAt,
    isSleeping,
    row: {
      ...report.row,
      ...(state !== row.state && { state }),
      ...(terms !== row.terms && { terms }),
      // While it runs on, it stays busy (isBusy).
      ...(mustRenew && { runsUntil: LEASE_MS + (pace.kind === "run" ? now - LINGER_MS : nextAt) }),
    },
  };
}
