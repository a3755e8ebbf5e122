/**
 * Windows of the calendar: days, weeks, months and years as the clocks of a place show them.
 *
 * A window's nominal start is a local time. The window starts when the clocks first show that time or a later one. If
 * they skip it, that is when they are put forward; if they show it twice, the first time. A nominal window that no time
 * lies in, such as 30 December 2011 in Samoa, has no number. The others are numbered consecutively, so each next number
 * brings the tokens of one window. Clocks that are put back behind a window's start do not end the window.
 */
import { DAY_MS, END_OF_TIME } from "../time.js";
import type { Run } from "./kind.js";
import { CALENDAR_MS } from "./policy.js";
import { firstDayOf, timeZoneOf } from "./timeZone.js";

export type CalendarPeriod = keyof typeof CALENDAR_MS;

/**
 * Windows of a calendar in a zone, numbered consecutively. Window `n` starts at `startOf(n)` and ends where `n + 1`
 * starts: `startOf(windowAt(now)) <= now < startOf(windowAt(now) + 1)` for every `now` before the end of time.
 */
export interface Calendar {
  /** The number of the window that a time lies in. */
  readonly windowAt: (now: number) => number;
  /** The first millisecond of a window, cut off at the end of time. */
  readonly startOf: (window: number) => number;
}

/** Windows of `period` ms, one of which starts at `start`. @param end - starts are cut off there. */
export function periodic(period: number, start: number, end = END_OF_TIME): Calendar {
  return {
    windowAt: (now) => Math.floor((now - start) / period),
    startOf: (window) => Math.min(end, start + window * period),
  };
}

/**
 * The windows of one calendar. `timeZone` is a zone of `isTimeZone`. `anchor` is a whole number within `ANCHORS`. A
 * year begins with that month, a month on that day (or its last day, if it is shorter), a week on that weekday, a day
 * that many minutes after midnight. The months of "Europe/Berlin" and anchor 31 begin on 31 January and on 29 February
 * 2024: at 2024-01-30T23:00Z and 2024-02-28T23:00Z.
 *
 * @throws RangeError when `Intl` does not know the zone.
 */
export function calendarOf(period: CalendarPeriod, timeZone: string, anchor: number): Calendar {
  const { firstAt, dateLine } = timeZoneOf(timeZone);
  const nominal = nominalWindows(period, anchor);
  // If the zone crossed the date line, all nominal windows that it skipped start at the same time, and only the last
  // has a duration.
  const unnumbered = nominal.windowAt(dateLine.left - 1) + 1;
  const missing = Math.max(0, nominal.windowAt(dateLine.reached) - unnumbered);
  const startOf = (window: number) => firstAt(nominal.startOf(window < unnumbered ? window : window + missing));
  return {
    windowAt(now) {
      const time = Math.min(END_OF_TIME, Math.max(-END_OF_TIME, now));
      // By the clocks of UTC it is this window or one beside it.
      let window = nominal.windowAt(time);
      while (startOf(window) > time) window--;
      while (startOf(window + 1) <= time) window++;
      return window;
    },
    startOf: (window) => Math.min(END_OF_TIME, startOf(window)),
  };
}

/**
 * The windows of the next years, for a client, as runs of equally distant ones. What arrives before the first window is
 * unknown. From one change of the clocks to the next all days are alike, so most windows need not be looked at.
 */
export function listedFrom({ windowAt, startOf }: Calendar, ts: number, averageMs: number): Run[] {
  // A bucket that was never used is full, so a client need not know the windows before this package's first year.
  const FIRST_USE = 1_767_225_600_000;
  // How much of a calendar a snapshot lists: 20 runs of days in a zone that changes its clocks, 60 of months.
  const LISTED_MS = 10 * 366 * DAY_MS;
  // No two changes of one zone's clocks since 1970 are less than six days apart.
  const LEAST_CHANGE_MS = 5 * DAY_MS;
  const stride = Math.max(1, Math.floor(LEAST_CHANGE_MS / averageMs));
  const begin = ts || FIRST_USE;
  const last = windowAt(begin + LISTED_MS);
  const runs: Run[] = [];
  // Lists that begin on different days look at the same windows, which the zone remembers.
  let next = stride * Math.floor(windowAt(begin) / stride);
  while (next <= last) {
    const start = startOf(next);
    const period = startOf(next + 1) - start;
    const goesOn = (count: number) => next + count <= last && startOf(next + count) === start + count * period;
    let count = 1;
    for (const step of [stride, 1]) while (goesOn(count - 1 + step)) count += step;
    // Units arrive a period after the start of a run, and then `count` times in all.
    runs.push(runs.length > 0 ? { start: start - period, period, count } : { start, period, count: count - 1 });
    next += count;
  }
  return runs;
}

/** Windows by the clocks alone: their times are local, and none is cut off. */
function nominalWindows(period: CalendarPeriod, anchor: number): Calendar {
  if (period === "day") return periodic(DAY_MS, anchor * 60_000, Infinity);
  // The first of January 1970 was a Thursday, the fourth day of its week.
  if (period === "week") return periodic(7 * DAY_MS, (anchor - 4) * DAY_MS, Infinity);
  return {
    // A guess, from which calendarOf searches: months differ, and the anchor may be any day. No zone skipped a whole
    // one.
    windowAt: (local) => Math.floor(local / CALENDAR_MS[period]),
    startOf(window) {
      const first = firstDayOf(period === "year" ? 12 * window + anchor - 1 : window);
      const days = period === "year" ? 1 : Math.min(anchor, firstDayOf(window + 1) - first);
      return (first + days - 1) * DAY_MS;
    },
  };
}
