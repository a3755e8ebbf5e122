/**
 * Law 1, with its terms made precise. Moments are whole milliseconds, windows those of the limit's phase, and reserved work
 * counts when it runs. An interval starts at most `capacity + rate * T / period` tokens. Where its first work had been
 * waiting for a reservation, that work stands in for the saved-up capacity: a single job may be larger than the capacity, it
 * starts as a whole, and its last token may have come in at any time during the millisecond (or window) in which it starts.
 * Over shards each may have tokens ready for work that still waits for those of others, so there each counts one such piece of
 * work, beside the capacity; work of up to a shard's capacity that did not wait is held to the plain bound.
 */
import fc from "fast-check";
import type { RateLimitConfig } from "convex-rate-limits";
import { expect, it } from "vitest";
import { MAX_SHARDS, shardCount } from "../../src/engine/sharding/shardCount.js";
import { fraction, greatest, isLess, plus, type Rational, rational, times, ZERO } from "../model/rational.js";
import { capacityOf, perStep, stepAt } from "./accrual.js";
import { after, countIn, exactConfig, type Step, stepsUpTo, T0, wait } from "./arbitraries.js";
import { enough, inEveryWorld, runs, type World } from "./world.js";

interface Start {
  readonly at: number;
  readonly count: number;
  readonly waited: boolean;
}

/** Plays the steps, and says what work started when. */
async function startsOf(world: World, config: RateLimitConfig, steps: readonly Step[]): Promise<Start[]> {
  const starts: Start[] = [];
  let now = T0;
  let retryAt: number | undefined;
  for (const { wait, portion, reserve } of steps) {
    now = after(wait, config, now, retryAt);
    world.setClock(now);
    const count = countIn(config, reserve, portion);
    const status = await world.consume({ config, count, reserve });
    retryAt = status.retryAt;
    if (status.ok) starts.push({ at: retryAt ?? now, count, waited: retryAt !== undefined });
  }
  return starts.sort((a, b) => a.at - b.at);
}

/** The most that may start from the first of some starts on, until `to`. */
function boundFrom(config: RateLimitConfig, { at, count, waited }: Start, ready: Rational, to: number): Rational {
  const saved = plus(rational(capacityOf(config)), ready);
  const first = waited ? greatest(saved, plus(rational(count), perStep(config))) : saved;
  return plus(first, times(perStep(config), fraction(stepAt(config, to) - stepAt(config, at), 1n)));
}

function expectBounded(config: RateLimitConfig, starts: readonly Start[], shards: number): void {
  for (const [i, first] of starts.entries()) {
    let total = ZERO;
    let largest = 0;
    let waiting = ZERO;
    for (const { at, count, waited } of starts.slice(i)) {
      total = plus(total, rational(count));
      if (waited) {
        largest = Math.max(largest, count);
        waiting = plus(waiting, rational(count));
      }
      const inAllShards = times(plus(rational(largest), perStep(config)), rational(shards));
      const ready = shards === 1 ? ZERO : isLess(inAllShards, waiting) ? inAllShards : waiting;
      if (isLess(boundFrom(config, first, ready, at), total)) {
        expect.fail(`${JSON.stringify({ from: first.at, to: at, config, starts })} starts too much`);
      }
    }
  }
}

inEveryWorld("Law 1, bound: any interval T starts at most capacity + rate * T / period tokens", (open) => {
  it("whatever is asked when, and counting reserved work when it runs", async () => {
    let started = 0;
    await fc.assert(
      fc.asyncProperty(exactConfig, stepsUpTo(40), async (config, steps) => {
        const world = open();
        const starts = await startsOf(world, config, steps);
        started += starts.length;
        expectBounded(config, starts, world.whole ? 1 : shardCount({ ...config, shards: MAX_SHARDS }));
      }),
      runs(60),
    );
    expect(started).toBeGreaterThan(enough(100));
  });

  it("a window starts at most max(capacity, rate) when work comes token by token, reserved or not", async () => {
    const whole = fc.record({
      kind: fc.constant("fixed window" as const),
      rate: fc.integer({ min: 1, max: 6 }),
      period: fc.constantFrom(1, 10, 1000),
      capacity: fc.nat({ max: 8 }),
      start: fc.nat({ max: 1000 }),
    });
    const steps = fc.array(fc.record({ wait, reserve: fc.boolean() }), { minLength: 10, maxLength: 40, size: "max" });
    await fc.assert(
      fc.asyncProperty(whole, steps, async (config, steps) => {
        const single = steps.map((step) => ({ ...step, portion: { tokens: 1 } }));
        const perWindow = new Map<bigint, number>();
        for (const { at, count } of await startsOf(open(), config, single)) {
          const window = stepAt(config, at);
          perWindow.set(window, (perWindow.get(window) ?? 0) + count);
        }
        expect(Math.max(0, ...perWindow.values())).toBeLessThanOrEqual(Math.max(config.capacity, config.rate));
      }),
      runs(60),
    );
  });

  it("work that was reserved token by token fills every window and overfills none", async () => {
    const world = open();
    const config = { kind: "fixed window" as const, rate: 3, period: 1000, start: T0 };
    const starts: number[] = [];
    for (let i = 0; i < 9; i++) {
      const status = await world.consume({ config, reserve: true });
      starts.push(status.retryAt ?? T0);
    }
    const expected = [0, 0, 0, 1000, 1000, 1000, 2000, 2000, 2000].map((ms) => T0 + ms);
    if (world.whole) expect(starts).toEqual(expected);
  });
});
