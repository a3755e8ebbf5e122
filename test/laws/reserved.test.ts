/**
 * `maxReserved` bounds what is owed, on one row and on several, for reservations of any count. On a token bucket none waits longer than
 * `maxReserved` takes to come in.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { placeNames } from "../support/places.js";
import { capacityOf, exactConfigs, T0 } from "./arbitraries.js";
import { holds, underFakeClock, worldIn } from "./world.js";

const shards = fc.constantFrom(1, 2, 7, 16, "auto" as const, { atLeast: 64 });
/** After a wait in ms, a share of the most that one reservation may ever get. */
const reservation = fc.record({ ms: fc.integer({ min: 0, max: 30 }), percent: fc.integer({ min: 1, max: 60 }) });

describe.each(placeNames)("in the %s", (place) => {
  underFakeClock();

  it.each(["token bucket", "fixed window", "sliding window"] as const)(
    "a %s of eight rows promises a full bucket and maxReserved, and no more to counts above a row's share",
    async (kind) => {
      const world = worldIn(place, { atLeast: 8, atMost: 8 });
      const config = { kind, rate: 60, period: 60_000, maxReserved: 60, ...(kind === "fixed window" && { start: 0 }) };
      let promised = 0;
      for (let now = T0 + 1; now <= T0 + 50; now++) {
        world.setClock(now);
        if ((await world.consume({ config, count: 20, reserve: true })).ok) promised += 20;
      }
      expect(promised).toBe(120);
    },
  );

  it.each(["token bucket", "fixed window"] as const)(
    "a %s that becomes one row keeps what its rows promised",
    async (kind) => {
      const config = { kind, rate: 64, period: 64_000, maxReserved: 64, ...(kind === "fixed window" && { start: T0 }) };
      const split = { ...config, shards: { atLeast: 2, atMost: 2 } };
      const world = worldIn(place, undefined);
      await world.consume({ config: split, count: 64 });
      world.setClock(T0 + 1);
      const { retryAt: startsAt } = await world.consume({ config: split, count: 32, reserve: true });
      // A gift pays for the half of one row and fills it.
      await world.adjust({ config: split, count: -48 });
      expect((await world.rows()).map(({ value }) => Math.round(value)).sort((a, b) => a - b)).toEqual([-16, 32]);
      world.setClock(Number(startsAt));
      let started = 32;
      while ((await world.consume({ config })).ok) started++;
      expect(started).toBeLessThanOrEqual(64);
    },
  );

  holds(
    "no more is owed, and none waits longer",
    { runs: 300, least: { waited: 800 } },
    [
      shards,
      fc.oneof(...Object.values(exactConfigs)),
      fc.nat({ max: 200 }),
      fc.array(reservation, { minLength: 20, maxLength: 40 }),
    ],
    async (rows, any, maxReserved, reservations, seen) => {
      const world = worldIn(place, rows);
      const config = { ...any, maxReserved };
      let now = T0;
      for (const { ms, percent } of reservations) {
        now += ms;
        world.setClock(now);
        const count = Math.ceil((percent / 100) * (capacityOf(config) + maxReserved));
        const { ok, retryAt = now } = await world.consume({ config, count, reserve: true });
        if (!ok || retryAt === now) continue;
        seen.waited++;
        const stored = await world.rows();
        const { kind, rate, period } = config;
        // Shares are whole tokens, so a row may owe a token more than its part. Windows cut a debt by their shares of the rate, which
        // may differ more.
        const uneven = rows === 1 ? 0 : stored.length * (1 + (kind === "fixed window" ? maxReserved / rate : 0));
        // The sum of hundreds of doubles may be rounded up.
        const most = (maxReserved + uneven) * (1 + 2 ** -42);
        expect(stored.reduce((sum, { value }) => sum + Math.max(0, -value), 0)).toBeLessThanOrEqual(most);
        if (kind === "token bucket") expect(retryAt - now).toBeLessThanOrEqual(Math.ceil((most * period) / rate));
      }
    },
  );
});
