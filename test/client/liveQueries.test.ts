/**
 * Convex does not run a query again because time passes, so the result of a live query must not depend on the clock. Law 4 checks that
 * its projection equals the answer of a check.
 */
import { describe, expect, it, vi } from "vitest";
import { useClock } from "../support/clock.js";
import { useBackend } from "../support/limits.js";
import { placeNames } from "../support/places.js";

useClock(Date.UTC(2026, 5, 1, 9, 30), "Date");

describe.each(placeNames)("in the %s", (place) => {
  const { define, query } = useBackend(place);
  const definitions = {
    bucket: { kind: "token bucket", rate: 10, period: 1000, maxReserved: 5 },
    aligned: { kind: "fixed window", rate: 10, period: 1000, start: 0, maxReserved: 5 },
    hashed: { kind: "fixed window", rate: 4, period: 1337, capacity: 10, maxReserved: 5 },
    sliding: { kind: "sliding window", rate: 10, period: 1000, maxReserved: 5 },
    daily: { kind: "fixed window", rate: 10, period: "day", timeZone: "Europe/Berlin", anchor: 150, maxReserved: 5 },
    monthly: { kind: "fixed window", rate: 10, period: "month", timeZone: "America/New_York", anchor: 31 },
  } as const;
  const limits = define(definitions);

  it.each(Object.keys(definitions))("get of a %s never reads the clock, and check reads it once", async (name) => {
    await limits.rateLimit({ name, key: "used", count: 9 });
    await limits.rateLimit({ name, key: "owing", count: 9 });
    await limits.rateLimit({ name, key: "owing", count: 3, reserve: true });
    const clock = vi.spyOn(Date, "now");
    const clockReads = async (call: () => Promise<unknown>) => {
      const before = clock.mock.calls.length;
      await call();
      return clock.mock.calls.length - before;
    };
    await query(async (ctx) => {
      const { getRateLimit, checkRateLimit } = limits.within(ctx);
      for (const key of [undefined, "used", "owing"]) {
        expect(await clockReads(() => getRateLimit({ name, key }))).toBe(0);
        expect(await clockReads(() => checkRateLimit({ name, key }))).toBe(1);
      }
    });
  });
});
