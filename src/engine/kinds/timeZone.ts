/**
 * Time zones: what `Intl` knows about the clocks of a place. A local time is what the clocks show, in milliseconds, as
 * if it were UTC. Before 1970 a zone keeps the offset that it had when 1970 began: no limit counts there.
 */
import { DAY_MS, END_OF_TIME, firstTime } from "../time.js";

interface TimeZone {
  /** The first time at which the clocks show `local` or later; the day after, if they never show it. */
  readonly firstAt: (local: number) => number;
  /**
   * The local times at which the zone left one side of the date line and came out on the other: the times between them
   * never existed. Both are the same in a zone that stayed on its side.
   */
  readonly dateLine: { readonly left: number; readonly reached: number };
}

/** @throws RangeError when `Intl` does not know the name. */
export function timeZoneOf(name: string): TimeZone {
  return remember(zones, name, readTimeZone);
}

const zones = new Map<string, TimeZone>();

function readTimeZone(name: string): TimeZone {
  // The default. `Intl` takes longer to make than all else in a call.
  const offsetAt = name === "UTC" ? () => 0 : offsets(name);
  const find = (local: number) => {
    // No zone is a day away from UTC, and no two changes of one zone's clocks since 1970 are less than six days apart.
    const before = offsetAt(local - DAY_MS);
    if (offsetAt(local - before) === before) return local - before;
    const after = offsetAt(local + DAY_MS);
    // The change is over by then, or `local` is skipped and the change is the next one.
    return firstSecond(local - after, (time) => offsetAt(time) === after);
  };
  const starts = new Map<number, number>();
  // Five zones have crossed the date line since 1970, all of them westwards and once: their clocks went forward by a
  // day.
  const hasCrossed = (time: number) => offsetAt(time) - offsetAt(0) > DAY_MS / 2;
  const crossing = hasCrossed(END_OF_TIME) ? firstSecond(0, hasCrossed) : 0;
  return {
    firstAt: (local) => remember(starts, local, find),
    dateLine: { left: crossing + offsetAt(crossing - 1000), reached: crossing + offsetAt(crossing) },
  };
}

/** Clocks change on whole seconds. */
function firstSecond(from: number, holds: (time: number) => boolean): number {
  return 1000 * firstTime(from / 1000, (second) => holds(1000 * second));
}

/** How far the clocks of a zone are ahead of UTC at a whole second, in milliseconds. */
function offsets(timeZone: string): (time: number) => number {
  const clock = new Intl.DateTimeFormat("en-US", {
    timeZone,
    calendar: "gregory",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  return (time) => {
    // Not 0: the `Intl` of faked timers, such as Vitest's, takes 0 for a missing argument and shows the present.
    const second = Math.min(END_OF_TIME, Math.max(1000, time));
    // "3/31/2024, 03:00:00". `formatToParts` says the same in three times the time.
    const [month, day, year, hours, minutes, seconds] = clock.format(second).split(/\D+/).map(Number) as ClockFace;
    const days = firstDayOf(12 * (year - 1970) + month - 1) + day - 1;
    return days * DAY_MS + ((hours * 60 + minutes) * 60 + seconds) * 1000 - second;
  };
}

type ClockFace = [month: number, day: number, year: number, hours: number, minutes: number, seconds: number];

/** The day on which a month of the Gregorian calendar begins; month 0 is January 1970, day 0 its first day. */
export function firstDayOf(month: number): number {
  // From the first of March of the year 0 to the first of January 1970.
  const MONTHS_TO_1970 = 12 * 1970 - 2;
  const DAYS_TO_1970 = 719_468;
  // A year that begins in March ends with its leap day, so the leap days before a month follow from the year alone.
  const fromMarch = month + MONTHS_TO_1970;
  const year = Math.floor(fromMarch / 12);
  const leapDays = Math.floor(year / 4) - Math.floor(year / 100) + Math.floor(year / 400);
  // From March on the lengths repeat 31, 30, 31, 30, 31: 153 days in five months.
  const daysInYear = Math.floor((153 * (fromMarch - 12 * year) + 2) / 5);
  return 365 * year + leapDays + daysInYear - DAYS_TO_1970;
}

/** The result of a pure function. All results are forgotten when there are many, so that memory stays bounded. */
function remember<Argument, Result>(
  results: Map<Argument, Result>,
  argument: Argument,
  compute: (argument: Argument) => Result,
): Result {
  // More than there are zones, and than the days of two years.
  const MOST_REMEMBERED = 1000;
  const known = results.get(argument);
  if (known !== undefined) return known;
  const result = compute(argument);
  if (results.size >= MOST_REMEMBERED) results.clear();
  results.set(argument, result);
  return result;
}
