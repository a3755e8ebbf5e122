/** Fixed window: `refill` units arrive at the start of each window and are saved up to the capacity. */
import type { FixedWindowConfig } from "../../configs.js";
import { type Field, numberField, required } from "../fields.js";
import { fieldError } from "../misuse.js";
import { hashedStart } from "../phase.js";
import { levelsOf } from "../sharding/levels.js";
import { END_OF_TIME } from "../time.js";
import { anchorRange, type Calendar, calendarOf, type CalendarPeriod } from "./calendar.js";
import type { Kind, Limit } from "./kind.js";
import { refilling } from "./refilling.js";
import { shareOfUnits } from "./shares.js";
import { lowered } from "../units.js";
import { countIn, MAX_PERIOD_MS, rateField, savingFields, stepsPerDay } from "./terms.js";
import { isTimeZone } from "./timeZone.js";

interface FixedWindowLimit extends Limit {
  /** Units that arrive with each window. */
  readonly refill: number;
  readonly windows: Calendar;
  /** The length of a window, on average. */
  readonly averageMs: number;
}

const DAY_MS = 86_400_000;
/** A month is the twelfth part of a year of 365.2425 days. */
const CALENDAR_MS: Readonly<Record<CalendarPeriod, number>> = {
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: (365.2425 / 12) * DAY_MS,
};

/** The windows of a calendar that a snapshot lists, after those that fill the bucket: two months of days. */
const LISTED_WINDOWS = 64;
/** A debt of more windows than this is shown as without an end. */
const MOST_LISTED = 1000;

/** Windows of `period` ms, one of which starts at `start`. */
function periodic(period: number, start: number): Calendar {
  return {
    windowAt: (now) => Math.floor((now - start) / period),
    startOf: (window) => Math.min(END_OF_TIME, start + window * period),
  };
}

/** The units that arrive after `from`, up to and including `to`; none when the clock stepped back. */
function accrued({ windows, refill }: FixedWindowLimit, from: number, to: number): number {
  return to <= from ? 0 : (windows.windowAt(to) - windows.windowAt(from)) * refill;
}

/** The first millisecond, from `from` on, by which `units` have arrived. */
function whenAccrued({ windows, refill }: FixedWindowLimit, from: number, units: number): number {
  if (units <= 0) return from;
  // A share without refill never fills: so many windows end after the end of time.
  const count = Math.min(1e15, Math.ceil(units / refill));
  return windows.startOf(windows.windowAt(from) + count);
}

const wholeMs = numberField({ above: 0, atMost: MAX_PERIOD_MS, isWhole: true, unit: "milliseconds" });

const periodField: Field = {
  permitted: `${wholeMs.permitted}, or "day", "week" or "month"`,
  holds: (value) => wholeMs.holds(value) || (typeof value === "string" && Object.hasOwn(CALENDAR_MS, value)),
};

export const fixedWindow: Kind<FixedWindowLimit> = {
  ...refilling({ accrued, whenAccrued }),
  name: "fixed window",
  fields: {
    kind: { permitted: '"fixed window"', holds: () => true },
    rate: rateField,
    period: required(periodField),
    ...savingFields,
    // Within ±MAX_PERIOD_MS the distance from any real time to `start` is exact.
    start: numberField({ atLeast: -MAX_PERIOD_MS, atMost: MAX_PERIOD_MS, isWhole: true, unit: "milliseconds" }),
    timeZone: { permitted: 'the IANA name of a time zone, such as "Europe/Berlin"', holds: isTimeZone },
    anchor: { permitted: "a whole number", holds: Number.isInteger },
  },
  parse({ name, config: given }) {
    const config = given as FixedWindowConfig;
    const { rate, period, capacity = rate, maxReserved, shards } = config;
    const isCalendar = typeof period === "string";
    const averageMs = isCalendar ? CALENDAR_MS[period] : period;
    checkTogether(name, config);
    const timeZone = config.timeZone ?? "UTC";
    const anchor = config.anchor ?? (isCalendar ? anchorRange(period)[0] : undefined);
    const counted = countIn(name, { rate, per: "window", stepsPerDay: stepsPerDay(averageMs), capacity, maxReserved });
    // A window brings whole tokens to each shard, so each must get some.
    const most = Math.min(capacity, rate);
    return {
      name,
      kind: fixedWindow,
      config: { ...config, capacity, ...(isCalendar && { timeZone, anchor }) },
      ...counted,
      averageMs,
      windows: isCalendar
        ? calendarOf(period, timeZone, anchor)
        : periodic(period, config.start ?? hashedStart(name, undefined, period)),
      levels: levelsOf({ shards, most, perSecond: (rate / averageMs) * 1000, capacity }),
    };
  },
  /** Where the config does not say when windows start, a hash of name and key does. */
  forKey(limit, key) {
    const { period, start } = limit.config as FixedWindowConfig;
    if (typeof period === "string" || start !== undefined) return limit;
    return { ...limit, windows: periodic(period, hashedStart(limit.name, key, period)) };
  },
  shownConfig({ config, windows }) {
    const { period, start } = config as FixedWindowConfig;
    return typeof period === "string" || start !== undefined
      ? config
      : ({ ...config, start: windows.startOf(0) } as FixedWindowConfig);
  },
  arrivals({ refill, windows, config }, ts, missing) {
    const { period } = config as FixedWindowConfig;
    if (typeof period === "number") return { refill, period, start: windows.startOf(0) };
    const next = windows.windowAt(ts) + 1;
    const length = Math.min(MOST_LISTED, LISTED_WINDOWS + Math.ceil(Math.max(0, missing) / refill));
    return { refill, starts: Array.from({ length }, (_, i) => windows.startOf(next + i)) };
  },
  entries: () => undefined,
  shareOf(limit, share) {
    const part = (units: number) => shareOfUnits(units, limit.unitsPerToken, share);
    return { ...limit, capacity: part(limit.capacity), refill: part(limit.refill) };
  },
  quota: {
    windowMs({ config, windows }, now) {
      const { rate, capacity = rate } = config as FixedWindowConfig;
      const count = capacity === 0 ? 1 : Math.ceil(lowered(capacity / rate));
      const window = windows.windowAt(now);
      return windows.startOf(window + count) - windows.startOf(window);
    },
    renewedAt({ config, windows }, { remaining, resetAt, retryAt = 0 }, spent, count) {
      // A window brings `rate` tokens, which may be less than a request takes.
      const further = Math.ceil(lowered((count - (remaining - spent)) / config.rate)) - 1;
      const next = Math.max(resetAt, retryAt);
      return further <= 0 ? next : windows.startOf(windows.windowAt(next) + further);
    },
    restoredInMs: () => 0,
  },
  unitsPerMs: ({ refill, averageMs }) => refill / averageMs,
  whenReset: ({ windows }, { ts }, now) => windows.startOf(windows.windowAt(Math.max(ts, now)) + 1),
};

/** @throws when fields of a period in milliseconds stand beside a calendar's, or the anchor lies outside its period. */
function checkTogether(name: string, config: FixedWindowConfig): void {
  const { period, start, timeZone, anchor } = config;
  if (typeof period !== "string") {
    const [field, value] = timeZone === undefined ? ["anchor", anchor] : ["timeZone", timeZone];
    if (value !== undefined) throw fieldError(name, field, 'left out unless period is "day", "week" or "month"', value);
    return;
  }
  if (start !== undefined) throw fieldError(name, "start", `left out when period is "${period}": give anchor`, start);
  const [least, most] = anchorRange(period);
  if (anchor !== undefined && !(anchor >= least && anchor <= most)) {
    throw fieldError(name, "anchor", `a whole number from ${least} to ${most} (period is "${period}")`, anchor);
  }
}
