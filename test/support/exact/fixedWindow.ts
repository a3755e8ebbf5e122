/** An exact fixed window's refill: `rate` tokens at the start of each window. */
import { ceilOf, floorOf, fraction, minus, over, plus, type Rational, rational, times } from "../rational.js";
import { type Amount, type FixedWindow as AnyWindow, LAST_MOMENT, ZONES } from "./config.js";

type FixedWindow = AnyWindow<Amount>;

const DAY_MS = 86_400_000;
/** The first Monday of 1970. */
const MONDAY = Date.UTC(1970, 0, 5);

/** Windows are numbered; those of a period in ms from `start` on, those of the calendar by its own count. */
export function windowAt(limit: FixedWindow, time: number): bigint {
  const { period } = limit;
  if (period === "month") {
    const date = new Date(time + offsetOf(limit));
    const month = BigInt(date.getUTCFullYear() * 12 + date.getUTCMonth());
    return nominalStart(limit, month) <= time ? month : month - 1n;
  }
  return floorOf(fraction(BigInt(time - firstStart(limit)), BigInt(lengthOf(period))));
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

/** The start of window 0, if all windows have one length. */
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

/** The tokens that arrive after `from`, up to and including `to`. @param since - when the window before began, if that is known. */
export function gained(limit: FixedWindow, from: number, to: number, since?: number): Rational {
  const windows = windowAt(limit, to) - windowAt(limit, from);
  if (windows <= 0n) return rational(0);
  return minus(times(rational(limit.rate), fraction(windows, 1n)), lacking(limit, from, since));
}

/** The tokens that the first window after `from` does not bring. It brings whole tokens for the time since the last start. */
function lacking(limit: FixedWindow, from: number, since = -Infinity): Rational {
  const current = windowAt(limit, from);
  const [start, next] = [startOf(limit, current), startOf(limit, current + 1n)];
  if (since <= start) return rational(0);
  const brought = floorOf(times(rational(limit.rate), fraction(BigInt(next - since), BigInt(next - start))));
  return minus(rational(limit.rate), fraction(brought, 1n));
}

/** The first millisecond by which `tokens` have arrived after `from`. */
export function whenGained(limit: FixedWindow, from: number, tokens: Rational, since?: number): number {
  const windows = ceilOf(over(plus(tokens, lacking(limit, from, since)), rational(limit.rate)));
  return startOf(limit, windowAt(limit, from) + (windows < 1n ? 1n : windows));
}
