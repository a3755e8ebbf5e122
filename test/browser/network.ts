/** A client whose server answers after delays that the test chooses, on the test's fake clock. */
import type { ClockClient } from "../../src/browser/serverClock.js";

/** How long a request takes to the server, and the answer back, in ms. The answer may be an error. */
export interface Delays {
  there: number;
  back: number;
  fails?: boolean;
}

/** Waits `ms`, and 0 ms without a timer: a timeout of 0 ms takes 1 ms. */
async function delay(ms: number): Promise<void> {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}

export class Network {
  private readonly listeners = new Set<() => void>();
  private connectionCount = 1;
  private next = 0;
  /** The number of requests so far. */
  asked = 0;

  /** @param serverTime - the server's clock. */
  constructor(
    private delays: readonly Delays[],
    private readonly serverTime: () => number,
  ) {}

  readonly client: ClockClient = {
    mutation: async () => {
      this.asked++;
      const { there, back, fails } = this.delays[this.next++ % this.delays.length] ?? { there: 0, back: 0 };
      await delay(there);
      const time = Math.floor(this.serverTime());
      await delay(back);
      if (fails) throw new Error("no time");
      return time;
    },
    connectionState: () => ({ connectionCount: this.connectionCount }),
    subscribeToConnectionState: (listener) => {
      this.listeners.add(listener);
      return () => this.listeners.delete(listener);
    },
  };

  reconnect(...delays: Delays[]): void {
    this.delays = delays;
    this.next = 0;
    this.connectionCount++;
    for (const listener of this.listeners) listener();
  }
}
