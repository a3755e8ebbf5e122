/** A client whose server answers after delays that the test chooses, on the test's fake clock. */
import { vi } from "vitest";
import { getServerTime } from "../react/fakeClient.js";
import { END_OF_TIME } from "../../src/browser/bucket.js";
import { type ClockClient, type ServerClock, serverClockOf } from "../../src/browser/serverClock.js";

/** How long a request takes to the server, and the answer back, in ms. */
export interface Delays {
  there: number;
  back: number;
}

/** Longer than any round trip in these tests, in ms. */
const LONGEST_MS = 10_000;

/** Calls `wake` once the clock reaches a time, as a store does. */
export function wakeAt(clock: ServerClock, time: number, wake: () => void): void {
  clock.schedule(() => {
    if (clock.now() < time) return time;
    wake();
    return END_OF_TIME;
  });
}

/** How far the clock is ahead of `performance.now`, which is a whole number in these tests. */
function aheadOf(clock: ServerClock): number {
  return clock.now() - performance.now();
}

/** Waits `ms`, and 0 ms without a timer: a timeout of 0 ms takes 1 ms. */
async function delay(ms: number): Promise<void> {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}

export class Network {
  private readonly listeners = new Set<() => void>();
  private connectionCount = 1;
  private isWebSocketConnected = true;
  private next = 0;
  /** The number of requests so far. */
  asked = 0;
  /** The index of the first request that fails, as do all after it. */
  failsFrom = Infinity;

  /** @param serverTime - the server's clock. */
  constructor(
    private delays: readonly Delays[],
    private readonly serverTime: () => number,
  ) {}

  readonly client: ClockClient = {
    mutation: async () => {
      const { there, back } = this.delays[this.next++ % this.delays.length] ?? { there: 0, back: 0 };
      const fails = this.asked++ >= this.failsFrom;
      await delay(there);
      const time = Math.floor(this.serverTime());
      await delay(back);
      if (fails) throw new Error("no time");
      return time;
    },
    connectionState: () => ({
      isWebSocketConnected: this.isWebSocketConnected,
      connectionCount: this.connectionCount,
    }),
    subscribeToConnectionState: (listener) => {
      this.listeners.add(listener);
      return () => this.listeners.delete(listener);
    },
  };

  get watchers(): number {
    return this.listeners.size;
  }

  /** The clock, once it has been measured. `onCorrection` is called when it jumps. */
  async measured(onCorrection: () => void = () => undefined): Promise<ServerClock> {
    const clock = serverClockOf(this.client);
    let ahead = aheadOf(clock);
    clock.schedule(() => {
      if (aheadOf(clock) !== ahead) onCorrection();
      ahead = aheadOf(clock);
      return END_OF_TIME;
    }, getServerTime);
    await vi.advanceTimersByTimeAsync(LONGEST_MS);
    return clock;
  }

  reconnect(delays = this.delays): void {
    this.delays = delays;
    this.next = 0;
    this.connectionCount++;
    for (const listener of this.listeners) listener();
  }
}
