/** Fixed window: `refill` units arrive at the start of each window and are saved up to the capacity. */
import type { FixedWindowConfig } from "../../configs.js";
import { type Field, numberField, required } from "../fields.js";
import { fieldError } from "../misuse.js";
import { hashedStart } from "../phase.js";
import { levelsOf } from "../sharding/levels.js";
import { END_OF_TIME } from "../time.js";
import { anchorRange, type Calendar, calendarOf, type CalendarPeriod, runsOf } from "./calendar.js";
import { DAY_MS, firstDayOf } from "./civil.js";
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

/** A month is the twelfth part of a year of 365.2425 days. */
const CALENDAR_MS: Readonly<Record<CalendarPeriod, number>> = {
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: (365.2425 / 12) * DAY_MS,
};

/** A bucket that was never used is full, so a client need not know the windows before this package's first year. */
const FIRST_USE = firstDayOf(12 * (2026 - 1970)) * DAY_MS;
/** So much of a calendar a snapshot lists: 20 runs of days in a zone that changes its clocks, 60 of months. */
const LISTED_MS = 10 * 366 * DAY_MS;

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
    const start = windows.startOf(0);
    return typeof config.period === "string" ? config : ({ ...config, start } as FixedWindowConfig);
  },
  arrivals({ refill, windows, averageMs, config }) {
    const { period, timeZone } = config as FixedWindowConfig;
    // The days and weeks of UTC have one length.
    const isEven = typeof period === "number" || (timeZone === "UTC" && period !== "month");
    return {
      refill,
      runsFrom: (ts) => {
        if (isEven) return [{ start: windows.startOf(windows.windowAt(0)), period: averageMs }];
        const begin = ts || FIRST_USE;
        return runsOf(windows, begin, begin + LISTED_MS, averageMs);
      },
    };
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
  // What is above the refill is saved up.
  lapses: ({ capacity, refill }) => (capacity <= refill ? "together" : undefined),
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
