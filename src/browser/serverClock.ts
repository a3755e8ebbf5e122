/**
 * The server's clock, as a browser can know it: a clock that only runs forwards (`performance.now`), and how far the server's
 * time is ahead of it. One for each Convex client, so that all of a page goes by the same time and the server is asked once.
 */
import type { FunctionReference } from "convex/server";

/** `getServerTime` of `exposeRateLimit`: milliseconds since the epoch. */
export type ServerTimeMutation = FunctionReference<"mutation", "public", Record<string, never>, number>;

/** What the clock uses of a `ConvexClient` or a `ConvexReactClient`. */
export interface ClockClient {
  mutation(getServerTime: ServerTimeMutation, args: Record<string, never>): Promise<number>;
  connectionState(): { isWebSocketConnected: boolean; connectionCount: number };
  subscribeToConnectionState(listener: () => void): () => void;
  /** A `ConvexClient` for server rendering, which may not be asked anything. */
  readonly disabled?: boolean;
}

export interface ServerClock {
  /** Whether the server has been asked, and has answered or failed. */
  isKnown(): boolean;
  /** Whole milliseconds since the epoch, rounded down: by the browser's own clock until the server's is known. */
  now: () => number;
  /**
   * Calls back when the clock was corrected. With `getServerTime` the clock is measured: now, after every reconnect, and during
   * waits when the measurement may no longer hold.
   */
  subscribe(listener: () => void, getServerTime?: ServerTimeMutation): () => void;
  /** Calls back at a moment of this clock; a correction moves it, so the caller reads the clock again. */
  wakeAt(moment: number, wake: () => void): () => void;
}

/** Enough that one slow answer does not decide. */
const SAMPLES = 3;
/** A wait compares the clocks this often: `performance.now` and timeouts may stand still while the machine sleeps. */
const COMPARE_MS = 10_000;
/** By this much the browser's two clocks have moved apart: the machine has slept, or its clock was set. */
const SLEPT_MS = 1000;
/** Quartz is wrong by 50 millionths: 30 ms in this time. */
const STALE_MS = 600_000;

function createServerClock(client?: ClockClient): ServerClock {
  /** Server's time minus `performance.now()`. */
  let offsetMs: number | undefined;
  let isKnown = false;
  /** When the latest measurement began, how far the browser's two clocks were apart then, and over which connection it was. */
  let measuredAt = 0;
  let apartMs = 0;
  let connection: number | undefined;
  /** What the clock is measured with. */
  let askServer: (() => Promise<number>) | undefined;
  const listeners = new Set<() => void>();

  const now = () => Math.floor(offsetMs === undefined ? Date.now() : performance.now() + offsetMs);

  const correct = (to: number | undefined) => {
    if (isKnown && to === offsetMs) return;
    isKnown = true;
    offsetMs = to;
    for (const listener of [...listeners]) listener();
  };

  const measure = async () => {
    if (!client || !askServer) return;
    const { isWebSocketConnected, connectionCount } = client.connectionState();
    if (!isWebSocketConnected || connectionCount === connection) return;
    connection = connectionCount;
    const startedAt = (measuredAt = performance.now());
    apartMs = Date.now() - startedAt;
    let shortestMs = Infinity;
    // The server reads its clock between the question and the answer: each sample bounds the offset on both sides.
    let least = -Infinity;
    let most = Infinity;
    let best = offsetMs;
    try {
      for (let sample = 0; sample < SAMPLES; sample++) {
        const askedAt = performance.now();
        const serverTime = await askServer();
        // An answer from before a reconnect or a sleep says nothing about now; another measurement has begun since.
        if (startedAt !== measuredAt) return;
        const answeredAt = performance.now();
        shortestMs = Math.min(shortestMs, answeredAt - askedAt);
        least = Math.max(least, serverTime - answeredAt);
        most = Math.min(most, serverTime - askedAt);
        // Late by at most half of the shortest round trip; within that as late as the samples allow, so as not to be early.
        best = Math.max(least, most - shortestMs / 2);
        // The first answer is better than none, but not than an older measurement.
        if (!isKnown) correct(best);
      }
    } catch (error) {
      console.error(error);
    }
    correct(best);
  };

  return {
    isKnown: () => isKnown,
    now,
    subscribe: (listener, getServerTime) => {
      listeners.add(listener);
      let stopWatching: (() => void) | undefined;
      if (client && getServerTime && !client.disabled) {
        askServer = () => client.mutation(getServerTime, {});
        stopWatching = client.subscribeToConnectionState(() => void measure());
        void measure();
      }
      return () => {
        listeners.delete(listener);
        stopWatching?.();
      };
    },
    wakeAt: (moment, wake) => {
      let timer: ReturnType<typeof setTimeout>;
      const wait = () => {
        const at = performance.now();
        if (at - measuredAt > STALE_MS || Math.abs(Date.now() - at - apartMs) > SLEPT_MS) {
          connection = undefined;
          void measure();
        }
        const leftMs = moment - now();
        timer = setTimeout(leftMs > COMPARE_MS ? wait : wake, Math.min(leftMs, COMPARE_MS));
      };
      wait();
      return () => {
        clearTimeout(timer);
      };
    },
  };
}

const clocks = new WeakMap<object, ServerClock>();

/** The clock of a client; without one the browser's. */
export function serverClockOf(client: ClockClient | undefined): ServerClock {
  const id = client ?? clocks;
  const clock = clocks.get(id) ?? createServerClock(client);
  clocks.set(id, clock);
  return clock;
}
