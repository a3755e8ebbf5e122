/** What a config lets in, counted exactly and apart from the engine: the measure of the laws. */
import type { RateLimitConfig } from "convex-rate-limits";
import type { CalendarPeriod } from "../../src/engine/kinds/calendar.js";
import { startsOn, walk } from "../engine/kinds/naiveCalendar.js";
import { floorOf, fraction, least, over, plus, type Rational, rational, times } from "../model/rational.js";
import { capacityOf } from "./capacity.js";
import { T0 } from "./arbitraries.js";
import { paceAt } from "./subjects.js";

/** The tokens of one step: of a millisecond, or of a window. */
export function perStep({ kind, rate, period }: RateLimitConfig): Rational {
  if (kind === "fixed window" || kind === "sliding window") return rational(rate);
  return over(rational(rate), rational(period));
}

/** Which millisecond, or which window, a moment lies in. */
export function stepAt(config: RateLimitConfig, moment: number): bigint {
  if (config.kind !== "fixed window") return BigInt(paceAt(config, moment));
  if (typeof config.period === "string")
    return BigInt(calendarStarts(config, moment).filter((at) => at <= moment).length);
  return floorOf(fraction(BigInt(moment) - BigInt(config.start ?? 0), BigInt(config.period)));
}

/** The tokens that arrive in the millisecond, or at the start of the window, of a moment. */
export function arrivingAt(config: RateLimitConfig, moment: number): Rational {
  if (config.kind === "fixed window") return perStep(config);
  return times(perStep(config), fraction(stepAt(config, moment) - stepAt(config, moment - 1), 1n));
}

/** The tokens that arrive after `from`, up to and including `to`. */
export function accrued(config: RateLimitConfig, from: number, to: number): Rational {
  const steps = to <= from ? 0n : stepAt(config, to) - stepAt(config, from);
  return times(perStep(config), fraction(steps, 1n));
}

/** What a bucket holds at a moment, of which a row says what it held at its last write. */
export function levelOf(config: RateLimitConfig, { value, ts }: { value: number; ts: number }, now: number): Rational {
  const capacity = rational(capacityOf(config));
  if (config.kind !== "sliding window") return least(capacity, plus(rational(value), accrued(config, ts, now)));
  // What is missing was taken at the last write.
  return ts > Math.max(ts, now) - config.period ? least(capacity, rational(value)) : capacity;
}

const DAY = 86_400_000;
/** Scenarios on the calendar end before this. */
export const END_OF_WALK = T0 + 250 * DAY;
export const START_OF_WALK = T0 - 20 * DAY;

const walks = new Map<string, ReturnType<typeof walk>>();
const calendars = new Map<string, number[]>();

/** The starts of the windows around the scenarios. */
function calendarStarts(config: RateLimitConfig & { kind: "fixed window" }, moment: number): number[] {
  const { timeZone = "UTC", anchor } = config;
  const period = config.period as CalendarPeriod;
  if (moment < START_OF_WALK || moment > END_OF_WALK) throw new Error(`${moment} is not on the calendar of the laws`);
  const id = JSON.stringify([timeZone, period, anchor]);
  const steps = walks.get(timeZone) ?? walk(timeZone, START_OF_WALK, END_OF_WALK);
  walks.set(timeZone, steps);
  // A day that has no anchor begins at midnight.
  const starts = calendars.get(id) ?? startsOn(steps, period, anchor ?? (period === "day" ? 0 : 1));
  calendars.set(id, starts);
  return starts;
}
