/**
 * The server's clock, as a browser can know it: a clock that only runs forwards (`performance.now`), and how far the server's
 * time is ahead of it. One for each Convex client, so that all of a page goes by the same time and the server is asked once.
 */
import type { FunctionReference } from "convex/server";
import { END_OF_TIME } from "./bucket.js";

/** `getServerTime` of `exposeRateLimit`: milliseconds since the epoch. */
export type ServerTimeMutation = FunctionReference<"mutation", "public", Record<string, never>, number>;

/** What the clock uses of a `ConvexClient` or a `ConvexReactClient`. */
export interface ClockClient {
  mutation(getServerTime: ServerTimeMutation, args: Record<string, never>): Promise<number>;
  connectionState(): { connectionCount: number };
  subscribeToConnectionState(listener: () => unknown): () => void;
}

export type ServerClock = [
  /** Whole milliseconds since the epoch, rounded down: by the browser's own clock until the server's is known. */
  now: () => number,
  /**
   * Calls `update` now, when `onUpdate` says so, when the clock was corrected, and at the moment that it has returned: a later one of
   * this clock, or the end of time for never.
   *
   * With `getServerTime` the clock is measured: now, after every reconnect, and during waits when the measurement may no longer
   * hold.
   */
  run: (
    update: () => number,
    getServerTime?: ServerTimeMutation,
    onUpdate?: (listener: () => void) => (() => void) | undefined,
  ) => () => void,
  /** Whether the server has been asked, and has answered or failed. */
  isKnown: () => boolean,
];

function createServerClock(client: ClockClient): ServerClock {
  /** Enough that one slow answer does not decide. */
  const SAMPLES = 3;
  /** A wait compares the clocks this often: `performance.now` and timeouts may stand still while the machine sleeps. */
  const COMPARE_MS = 10_000;
  /** By this much the browser's two clocks have moved apart: the machine has slept, or its clock was set. */
  const SLEPT_MS = 1000;
  /** Quartz is wrong by 50 millionths: 30 ms in this time. */
  const STALE_MS = 600_000;

  /** Server's time minus `performance.now()`; NaN until the server has said. */
  let offsetMs = NaN;
  let isKnown = false;
  /** When the latest measurement began, how far the browser's two clocks were apart then, and over which connection it was. */
  let measuredAt = 0;
  let connection = 0;
  let apartMs = 0;
  /** What the clock is measured with. */
  let serverTime: ServerTimeMutation | undefined;
  const runs = new Set<() => void>();

  const now = () => Math.floor(performance.now() + offsetMs) || Date.now();

  const correct = (to: number) => {
    offsetMs = to;
    isKnown = true;
    for (const run of runs) run();
  };

  const measure = async () => {
    try {
      if (!serverTime) return;
      const { connectionCount } = client.connectionState();
      const startedAt = performance.now();
      const apart = Date.now() - startedAt;
      const isSteady = startedAt - measuredAt <= STALE_MS && Math.abs(apart - apartMs) <= SLEPT_MS;
      if (!connectionCount || (connectionCount === connection && isSteady)) return;
      connection = connectionCount;
      measuredAt = startedAt;
      apartMs = apart;
      // The server reads its clock between the question and the answer: each sample bounds the offset on both sides.
      let least = -Infinity;
      let most = Infinity;
      for (let left = SAMPLES; left--;) {
        const askedAt = performance.now();
        const answer = await client.mutation(serverTime, {});
        // An answer from before a reconnect or a sleep says nothing about now; another measurement has begun since.
        if (startedAt !== measuredAt) return;
        least = Math.max(least, answer - performance.now());
        most = Math.min(most, answer - askedAt);
        // The first answer is better than none, but not than an older measurement. The middle is wrong by at most half of the
        // shortest round trip.
        if (!offsetMs || !left) correct((least + most) / 2);
      }
    } catch (error) {
      console.error(error);
      correct(offsetMs);
    }
  };

  return [
    now,
    (update, getServerTime, onUpdate) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      let stopMeasuring: (() => void) | undefined;
      const run = () => {
        clearTimeout(timer);
        wait(update());
      };
      const wait = (moment: number) => {
        void measure();
        const leftMs = moment - now();
        // The update may have ended this run.
        if (moment === END_OF_TIME || !runs.has(run)) return;
        timer = setTimeout(leftMs > COMPARE_MS ? wait : run, Math.min(leftMs, COMPARE_MS), moment);
      };
      const stopUpdates = onUpdate?.(run);
      if (getServerTime) {
        serverTime = getServerTime;
        stopMeasuring = client.subscribeToConnectionState(measure);
      }
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
    () => isKnown,
  ];
}

const clocks = new WeakMap<ClockClient, ServerClock>();

export function serverClockOf(client: ClockClient): ServerClock {
  const clock = clocks.get(client) ?? createServerClock(client);
  clocks.set(client, clock);
  return clock;
}
