/**
 * The platform's figures. These were read in the backend's source: permits, waits, retries, reconnections, jobs, write throughput,
 * and the order of snapshot, permit, execution, validation and publication. These are assumptions: the times of execution, of a
 * read and of a hop.
 */

/** A class of deployment, by how much it runs and writes at once. */
export interface PlatformClass {
  readonly mutationPermits: number;
  /** Scheduled functions that run at once. */
  readonly jobsAtOnce: number;
  /** The throughput of the one writer. */
  readonly bytesWrittenPerSecond: number;
}

export const CLASSES = {
  S16: { mutationPermits: 16, jobsAtOnce: 8, bytesWrittenPerSecond: 4 * 2 ** 20 },
  S256: { mutationPermits: 256, jobsAtOnce: 256, bytesWrittenPerSecond: 8 * 2 ** 20 },
} as const satisfies Record<string, PlatformClass>;

export type ClassName = keyof typeof CLASSES;

export const PLATFORM = {
  /** The time of an attempt without its reads and hops, in ms (lognormal). */
  execution: { median: 8, p99: 40 },
  /** The time of one read. Reads of one `Promise.all` count once. */
  readMs: 1,
  /** The time of one call into a component. */
  hopMs: 1,
  /** The time from validation until the write is durable, in ms (lognormal). */
  persistence: { median: 4, p99: 12 },
  /** A call that has waited this long for a permit fails. */
  permitWaitMs: 5000,
  /** The most attempts after the first one. */
  retries: 4,
  backoff: { firstMs: 100, mostMs: 2000 },
  jobBackoff: { firstMs: 100, mostMs: 60_000 },
  /**
   * The wait of a browser's client after its socket was closed. It doubles each time up to `mostMs`, and varies by up to half in
   * either direction.
   */
  reconnection: { firstMs: 1000, mostMs: 16_000 },
  /** The size of the row that a browser's session writes with each mutation. */
  sessionRowBytes: 300,
} as const;

/** The longest wait before the n-th retry (n from 0). After a conflict the wait itself is uniform below it. */
export function mostBackoffMs({ firstMs, mostMs }: { firstMs: number; mostMs: number }, retry: number): number {
  return Math.min(firstMs * 2 ** retry, mostMs);
}
