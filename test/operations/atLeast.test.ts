/** `atLeast` on several rows: a bucket gives as much as all its rows hold, and waits no longer than until they hold what suffices. */
import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { T0 } from "../laws/arbitraries.js";
import { underFakeClock, worldIn } from "../laws/world.js";
import { placeNames } from "../support/places.js";

underFakeClock();

/** Fast ones, of which a call that must have all may be denied by what two rows say; and slow ones. */
const configs: Record<string, RateLimitConfig> = {
  "fast token bucket": { kind: "token bucket", rate: 640, period: 1000, capacity: 64 },
  "slow token bucket": { kind: "token bucket", rate: 64, period: 60_000 },
  "fast fixed window": { kind: "fixed window", rate: 64, period: 100, start: 0 },
  "fast sliding window": { kind: "sliding window", rate: 64, period: 100 },
};
const step = fc.record({
  waitMs: fc.constantFrom(1, 2, 5, 20),
  count: fc.integer({ min: 1, max: 12 }),
  share: fc.constantFrom(0.1, 0.5, 1),
});

describe.each(placeNames)("in the %s", (place) => {
  it.each(Object.entries(configs))("a %s", async (title, config) => {
    // A slow bucket that is down to little is one row again.
    const seen = { all: 0, part: 0, denied: 0, onSeveral: 0, deniedOnSeveral: title.startsWith("slow") ? 1 : 0 };
    const property = fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 60, size: "max" }), async (steps) => {
      const world = worldIn(place, { atLeast: 4, atMost: 16 });
      let now = T0;
      for (const { waitMs, count, share } of steps) {
        now += waitMs;
        world.setClock(now);
        const request = { config, count, atLeast: Math.ceil(count * share) };
        const rows = (await world.rows()).length;
        const { remaining = NaN } = await world.check({ config, count: 0 });
        const checked = await world.check(request);
        const status = await world.consume(request);
        const expected = remaining >= count ? count : remaining;
        if (rows > 1) seen.onSeveral++;
        if (status.ok) {
          expect(status.taken).toBe(expected);
          seen[expected === count ? "all" : "part"]++;
          continue;
        }
        seen.denied++;
        if (rows > 1) seen.deniedOnSeveral++;
        expect(remaining).toBeLessThan(request.atLeast);
        expect(status).toEqual(checked);
        world.setClock(status.retryAt - 1);
        expect(await world.check(request)).toMatchObject({ ok: false });
        world.setClock(status.retryAt);
        expect(await world.check(request)).toMatchObject({ ok: true });
      }
    });
    await fc.assert(property, { numRuns: 12, seed: 7 });
    expect(Math.min(...Object.values(seen)), JSON.stringify(seen)).toBeGreaterThan(0);
  });
});
