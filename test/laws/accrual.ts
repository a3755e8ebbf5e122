/** The tokens that a config lets in, counted exactly and apart from the engine. The laws compare with them. */
import type { TokensConfig } from "../support/configs.js";
import type { CalendarPeriod } from "../../src/engine/kinds/calendar.js";
import { startsOn, walk } from "../engine/kinds/naiveCalendar.js";
import { floorOf, fraction, least, over, plus, type Rational, rational, times, ZERO } from "../support/rational.js";
import { capacityOf, T0 } from "./arbitraries.js";
import { paceAt } from "./subjects.js";

/** The number of the millisecond, or of the window, at a time. */
function stepAt(config: TokensConfig, time: number): bigint {
  if (config.kind !== "fixed window") return BigInt(paceAt(config, time));
  if (typeof config.period === "string") return BigInt(calendarStarts(config, time).filter((at) => at <= time).length);
  return floorOf(fraction(BigInt(time) - BigInt(config.start ?? 0), BigInt(config.period)));
}

/** The tokens that arrive after `from`, up to and including `to`. */
export function accrued(config: TokensConfig, from: number, to: number): Rational {
  if (to <= from) return ZERO;
  const rate = rational(config.rate);
  const perStep = config.kind === "fixed window" ? rate : over(rate, rational(config.period));
  return times(perStep, fraction(stepAt(config, to) - stepAt(config, from), 1n));
}

/** The tokens that arrive in the millisecond, or at the start of the window, of a time. */
export function arrivingAt(config: TokensConfig, time: number): Rational {
  return config.kind === "fixed window" ? rational(config.rate) : accrued(config, time - 1, time);
}

/** The tokens of a bucket at a time, from a row that has its last write. */
export function levelOf(config: TokensConfig, { value, ts }: { value: number; ts: number }, now: number): Rational {
  const capacity = rational(capacityOf(config));
  if (config.kind !== "sliding window") return least(capacity, plus(rational(value), accrued(config, ts, now)));
  // The missing tokens were taken at the last write.
  return ts > Math.max(ts, now) - config.period ? least(capacity, rational(value)) : capacity;
}

const DAY = 86_400_000;
/** Scenarios on the calendar end before this. */
export const END_OF_WALK = T0 + 250 * DAY;
export const START_OF_WALK = T0 - 20 * DAY;

const walks = new Map<string, ReturnType<typeof walk>>();
const calendars = new Map<string, number[]>();

/** The starts of the windows around the scenarios. */
function calendarStarts(config: TokensConfig & { kind: "fixed window" }, time: number): number[] {
  const { timeZone = "UTC", anchor } = config;
  const period = config.period as CalendarPeriod;
  if (time < START_OF_WALK || time > END_OF_WALK) throw new Error(`${time} is not on the calendar of the laws`);
  const id = JSON.stringify([timeZone, period, anchor]);
  const steps = walks.get(timeZone) ?? walk(timeZone, START_OF_WALK, END_OF_WALK);
  walks.set(timeZone, steps);
  // A day that has no anchor begins at midnight.
  const starts = calendars.get(id) ?? startsOn(steps, period, anchor ?? (period === "day" ? 0 : 1));
  calendars.set(id, starts);
  return starts;
}
