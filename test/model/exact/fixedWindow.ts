/** An exact fixed window's refill: `rate` tokens at the start of each window. */
import { ceilOf, floorOf, fraction, over, type Rational, rational, times } from "../rational.js";
import { type FixedWindow, LAST_MOMENT, ZONES } from "./config.js";

const DAY_MS = 86_400_000;
/** The first Monday of 1970. */
const MONDAY = Date.UTC(1970, 0, 5);

/** Windows are numbered; those of a period in ms from `start` on, those of the calendar by its own count. */
export function windowAt(limit: FixedWindow, moment: number): bigint {
  const { period } = limit;
  if (period === "month") {
    const date = new Date(moment + offsetOf(limit));
    const month = BigInt(date.getUTCFullYear() * 12 + date.getUTCMonth());
    return nominalStart(limit, month) <= moment ? month : month - 1n;
  }
  return floorOf(fraction(BigInt(moment - firstStart(limit)), BigInt(lengthOf(period))));
}

export function startOf(limit: FixedWindow, window: bigint): number {
  return Math.min(LAST_MOMENT, nominalStart(limit, window));
}

function nominalStart(limit: FixedWindow, window: bigint): number {
  const { period, anchor = 1 } = limit;
  if (period !== "month") return firstStart(limit) + Number(window) * lengthOf(period);
  const [year, month] = [Math.floor(Number(window) / 12), Number(window) % 12];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return Date.UTC(year, month, Math.min(anchor, lastDay)) - offsetOf(limit);
}

/** Where window 0 starts, of windows that all have one length. */
function firstStart(limit: FixedWindow): number {
  const { period, start, anchor } = limit;
  if (period === "day") return (anchor ?? 0) * 60_000 - offsetOf(limit);
  if (period === "week") return MONDAY + ((anchor ?? 1) - 1) * DAY_MS - offsetOf(limit);
  if (start === undefined) throw new Error("the start of the windows is not known");
  return start;
}

function lengthOf(period: number | "day" | "week" | "month"): number {
  if (period === "month") throw new Error("months differ in length");
  return period === "day" ? DAY_MS : period === "week" ? 7 * DAY_MS : period;
}

function offsetOf({ timeZone = "UTC" }: FixedWindow): number {
  return ZONES[timeZone];
}

/** The tokens that arrive after `from`, up to and including `to`. */
export function gained(limit: FixedWindow, from: number, to: number): Rational {
  return times(rational(limit.rate), fraction(windowAt(limit, to) - windowAt(limit, from), 1n));
}

/** The first millisecond by which so many tokens have arrived after `from`. */
export function whenGained(limit: FixedWindow, from: number, tokens: Rational): number {
  return startOf(limit, windowAt(limit, from) + ceilOf(over(tokens, rational(limit.rate))));
}
