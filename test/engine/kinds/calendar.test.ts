import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { calendarOf, type CalendarPeriod, listedFrom } from "../../../src/engine/kinds/calendar.js";
import { ANCHORS } from "../../../src/engine/kinds/fields.js";
import { forAny, runs } from "../../support/random.js";
import listed from "./calendarCases.json";
import { startsOn, walk } from "./naiveCalendar.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const END_OF_TIME = 8.64e15;

/** The first start, and the minutes from each start to the next. */
type Case = [timeZone: string, period: CalendarPeriod, anchor: number, about: string, first: string, minutes: number[]];
const cases = (listed as Case[]).map(([timeZone, period, anchor, about, first, minutes]) => {
  let start = Date.parse(first);
  const starts = [start, ...minutes.map((each) => (start += each * 60_000))];
  return { timeZone, period, anchor, about, starts };
});

const periods = fc.constantFrom<CalendarPeriod>("day", "week", "month", "year");
const zones = fc.constantFrom("UTC", ...Intl.supportedValuesOf("timeZone"));
/** Zones whose clocks change at midnight, by less or more than an hour, by seconds, or across the date line. */
const unusualZones = fc.constantFrom(
  ...new Set(cases.map(({ timeZone }) => timeZone)),
  ...["Asia/Tehran", "Asia/Amman", "Antarctica/Troll", "America/Asuncion", "America/Scoresbysund", "Africa/El_Aaiun"],
);
const pacific = (...names: string[]) => fc.constantFrom(...names.map((name) => `Pacific/${name}`));
const anchorsOf = (period: CalendarPeriod) => {
  const [min, max] = ANCHORS[period];
  return fc.oneof(fc.constantFrom(min, max), fc.integer({ min, max }));
};
const calendars = fc
  .tuple(periods, fc.oneof(zones, unusualZones))
  .chain(([period, zone]) => fc.tuple(fc.constant(period), fc.constant(zone), anchorsOf(period)));

describe("calendar windows", () => {
  /** Checks that the windows of a calendar start at these consecutive times. */
  const expectStarts = (starts: readonly number[], ...calendar: Parameters<typeof calendarOf>) => {
    const { windowAt, startOf } = calendarOf(...calendar);
    const first = windowAt(starts[0] ?? NaN);
    const numbers = starts.map((_, index) => first + index);
    const shown = (times: readonly number[]) => times.map((time) => new Date(time));
    expect(shown(numbers.map(startOf))).toEqual(shown(starts));
    expect(starts.map(windowAt)).toEqual(numbers);
    expect(starts.map((start) => windowAt(start - 1))).toEqual(numbers.map((number) => number - 1));
  };

  // The starts come from the IANA time zone database 2025b, read by Python's zoneinfo: see calendarCases.py.
  it.each(cases)(
    "start at the right times: $period, $timeZone, $anchor: $about",
    ({ period, timeZone, anchor, starts }) => {
      expectStarts(starts, period, timeZone, anchor);
    },
  );

  it.each([
    { of: "any zone", zones, years: fc.integer({ min: 1970, max: 2060 }), numRuns: runs(20) },
    { of: "unusual zones", zones: unusualZones, years: fc.integer({ min: 1970, max: 2025 }), numRuns: runs(30) },
    { of: "Samoa and Tokelau", zones: pacific("Apia", "Fakaofo"), years: fc.constant(2011), numRuns: runs(6) },
    { of: "Kiribati", zones: pacific("Kanton", "Kiritimati"), years: fc.constant(1994), numRuns: runs(6) },
    { of: "Kwajalein", zones: pacific("Kwajalein"), years: fc.constant(1993), numRuns: 2 },
  ])("start at the times that a walk through a year of $of finds", ({ zones, years, numRuns }) => {
    const all = ["day", "week", "month", "year"] as const;
    const anchors = fc.record({
      day: anchorsOf("day"),
      week: anchorsOf("week"),
      month: anchorsOf("month"),
      year: anchorsOf("year"),
    });
    forAny([zones, years, anchors], numRuns, (timeZone, year, anchors) => {
      const steps = walk(timeZone, Math.max(0, Date.UTC(year, 0)), Date.UTC(year + 1, 0, 3));
      for (const period of all) {
        expectStarts(startsOn(steps, period, anchors[period]), period, timeZone, anchors[period]);
      }
    });
  });

  it("contain every time, each have a different start, and follow one another", () => {
    const ranges = [
      { min: 0, max: Date.UTC(2100, 0) },
      { min: -DAY, max: DAY },
      { min: 0, max: END_OF_TIME - 1 },
      { min: END_OF_TIME - 40 * DAY, max: END_OF_TIME - 1 },
      { min: 400 * DAY - END_OF_TIME, max: 0 },
    ];
    const times = fc.oneof(...ranges.map((range) => fc.integer(range)));
    forAny([calendars, times], runs(3000), ([period, timeZone, anchor], time) => {
      const { windowAt, startOf } = calendarOf(period, timeZone, anchor);
      const window = windowAt(time);
      expect(startOf(window)).toBeLessThanOrEqual(time);
      expect(startOf(window + 1)).toBeGreaterThan(time);
      expect(windowAt(startOf(window))).toBe(window);
      expect(windowAt(startOf(window) - 1)).toBe(window - 1);
    });
  });

  it("before 1970 use the offset at the start of 1970", () => {
    // London kept summer time from 1968 to 1971; before that, its winters were on UTC.
    const { windowAt, startOf } = calendarOf("day", "Europe/London", 0);
    expect(new Date(startOf(windowAt(Date.parse("1965-01-15T12:00Z")))).toISOString()).toBe("1965-01-14T23:00:00.000Z");
  });

  it("are cut off at the end of time, also for infinite times", () => {
    const { windowAt, startOf } = calendarOf("month", "Asia/Tokyo", 1);
    const last = windowAt(END_OF_TIME);
    expect(startOf(last)).toBe(Date.UTC(275_760, 8, 1) - 9 * HOUR);
    expect(startOf(last + 1)).toBe(END_OF_TIME);
    expect(startOf(last + 1e9)).toBe(END_OF_TIME);
    expect(windowAt(Infinity)).toBe(last);
    expect(windowAt(-Infinity)).toBe(windowAt(-END_OF_TIME));
  });

  it("have the same starts after more were requested than the cache holds", () => {
    const { startOf } = calendarOf("day", "America/New_York", 0);
    const starts = () => Array.from({ length: 2500 }, (_, index) => startOf(18_000 + index));
    const before = starts();
    expect(starts()).toEqual(before);
    // 18,000 days after the epoch is 14 April 2019; New York's midnight is 04:00 UTC then.
    expect(before[0]).toBe(Date.parse("2019-04-14T04:00Z"));
  });

  it("that are equally distant are listed as one run of ten years, with the last", () => {
    const days = calendarOf("day", "UTC", 0);
    const start = days.startOf(20_000);
    expect(listedFrom(days, start, DAY)).toEqual([{ start, period: DAY, count: 3660 }]);
  });

  it("refuse an unknown zone", () => {
    expect(() => calendarOf("day", "Mars/Olympus_Mons", 0)).toThrow(RangeError);
  });
});
