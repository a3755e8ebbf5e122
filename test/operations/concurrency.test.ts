/**
 * A sliding window is a semaphore with leases: a place is taken for a period, and given back by the date on which it was taken. Held against
 * a list of leases.
 */
import { MINUTE } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { defineIn, openBackend, placeNames } from "../support/places.js";
import { NOW, useClock } from "../support/jobs.js";
import { runs } from "../support/random.js";

const LEASE = MINUTE;

useClock();

type Act = { wait: number } | { take: true } | { release: number };
const acts = fc.array(
  fc.oneof<fc.Arbitrary<Act>[]>(
    fc.record({ wait: fc.constantFrom(0, 1, 999, LEASE / 3, LEASE - 1, LEASE) }),
    fc.constant({ take: true }),
    fc.constant({ take: true }),
    fc.record({ release: fc.nat() }),
  ),
  { minLength: 10, maxLength: 80, size: "max" },
);

describe.each(placeNames)("in the %s", (place) => {
  it("never more run than there are places, and a place that is free is given", async () => {
    let denied = 0;
    let late = 0;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 60 }), acts, async (places, played) => {
        vi.setSystemTime(NOW);
        const { rateLimit, adjustRateLimit } = defineIn(place, {
          runs: { kind: "sliding window", rate: places, period: LEASE, keyed: true },
        });
        const bucket = { name: "runs", key: "alice" };
        const t = openBackend();
        /** When each was taken, as long as it is not released. */
        const leases: number[] = [];
        for (const act of played) {
          if ("wait" in act) vi.setSystemTime(Date.now() + act.wait);
          else if ("take" in act) {
            const status = await t.mutation(async (ctx) => await rateLimit(ctx, { ...bucket, refundable: true }));
            const running = leases.filter((takenAt) => takenAt > Date.now() - LEASE);
            expect(status.ok).toBe(running.length < places);
            if (status.ok) leases.push(status.takenAt ?? NaN);
            else {
              denied++;
              expect(status.retryAt).toBe(Math.min(...running) + LEASE);
            }
          } else {
            const [takenAt] = leases.splice(act.release % leases.length, 1);
            if (takenAt === undefined) continue;
            if (takenAt <= Date.now() - LEASE) late++;
            await t.mutation(async (ctx) => {
              await adjustRateLimit(ctx, { ...bucket, count: -1, takenAt });
            });
          }
        }
      }),
      { numRuns: runs(300), examples: [[1, [{ take: true }, { take: true }, { release: 0 }, { take: true }]]] },
    );
    expect(Math.min(denied, late)).toBeGreaterThan(0);
  });
});
