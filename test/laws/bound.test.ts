/**
 * Law 1, with its terms made precise. Times are whole milliseconds, windows start with the limit's phase, and reserved work counts
 * when it runs. The bounds are the same on several rows.
 * - Token bucket and fixed window: an interval starts at most `capacity + rate * T / period` tokens. If its first work had been
 *   waiting for a reservation, that work stands in for the saved-up capacity. A single job may be larger than the capacity, and it
 *   starts as a whole. Its last token may have come in at any time during the millisecond (or window) in which it starts.
 * - Sliding window: at most `rate` tokens start in any interval of one `period`.
 * test/model compares with an exact bucket where tokens come back, configs change or clocks step back.
 */
import type { RateLimitConfig } from "convex-rate-limits";
import { expect } from "vitest";
import { greatest, isLess, plus, type Rational, rational, ZERO } from "../model/rational.js";
import { accrued, arrivingAt, END_OF_WALK } from "./accrual.js";
import { capacityOf, type Step, stepsUpTo } from "./arbitraries.js";
import { holds, inEveryWorld, type World } from "./world.js";

interface Start {
  readonly at: number;
  readonly count: number;
  readonly waited: boolean;
}

/** Plays the steps, and returns the work that started, in order. */
async function startsOf(world: World, config: RateLimitConfig, steps: readonly Step[]): Promise<Start[]> {
  const starts: Start[] = [];
  await world.walk(config, steps, async (request, now) => {
    const { ok, retryAt } = await world.consume(request);
    if (ok) starts.push({ at: retryAt ?? now, count: request.count, waited: retryAt !== undefined });
    return retryAt;
  });
  return starts.sort((a, b) => a.at - b.at).filter(({ at }) => at < END_OF_WALK);
}

/** The most that may start from a start until `to`. For a sliding window, both are within one period. */
function boundFrom(config: RateLimitConfig, { at, count, waited }: Start, to: number): Rational {
  if (config.kind === "sliding window") return rational(config.rate);
  const capacity = rational(capacityOf(config));
  const first = waited ? greatest(capacity, plus(rational(count), arrivingAt(config, at))) : capacity;
  return plus(first, accrued(config, at, to));
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
    "for any requests, counting reserved work when it runs",
    { runs: 100, least: { started: 100 } },
    [worlds, subject.exact, stepsUpTo(40)],
    async (open, config, steps, seen) => {
      const starts = await startsOf(open(), config, steps);
      seen.started += starts.length;
      expectBounded(config, starts);
    },
  );
});
