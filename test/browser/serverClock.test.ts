/** The server's clock in the browser: how late it may be, and which events must not change it. */
import { HOUR, MINUTE, SECOND } from "convex-rate-limits";
import fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { useClock } from "../support/clock.js";
import { END_OF_TIME } from "../../src/browser/bucket.js";
import { getServerTime, NOW } from "../react/fakeClient.js";
import { type ClockClient, type ServerClock, serverClockOf } from "../../src/browser/serverClock.js";
import { forAnyAsync } from "../support/random.js";

/** How far the server's clock is ahead of this machine's, in ms. */
const AHEAD_MS = 5 * MINUTE;

/** How long this machine has slept, in ms: the server's clock went on meanwhile. */
let sleptMs = 0;
const serverTime = () => NOW + AHEAD_MS + sleptMs + performance.now();

useClock(NOW);
beforeEach(() => {
  sleptMs = 0;
});

/** How long a request takes to the server, and the answer back, in ms. The answer may be an error. */
interface Delays {
  there: number;
  back: number;
  fails?: boolean;
}

/** Waits `ms`, and 0 ms without a timer: a timeout of 0 ms takes 1 ms. */
async function delay(ms: number): Promise<void> {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}

/** A client whose server answers after delays that the test chooses, on the test's fake clock. */
class Network {
  private readonly listeners = new Set<() => void>();
  private connectionCount = 1;
  private next = 0;
  /** The number of requests so far. */
  asked = 0;

  constructor(private delays: readonly Delays[]) {}

  readonly client: ClockClient = {
    mutation: async () => {
      this.asked++;
      const { there, back, fails } = this.delays[this.next++ % this.delays.length] ?? { there: 0, back: 0 };
      await delay(there);
      const time = Math.floor(serverTime());
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

/** How far the clock is ahead of `performance.now`, which is a whole number in these tests. */
const aheadOf = (clock: ServerClock) => clock.now() - performance.now();

/** A clock that asks for the server's time over a network with these delays. `corrections` counts how often the clock jumps. */
function open(...delays: Delays[]) {
  const network = new Network(delays);
  const clock = serverClockOf(network.client);
  const corrections = vi.fn();
  let ahead = aheadOf(clock);
  clock.schedule(() => {
    if (aheadOf(clock) !== ahead) corrections();
    ahead = aheadOf(clock);
    return END_OF_TIME;
  }, getServerTime);
  return { network, clock, corrections };
}

/** The same, with a delay of 20 ms, after the measurement. */
async function openMeasured() {
  const opened = open({ there: 20, back: 0 });
  await pass(1000);
  return opened;
}

/** Calls `wake` once the clock reaches a time, as a store does. */
function wakeAt(clock: ServerClock, time: number, wake: () => void = () => undefined): void {
  clock.schedule(() => {
    if (clock.now() < time) return time;
    wake();
    return END_OF_TIME;
  });
}

/** Sets this machine's clock. No time passes. */
const setClock = (ms: number) => vi.setSystemTime(Date.now() + ms);
/** Lets the machine sleep: timers and `performance.now` stop, and the server's clock goes on. */
const sleep = (ms: number) => {
  sleptMs += ms;
  setClock(ms);
};
const pass = async (ms: number) => await vi.advanceTimersByTimeAsync(ms);

describe("a measurement", () => {
  const delays = fc.record({ there: fc.nat(1000), back: fc.nat(1000) });

  it("takes three samples, is never early, and is late by the quickest way back, for any delays", async () => {
    await forAnyAsync([fc.array(delays, { minLength: 3, maxLength: 3 })], 100, async (samples) => {
      const { network, clock, corrections } = open(...samples);
      await pass(6000);
      const [first = NaN, ...others] = samples.map(({ back }) => back);
      const best = Math.min(first, ...others);
      expect(serverTime() - clock.now()).toBe(best);
      expect(network.asked).toBe(3);
      // The clock uses the first answer at once, and the best one when all have arrived.
      expect(corrections).toHaveBeenCalledTimes(best < first ? 2 : 1);
    });
  });

  it("is not early while only the first answer has arrived, even if its request took long", async () => {
    const { network, clock } = open({ there: 90, back: 4 });
    await pass(94);
    expect(network.asked).toBe(2);
    expect(serverTime() - clock.now()).toBe(4);
    vi.spyOn(performance, "now").mockReturnValue(performance.now() + 0.5);
    expect(serverTime() - clock.now()).toBe(4.5);
  });

  it("is repeated after a reconnect, and replaced only when all samples have arrived", async () => {
    const { network, corrections, clock } = await openMeasured();
    const slow = { there: 100, back: 900 };
    network.reconnect(slow, { there: 10, back: 190 }, slow);
    await pass(2199);
    expect(clock.now()).toBe(serverTime());
    await pass(1);
    expect(network.asked).toBe(6);
    expect(serverTime() - clock.now()).toBe(190);
    expect(corrections).toHaveBeenCalledTimes(2);
  });

  it("is kept if a later measurement fails", async () => {
    const errors = vi.spyOn(console, "error").mockReturnValue();
    const { network, clock } = await openMeasured();
    network.reconnect({ there: 10, back: 190 }, { there: 10, back: 190, fails: true });
    await pass(1000);
    expect(network.asked).toBe(5);
    expect(errors).toHaveBeenCalledOnce();
    expect(clock.now()).toBe(serverTime());
  });

  it("that a reconnect has ended changes nothing, also if it fails later", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const { network, clock } = open({ there: 10, back: 5000, fails: true });
    await pass(100);
    network.reconnect({ there: 20, back: 0 });
    await pass(60);
    expect(clock.now()).toBe(serverTime());
    await pass(5000);
    expect(clock.now()).toBe(serverTime());
  });

  it("of a client that is closed fails once for each try, and the clock stays", async () => {
    const errors = vi.spyOn(console, "error").mockReturnValue();
    const { network, clock } = await openMeasured();
    const closed = vi.spyOn(network.client, "connectionState").mockImplementation(() => {
      throw new Error("closed");
    });
    network.reconnect();
    expect(closed).toHaveBeenCalledOnce();
    expect(errors).toHaveBeenCalledOnce();
    expect(clock.now()).toBe(serverTime());
  });

  it("does not notify a listener that has left", async () => {
    const network = new Network([{ there: 20, back: 0 }]);
    const clock = serverClockOf(network.client);
    const update = vi.fn(() => END_OF_TIME);
    clock.schedule(update, getServerTime)();
    expect(update).toHaveBeenCalledOnce();
    await pass(1000);
    expect(clock.now()).toBe(serverTime());
    expect(update).toHaveBeenCalledOnce();
  });

  it("that follows a failed one is used from its first answer on", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const { network, clock } = open({ there: 10, back: 10, fails: true });
    await pass(100);
    network.reconnect({ there: 20, back: 0 }, { there: 20, back: 3000 });
    await pass(30);
    expect(serverTime() - clock.now()).toBe(0);
  });
});

describe("the clock", () => {
  it.each([-HOUR, HOUR])("does not change if the computer's clock is set by %i ms", async (ms) => {
    const { corrections, clock } = await openMeasured();
    setClock(ms);
    expect(clock.now()).toBe(serverTime());
    const wake = vi.fn();
    wakeAt(clock, clock.now() + SECOND, wake);
    await pass(999);
    expect(wake).not.toHaveBeenCalled();
    await pass(1);
    expect(wake).toHaveBeenCalledOnce();
    expect(clock.now()).toBe(serverTime());
    expect(corrections).toHaveBeenCalledOnce();
  });

  it("is measured again within ten seconds after the machine has slept during a wait", async () => {
    const { network, clock } = await openMeasured();
    wakeAt(clock, clock.now() + HOUR);
    await pass(5 * SECOND);
    sleep(30 * MINUTE);
    expect(serverTime() - clock.now()).toBe(30 * MINUTE);
    await pass(5 * SECOND + 60);
    expect(network.asked).toBe(6);
    expect(clock.now()).toBe(serverTime());
  });

  it("is measured again after a short sleep at the beginning of a wait, also if its clock was set back before", async () => {
    const { clock } = await openMeasured();
    setClock(-HOUR);
    wakeAt(clock, clock.now() + SECOND);
    await pass(60);
    sleep(2 * SECOND);
    wakeAt(clock, clock.now() + SECOND);
    await pass(60);
    expect(clock.now()).toBe(serverTime());
  });

  it("ignores an answer from before a sleep", async () => {
    const slow = { there: 2000, back: 0 };
    const { network, clock } = open({ there: 50, back: 950 }, slow, slow, slow, slow, slow);
    await pass(100);
    sleep(MINUTE);
    wakeAt(clock, clock.now() + HOUR);
    await pass(9000);
    expect(network.asked).toBe(4);
    expect(clock.now()).toBe(serverTime());
  });

  it("is measured every ten minutes of a wait, because clocks drift", async () => {
    const { network, clock } = await openMeasured();
    wakeAt(clock, clock.now() + HOUR);
    await pass(9 * MINUTE);
    expect(network.asked).toBe(3);
    await pass(2 * MINUTE);
    expect(network.asked).toBe(6);
    await pass(39 * MINUTE);
    expect(network.asked).toBeLessThanOrEqual(15);
  });
});
