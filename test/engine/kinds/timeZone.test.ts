/** The clocks of time zones. That they are right in every zone is for calendar.test.ts, which walks through years of them. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { timeZoneOf } from "../../../src/engine/kinds/timeZone.js";

describe("the clocks of a zone", () => {
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
