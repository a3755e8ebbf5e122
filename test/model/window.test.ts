/**
 * The sliding window's law by brute force: in any `period` ms, wherever they begin, at most `rate` tokens start. Nothing here
 * knows how a log works: the starts are written down, and every interval is counted.
 */
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { placeNames } from "../support/places.js";
import type { SlidingWindow } from "./exact/config.js";
import { most, type Start } from "./exact/most.js";
import { T0 } from "./fuzz.js";
import { useFuzzedClock } from "./operations.js";
import { jobs, openStage, type Shards } from "../support/stage.js";
import { runs } from "../support/random.js";

useFuzzedClock();

const NAME = { name: "limit" };

const window = fc.record({
  kind: fc.constant("sliding window" as const),
  rate: fc.constantFrom(4, 10, 64, 500),
  period: fc.constantFrom(50, 1000, 60_000),
  maxReserved: fc.constantFrom(undefined, 0, 5, 100),
});
const act = fc.record({
  waitMs: fc.oneof(fc.constant(0), fc.nat(20), fc.nat(400), fc.constant(61_000)),
  do: fc.constantFrom("take", "take", "reserve", "schedule", "cancel", "sweep"),
  share: fc.constantFrom(0, 0, 0, 0.1, 0.3, 1),
  times: fc.integer({ min: 1, max: 5 }),
  shards: fc.nat(10),
  /** How far ahead the clock of this call is, as a part of what clocks disagree by. */
  ahead: fc.constantFrom(0, 0.3, 0.7, 1),
});
const busyWindow = fc.record({
  kind: fc.constant("sliding window" as const),
  rate: fc.constantFrom(100, 200),
  period: fc.constant(60_000),
  maxReserved: fc.constantFrom(undefined, 50),
});
const busyAct = fc.record({
  waitMs: fc.nat(1200),
  do: fc.constantFrom("take", "take", "take", "reserve", "schedule", "cancel"),
  share: fc.constant(0),
  times: fc.integer({ min: 1, max: 5 }),
  shards: fc.nat(10),
  ahead: fc.constantFrom(0, 0.3, 0.7, 1),
});
const worlds = [
  { of: "any", limits: window, acts: fc.array(act, { minLength: 5, maxLength: 60, size: "max" }), numRuns: runs(150) },
  {
    of: "more moments than a row keeps apart",
    limits: busyWindow,
    acts: fc.array(busyAct, { minLength: 150, maxLength: 250, size: "max" }),
    numRuns: runs(120),
  },
];
/** Clocks agree, or the fastest is so many ms ahead of the slowest, which is right. */
const disagreements = fc.constantFrom(0, 0, 1, 20, 400);
const settings = fc.constantFrom<readonly Shards[]>([undefined], [16], ["auto"], [1, 2, 7, 64, 256, "auto"]);

describe.each(placeNames)("in the %s", (place) => {
  it.each(worlds)(
    "in no interval does a sliding window of $of start more than its rate, on any number of rows, whatever the clocks say",
    async ({ limits: windows, acts: played, numRuns }) => {
      const seen = { reserved: 0, canceled: 0, denied: 0, steppedBack: 0 };
      const property = fc.asyncProperty(
        windows,
        settings,
        disagreements,
        played,
        async (limit: SlidingWindow, shards, disagreementMs, acts) => {
          const stage = openStage(place, "light");
          const waiting: { job: never; start: Start }[] = [];
          const starts: Start[] = [];
          let now = T0;
          for (const each of acts) {
            now += each.waitMs;
            const clock = now + Math.floor(each.ahead * disagreementMs);
            if (clock < Date.now()) seen.steppedBack++;
            vi.setSystemTime(clock);
            const limits = stage.limits(limit, shards[each.shards % shards.length]);
            const count = Math.max(1, Math.floor(each.share * limit.rate));
            await stage.mutation(async (ctx) => {
              const one = async () => {
                if (each.do === "sweep") await limits.sweepRateLimits(ctx, { next: jobs.sweep });
                else if (each.do === "cancel") {
                  const last = waiting.pop();
                  if (!last || last.start.at <= now) return;
                  const { canceled } = await limits.cancelRateLimited(ctx, last.job);
                  if (canceled) starts.splice(starts.indexOf(last.start), 1);
                  if (canceled) seen.canceled++;
                } else if (each.do === "schedule") {
                  const result = await limits.scheduleRateLimited(ctx, { ...NAME, count }, jobs.run);
                  if (!result.ok) return;
                  const start = { at: result.runAt, count };
                  starts.push(start);
                  waiting.push({ job: result.job as never, start });
                } else {
                  const status = await limits.rateLimit(ctx, { ...NAME, count, reserve: each.do === "reserve" });
                  if (status.ok) starts.push({ at: status.retryAt ?? now, count });
                  else seen.denied++;
                  if (status.ok && status.retryAt !== undefined) seen.reserved++;
                }
              };
              await Promise.all(Array.from({ length: each.times }, one));
            });
          }
          // A start that a fast clock has noted is forgotten by another fast one: at the earliest so much before the period has passed.
          expect(most(starts, limit.period - disagreementMs)).toBeLessThanOrEqual(limit.rate);
        },
      );
      await fc.assert(property, { numRuns });
      // The property is about something.
      for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(numRuns / 8);
    },
  );
});
