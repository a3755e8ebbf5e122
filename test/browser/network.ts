/** A client whose server answers after delays that the test chooses, in time that the test lets pass. */
import { vi } from "vitest";
import { getServerTime } from "../react/fakeClient.js";
import { END_OF_TIME } from "../../src/browser/bucket.js";
import { type ClockClient, type ServerClock, serverClockOf } from "../../src/browser/serverClock.js";

/** Milliseconds of a question's way to the server, and of the answer's way back. */
export interface Delays {
  there: number;
  back: number;
}

/** No network is slower in these tests. */
const LONGEST_MS = 10_000;

/** Waits by a clock as a store does. */
export function wakeAt(clock: ServerClock, moment: number, wake: () => void): void {
  clock.schedule(() => {
    if (clock.now() < moment) return moment;
    wake();
    return END_OF_TIME;
  });
}

/** In these tests `performance.now` is whole. */
function aheadOf(clock: ServerClock): number {
  return clock.now() - performance.now();
}

/** A timeout of 0 ms takes one. */
async function delay(ms: number): Promise<void> {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}

export class Network {
  private readonly listeners = new Set<() => void>();
  private connectionCount = 1;
  private isWebSocketConnected = true;
  private next = 0;
  /** Questions that were asked. */
  asked = 0;
  /** So many questions are answered, the others with an error. */
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

  /** The clock, once it was measured; `onCorrection` is called when it has jumped. */
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
