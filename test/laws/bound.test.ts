/**
 * Law 1, with its terms made precise. Times are whole milliseconds, windows start with the limit's phase, and reserved work counts
 * when it runs. The bounds are the same on several rows.
 * - Token bucket and fixed window: an interval starts at most `capacity + rate * T / period` tokens. If its first work had been
 *   waiting for a reservation, that work stands in for the saved-up capacity. A single job may be larger than the capacity, and it
 *   starts as a whole. Its last token may have come in at any time during the millisecond (or window) in which it starts.
 * - Sliding window: at most `rate` tokens start in any interval of one `period`.
 * test/oracle compares with an exact bucket where tokens come back, configs change or clocks step back.
 */
import type { TokensConfig } from "../support/configs.js";
import { greatest, plus, type Rational, rational } from "../support/rational.js";
import { accrued, arrivingAt, END_OF_WALK } from "./accrual.js";
import { capacityOf, type Step, stepsUpTo } from "./arbitraries.js";
import { expectBounded, type Movement } from "./bounded.js";
import { holds, inEveryWorld, type World } from "./world.js";

interface Start extends Movement {
  readonly waited: boolean;
}

/** Plays the steps, and returns the work that started, in order. */
async function startsOf(world: World, config: TokensConfig, steps: readonly Step[]): Promise<Start[]> {
  const starts: Start[] = [];
  await world.walk(config, steps, async (request, now) => {
    const { ok, retryAt } = await world.consume(request);
    if (ok) starts.push({ at: retryAt ?? now, count: rational(request.count), waited: retryAt !== undefined });
    return retryAt;
  });
  return starts.sort((a, b) => a.at - b.at).filter(({ at }) => at < END_OF_WALK);
}

/** The most that may start from a start until `to`. For a sliding window only a period has a bound. */
function boundFrom(config: TokensConfig, { at, count, waited }: Start, to: number): Rational | undefined {
  if (config.kind === "sliding window") return to < at + config.period ? rational(config.rate) : undefined;
  const capacity = rational(capacityOf(config));
  const first = waited ? greatest(capacity, plus(count, arrivingAt(config, at))) : capacity;
  return plus(first, accrued(config, at, to));
}

inEveryWorld("Law 1, bound: no interval starts more than the limit promises", ({ worlds, subject }) => {
  holds(
    "for any requests, counting reserved work when it runs",
    { runs: 100, least: { started: 100 } },
    [worlds, subject.exact, stepsUpTo(40)],
    async (open, config, steps, seen) => {
      const starts = await startsOf(open(), config, steps);
      seen.started += starts.length;
      expectBounded(config, starts, (first, to) => boundFrom(config, first, to));
    },
  );
});
