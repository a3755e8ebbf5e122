/**
 * The platform's figures. Read in the backend's source: permits, waits, retries, reconnections, jobs, write throughput, and the
 * order of snapshot, permit, execution, validation and publication. Assumed: the times of execution, of a read and of a hop.
 */

/** A class of deployment: what it runs and writes at once. */
export interface PlatformClass {
  readonly mutationPermits: number;
  /** Scheduled functions that run at once. */
  readonly jobsAtOnce: number;
  /** What the one writer persists. */
  readonly bytesWrittenPerSecond: number;
}

export const CLASSES = {
  S16: { mutationPermits: 16, jobsAtOnce: 8, bytesWrittenPerSecond: 4 * 2 ** 20 },
  S256: { mutationPermits: 256, jobsAtOnce: 256, bytesWrittenPerSecond: 8 * 2 ** 20 },
} as const satisfies Record<string, PlatformClass>;

export type ClassName = keyof typeof CLASSES;

export const PLATFORM = {
  /** What an attempt takes beside its reads and hops, in ms (lognormal). */
  execution: { median: 8, p99: 40 },
  /** Each read that waits for no other: those of one `Promise.all` count once. */
  readMs: 1,
  /** Each call into a component. */
  hopMs: 1,
  /** From validation until the write is durable, in ms (lognormal). */
  persistence: { median: 4, p99: 12 },
  /** A call that gets no permit for so long fails. */
  permitWaitMs: 5000,
  /** After the first attempt. */
  retries: 4,
  backoff: { firstMs: 100, mostMs: 2000 },
  jobBackoff: { firstMs: 100, mostMs: 60_000 },
  /** The client of a browser whose socket was closed waits this long, half of it less or more, and twice as long each time. */
  reconnection: { firstMs: 1000, mostMs: 16_000 },
  /** The row that a session writes with each mutation. */
  sessionRowBytes: 300,
} as const;

/** The longest wait before the n-th retry (n from 0); the wait itself is uniform below it. */
export function mostBackoffMs({ firstMs, mostMs }: { firstMs: number; mostMs: number }, retry: number): number {
  return Math.min(firstMs * 2 ** retry, mostMs);
}
