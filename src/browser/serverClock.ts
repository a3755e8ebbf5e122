/**
 * The server's clock, as a browser can know it: a clock that only runs forwards (`performance.now`), and how far the
 * server's time is ahead of it. Each Convex client has one, so a page uses one time and asks the server once.
 *
 * The clock is a bound, not an estimate: the server's time is at least its answer. The middle of a round trip is closer
 * on average, but early when the question took longer than the answer. Then a button leads to a denial.
 */
import type { FunctionReference } from "convex/server";
import { END_OF_TIME } from "./bucket.js";

/** `getServerTime` of `exposeRateLimit`: milliseconds since the epoch. */
export type ServerTimeMutation = FunctionReference<"mutation", "public", Record<string, never>, number>;

/** The part of a `ConvexClient` or a `ConvexReactClient` that the clock uses. */
export interface ClockClient {
  mutation(getServerTime: ServerTimeMutation, args: Record<string, never>): Promise<number>;
  connectionState(): { connectionCount: number };
  subscribeToConnectionState(listener: () => unknown): () => void;
}

export interface ServerClock {
  /** Whole milliseconds since the epoch, rounded down: by the browser's own clock until the server's is known. */
  now: () => number;
  /**
   * Calls `update` now, when `onUpdate` says so, when the clock is corrected, and when `update` asked for it. `update`
   * returns a later time of this clock, or the end of time for never.
   *
   * With `getServerTime` the clock is measured: now, after every reconnect, and during waits when the measurement may
   * have expired.
   */
  schedule: (
    update: () => number,
    getServerTime?: ServerTimeMutation,
    onUpdate?: (listener: () => void) => (() => void) | undefined,
  ) => () => void;
  /** Whether the server has answered or failed. */
  isKnown: () => boolean;
}

function createServerClock(client: ClockClient): ServerClock {
  /** A wait compares the clocks this often: `performance.now` and timeouts may stand still while the machine sleeps. */
  const COMPARE_MS = 10_000;

  /** Server's time minus `performance.now()`; NaN until the server has answered. */
  let offsetMs = NaN;
  let isKnown = false;
  let serverTime: ServerTimeMutation | undefined;
  const runs = new Set<() => void>();

  const now = () => Math.floor(performance.now() + offsetMs) || Date.now();

  const measure = createMeasurement(client, (to = NaN, rest?: number) => {
    // The first answer is better than none, but not than an older measurement. A later failure changes nothing: a
    // closed client throws at once, and runs that measure again would call each other without end.
    if (to ? offsetMs && rest : isKnown) return;
    offsetMs = to;
    isKnown = true;
    for (const run of runs) run();
  });

  return {
    now,
    schedule: (update, getServerTime, onUpdate) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const run = () => {
        clearTimeout(timer);
        wait(update());
      };
      const wait = (time: number) => {
        if (serverTime) void measure(serverTime);
        const restMs = time - now();
        // The update may have ended this run.
        if (runs.has(run) && time < END_OF_TIME) {
          timer = setTimeout(restMs > COMPARE_MS ? wait : run, Math.min(restMs, COMPARE_MS), time);
        }
      };
      const stopUpdates = onUpdate?.(run);
      serverTime = getServerTime ?? serverTime;
      const stopMeasuring = getServerTime && client.subscribeToConnectionState(() => measure(getServerTime));
      runs.add(run);
      run();
      return () => {
        clearTimeout(timer);
        runs.delete(run);
        // The next run of the same limit, for another demand, keeps its result.
        if (stopUpdates) setTimeout(stopUpdates);
        stopMeasuring?.();
      };
    },
    isKnown: () => isKnown,
  };
}

/**
 * Measures the server's clock where that is needed. `correct` gets the offset after each answer, and how many are still
 * to come; no offset if the server fails.
 */
function createMeasurement(client: ClockClient, correct: (offsetMs?: number, rest?: number) => void) {
  /** Enough that one slow answer does not decide. */
  const SAMPLES = 3;
  /** If the browser's two clocks have moved apart by this much, the machine has slept or its clock was set. */
  const SLEPT_MS = 1000;
  /** Quartz is wrong by 50 millionths: 30 ms in this time. */
  const STALE_MS = 600_000;

  /**
   * When the latest measurement began, how far the browser's two clocks were apart then, and over which connection it
   * was.
   */
  let measuredAt = 0;
  let connection = 0;
  let apartMs = 0;

  return async (getServerTime: ServerTimeMutation) => {
    try {
      const { connectionCount } = client.connectionState();
      const startedAt = performance.now();
      const apart = Date.now() - startedAt;
      const isSteady = startedAt - measuredAt <= STALE_MS && Math.abs(apart - apartMs) <= SLEPT_MS;
      if (!connectionCount || (connectionCount === connection && isSteady)) return;
      connection = connectionCount;
      measuredAt = startedAt;
      apartMs = apart;
      let least = -Infinity;
      for (let rest = SAMPLES; rest--;) {
        const answer = await client.mutation(getServerTime, {});
        // An answer from before a reconnect or a sleep says nothing about now; another measurement has begun since.
        if (startedAt !== measuredAt) return;
        // The server read its clock before the answer arrived, so its time is at least the answer. The largest such
        // bound is late by the quickest way back, and never early.
        least = Math.max(least, answer - performance.now());
        correct(least, rest);
      }
    } catch (error) {
      console.error(error);
      correct();
    }
  };
}

const clocks = new WeakMap<ClockClient, ServerClock>();

export function serverClockOf(client: ClockClient): ServerClock {
  const clock = clocks.get(client) ?? createServerClock(client);
  clocks.set(client, clock);
  return clock;
}
