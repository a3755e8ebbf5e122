/**
 * Law 1, with its terms made precise. Moments are whole milliseconds, windows those of the limit's phase, and reserved work
 * counts when it runs.
 * - Token bucket and fixed window: an interval starts at most `capacity + rate * T / period` tokens. If its first work had been
 *   waiting for a reservation, that work stands in for the saved-up capacity. A single job may be larger than the capacity, and it starts
 *   as a whole. Its last token may have come in at any time during the millisecond (or window) in which it starts.
 * - Sliding window: at most `rate` tokens start in any `period`, wherever it begins.
 * On several rows the bounds are the same. With refunds, cancelled jobs, charges, changes of the config and clocks that step back
 * the bound is an exact bucket (test/model): nothing starts that it cannot pay.
 */
import type { RateLimitConfig } from "convex-rate-limits";
import { expect } from "vitest";
import { fraction, greatest, isLess, plus, type Rational, rational, times, ZERO } from "../model/rational.js";
import { arrivingAt, END_OF_WALK, perStep, stepAt } from "./accrual.js";
import { capacityOf } from "./capacity.js";
import { type Step, stepsUpTo } from "./arbitraries.js";
import { holds, inEveryWorld, type World } from "./world.js";

interface Start {
  readonly at: number;
  readonly count: number;
  readonly waited: boolean;
}

/** Plays the steps, and says what work started when. */
async function startsOf(world: World, config: RateLimitConfig, steps: readonly Step[]): Promise<Start[]> {
  const starts: Start[] = [];
  await world.walk(config, steps, async (request, now) => {
    const { ok, retryAt } = await world.consume(request);
    if (ok) starts.push({ at: retryAt ?? now, count: request.count, waited: retryAt !== undefined });
    return retryAt;
  });
  return starts.sort((a, b) => a.at - b.at).filter(({ at }) => at < END_OF_WALK);
}

/** The most that may start from the first of some starts on, until `to`; of a sliding window, within a period of it. */
function boundFrom(config: RateLimitConfig, { at, count, waited }: Start, to: number): Rational {
  if (config.kind === "sliding window") return rational(config.rate);
  const capacity = rational(capacityOf(config));
  const first = waited ? greatest(capacity, plus(rational(count), arrivingAt(config, at))) : capacity;
  return plus(first, times(perStep(config), fraction(stepAt(config, to) - stepAt(config, at), 1n)));
}

function expectBounded(config: RateLimitConfig, starts: readonly Start[]): void {
  const longest = config.kind === "sliding window" ? config.period : Infinity;
  for (const [i, first] of starts.entries()) {
    let total = ZERO;
    for (const { at, count } of starts.slice(i)) {
      if (at >= first.at + longest) break;
      total = plus(total, rational(count));
      if (isLess(boundFrom(config, first, at), total)) {
        expect.fail(`${JSON.stringify({ from: first.at, to: at, config, starts })} starts too much`);
      }
    }
  }
}

inEveryWorld("Law 1, bound: no interval starts more than the limit promises", ({ worlds, subject }) => {
  holds(
    "whatever is asked when, and counting reserved work when it runs",
    { runs: 100, least: { started: 100 } },
    [worlds, subject.exact, stepsUpTo(40)],
    async (open, config, steps, seen) => {
      const starts = await startsOf(open(), config, steps);
      seen.started += starts.length;
      expectBounded(config, starts);
    },
  );
});
