/** The clocks of time zones, beside what Intl shows at every quarter of an hour. */
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { timeZoneOf } from "../../../src/engine/kinds/timeZone.js";

const HOUR_MS = 3_600_000;
const zones = Intl.supportedValuesOf("timeZone");

/** What the clocks of a zone show, in ms as if it were UTC. */
function shownIn(timeZone: string): (moment: number) => number {
  const clock = new Intl.DateTimeFormat("en", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  return (moment) => {
    const parts = Object.fromEntries(clock.formatToParts(moment).map(({ type, value }) => [type, Number(value)]));
    const { year = NaN, month = NaN, day, hour, minute, second } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
}

describe("the clocks of a zone", () => {
  it("show a local time, or a later one, from that moment on and not before", () => {
    const locals = fc.integer({ min: Date.UTC(1970, 0, 3) / 1000, max: Date.UTC(2037, 11, 30) / 1000 });
    fc.assert(
      fc.property(fc.constantFrom(...zones), locals, (timeZone, second) => {
        const local = 1000 * second;
        const shown = shownIn(timeZone);
        const { firstAt } = timeZoneOf(timeZone);
        const first = firstAt(local);
        expect(shown(first)).toBeGreaterThanOrEqual(local);
        expect(shown(first - 1000)).toBeLessThan(local);
        for (let earlier = first - HOUR_MS / 4; earlier > first - 2 * HOUR_MS; earlier -= HOUR_MS / 4) {
          expect(shown(earlier)).toBeLessThan(local);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ["2024-03-31T02:30", "2024-03-31T01:00Z", "skipped: the clocks went from 2 to 3"],
    ["2024-10-27T02:30", "2024-10-27T00:30Z", "shown twice: the first of them counts"],
    ["2024-10-27T03:00", "2024-10-27T02:00Z", "shown once the hour has been had twice"],
  ])("of Berlin show %s first at %s: %s", (local, moment) => {
    expect(timeZoneOf("Europe/Berlin").firstAt(Date.parse(`${local}Z`))).toBe(Date.parse(moment));
  });

  it.each([
    ["Pacific/Apia", "2011-12-30T00:00", "2011-12-31T00:00"],
    ["Pacific/Kwajalein", "1993-08-21T00:00", "1993-08-22T00:00"],
  ])("of %s left the other side of the date line at %s and came out at %s", (timeZone, left, reached) => {
    const { dateLine } = timeZoneOf(timeZone);
    expect(dateLine).toEqual({ left: Date.parse(`${left}Z`), reached: Date.parse(`${reached}Z`) });
  });

  it.each(["Europe/Berlin", "UTC", "Pacific/Auckland"])("of %s stayed on their side of it", (timeZone) => {
    const { dateLine } = timeZoneOf(timeZone);
    expect(dateLine.reached).toBe(dateLine.left);
  });
});

describe("where a test has faked the timers, and Intl with them,", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each(["UTC", "Pacific/Apia", "Europe/Berlin"])("the clocks of %s show the same", async (timeZone) => {
    const real = timeZoneOf(timeZone);
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) });
    vi.resetModules();
    const { timeZoneOf: load } = await import("../../../src/engine/kinds/timeZone.js");
    const faked = load(timeZone);

    expect(faked).not.toBe(real);
    expect(faked.dateLine).toEqual(real.dateLine);
    for (const local of [0, Date.UTC(1970, 0, 2), Date.UTC(2011, 11, 31), Date.UTC(2026, 0, 1)]) {
      expect(faked.firstAt(local)).toBe(real.firstAt(local));
    }
  });
});
