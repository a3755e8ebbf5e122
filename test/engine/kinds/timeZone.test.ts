/** The clocks of time zones. calendar.test.ts checks that they are right, with cases and with walks through years. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { timeZoneOf } from "../../../src/engine/kinds/timeZone.js";

it.each([
  ["Pacific/Apia", "2011-12-30T00:00", "2011-12-31T00:00"],
  ["Pacific/Kwajalein", "1993-08-21T00:00", "1993-08-22T00:00"],
])("%s left the other side of the date line at %s and came out at %s", (timeZone, left, reached) => {
  const { dateLine } = timeZoneOf(timeZone);
  expect(dateLine).toEqual({ left: Date.parse(`${left}Z`), reached: Date.parse(`${reached}Z`) });
});

describe("if a test has faked the timers, and Intl with them,", () => {
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
