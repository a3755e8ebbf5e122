/**
 * A limit whose rate is no short decimal (a third of a token), or too small beside its capacity, cannot be counted exactly. It errs
 * to the safe side only, and by next to nothing. It is compared with an exact bucket, which takes a double as a fraction.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { TokensConfig } from "../support/configs.js";
import { forAnyAsync, runs } from "../support/random.js";
import { parseLimit } from "../../src/engine/kinds/limit.js";
import { after, countIn, inexactConfig, stepsUpTo, T0 } from "./arbitraries.js";
import { underFakeClock, worldIn } from "./world.js";
import { END_OF_TIME } from "../../src/engine/time.js";
import type { RefillingLimit } from "../support/exact/config.js";
import { type Level, refilling } from "../support/exact/refilling.js";
import {
  exactly,
  fraction,
  isLess,
  minus,
  over,
  plus,
  type Rational,
  rational,
  times,
  ZERO,
} from "../support/rational.js";

underFakeClock();

/** The slope is rounded down by four units in the last place, and twice more in products: less than 2^-48 of what arrives. */
const SLOPE_LOSS = fraction(1n, 2n ** 48n);

/** A capacity this close to the next unit counts as it, once: two units in the last place and the rounding of their sum. */
const SNAPPED = fraction(5n, 2n ** 53n);

function exactLimit({ rate, capacity = rate, period, maxReserved, ...others }: TokensConfig): RefillingLimit {
  return {
    ...others,
    rate: exactly(rate),
    capacity: exactly(capacity),
    maxReserved: maxReserved === undefined ? undefined : exactly(maxReserved),
    period: others.kind === "token bucket" ? exactly(period as number) : period,
  } as RefillingLimit;
}

it("a limit that cannot be counted exactly never grants more than the exact one, and lags behind it by at most a unit per write", async () => {
  let granted = 0;
  await forAnyAsync([inexactConfig, stepsUpTo(40)], runs(800), async (config, steps) => {
    const world = worldIn("tables", undefined);
    const limit = exactLimit(config);
    let exact: Level;
    const { unitsPerToken } = parseLimit("limit", config);
    // test/oracle has the limits that the engine counts in fractions of decimals.
    fc.pre(Number.isInteger(Math.log2(unitsPerToken)));
    const unit = over(rational(1), exactly(unitsPerToken));
    const snapped = times(exactly(config.capacity ?? config.rate), SNAPPED);
    let now = T0;
    let retryAt: number | undefined;
    // The capacity itself is rounded down to whole units.
    let mostBehind: Rational = unit;
    for (const { wait, portion, reserve } of steps) {
      now = after(wait, config, now, retryAt);
      if (now >= END_OF_TIME) return;
      world.setClock(now);
      const demand = { count: countIn(config, reserve, portion), reserve };
      const status = await world.consume({ config, ...demand });
      retryAt = status.retryAt;
      const level = refilling.leftAt(limit, exact, now);
      const arrived = minus(level, refilling.leftAt(limit, exact, exact?.ts ?? now));
      const windows = config.kind === "token bucket" ? ZERO : over(arrived, exactly(config.rate));
      // The refill of a window is also a whole number of units.
      const lost = plus(times(arrived, SLOPE_LOSS), times(unit, plus(rational(1), windows)));
      const allowedBehind = plus(mostBehind, lost);
      const left = minus(level, exactly(demand.count));
      if (status.ok) {
        const { answer, after } = refilling.ask(limit, exact, now, demand);
        expect(answer.ok).toBe(true);
        exact = after;
        granted++;
        if (demand.count === 0) continue;
        mostBehind = allowedBehind;
        // Units are powers of two here, so the stored double is the very number of them.
        const { value } = await world.get({ config });
        expect(isLess(plus(left, snapped), exactly(value))).toBe(false);
        expect(isLess(exactly(value), minus(left, mostBehind))).toBe(false);
      } else {
        // Denied although the exact bucket has more than it can be behind by: that would be a loss.
        const floor = reserve ? minus(ZERO, exactly(config.maxReserved ?? 0)) : ZERO;
        expect(isLess(minus(left, allowedBehind), floor)).toBe(true);
        if (status.retryAt === END_OF_TIME) return;
        world.setClock(status.retryAt);
        expect(await world.check({ config, ...demand })).toMatchObject({ ok: true });
      }
    }
  });
  expect(granted).toBeGreaterThan(runs(2000));
});
