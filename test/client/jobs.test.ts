// @vitest-environment edge-runtime
/** Hundreds of reserved jobs on one limit, run by the scheduler; in the middle, the process that holds the timers dies. */
import { makeFunctionReference } from "convex/server";
import { describe, expect, it, vi } from "vitest";
import { overdraft } from "../../example/demo/laws.js";
import { type Backend, defineIn, insertRows, placeNames, rowsIn } from "../support/places.js";
import { NOW, useClock } from "../support/clock.js";
import { openQueue, pendingJobs, run, runAll, runUntil, type Start } from "../support/jobs.js";
import { randomFrom, runs } from "../support/random.js";

useClock();

const JOBS = Math.max(300, runs(1000));
const CAPACITY = 500;
const RATE = 1000;

describe.each(placeNames)("in the %s", (place) => {
  it.each([
    { shards: 1, largest: CAPACITY, seed: 1 },
    { shards: 8, largest: Math.floor(CAPACITY / 8), seed: 2 },
  ])(
    "law 1 holds where jobs start, none is early, none is lost ($shards shards)",
    { timeout: 60_000 },
    async ({ shards, largest, seed }) => {
      const { scheduleRateLimited } = defineIn(place, {
        llm: { kind: "token bucket", rate: RATE, period: 1000, capacity: CAPACITY, shards },
      });
      const random = randomFrom(seed);
      const promises = new Map<string, number>();
      const schedule = async (t: Backend, count: number) => {
        for (let i = 0; i < count; i++) {
          const job = { label: `${promises.size}`, tokens: 1 + Math.floor(random() ** 3 * largest) };
          const result = await t.mutation(
            async (ctx) => await scheduleRateLimited(ctx, { name: "llm", count: job.tokens }, run, job),
          );
          if (result.ok) promises.set(job.label, result.runAt);
        }
      };

      // Half of them come while earlier ones run; then all that the process held in memory is gone.
      const before = openQueue();
      for (let wave = 0; wave < 10; wave++) {
        await schedule(before.t, JOBS / 20);
        await runUntil(before.t, Date.now() + Math.floor((random() * largest * JOBS) / 100));
      }
      const rows = await rowsIn(place, before.t);
      const pending = await pendingJobs(before.t);
      vi.clearAllTimers();
      expect(pending.length).toBeGreaterThan(JOBS / 20);

      // What is left is what the database holds: the rows and the scheduled functions, at their times.
      vi.setSystemTime(Date.now() + 100);
      const after = openQueue();
      await insertRows(
        place,
        after.t,
        rows.map((row) => ({ ...row, _id: undefined, _creationTime: undefined })),
      );
      await after.t.mutation(async (ctx) => {
        for (const { name, args, scheduledTime } of pending) {
          await ctx.scheduler.runAt(
            scheduledTime,
            makeFunctionReference<"mutation">(name),
            args[0] as Record<string, never>,
          );
        }
      });
      await schedule(after.t, JOBS / 2);
      await runAll(after.t);

      const starts: Start[] = [...before.starts, ...after.starts];
      expect(starts).toHaveLength(JOBS);
      expect(new Set(starts.map(({ label }) => label)).size).toBe(JOBS);
      expect(starts.filter(({ label, at }) => at < (promises.get(label) ?? Infinity))).toEqual([]);
      // Down for 100 ms, jobs that were due then start late, all at once; everything else starts to the millisecond.
      const late = starts.filter(({ label, at }) => at > (promises.get(label) ?? 0));
      expect(late.every(({ at, label }) => at - (promises.get(label) ?? 0) <= 100)).toBe(true);
      const punctual = starts.filter((start) => !late.includes(start));
      expect(punctual.length).toBeGreaterThan(JOBS * 0.95);
      const bound = { rate: RATE, period: 1000, capacity: CAPACITY };
      const moments = (some: Start[], lateness: number) =>
        some
          .map(({ at, tokens }) => ({ earliest: at, latest: at + lateness, tokens }))
          .sort((a, b) => a.earliest - b.earliest);
      // A late start is an interval longer by as much; where none is late there is no tolerance at all.
      expect(overdraft(moments(starts, late.length > 0 ? 100 : 0), bound)).toBeUndefined();
      expect(overdraft(moments(before.starts, 0), bound)).toBeUndefined();
      // The queue was never idle once it was full: the last job ends when all tokens have come.
      const total = starts.reduce((sum, { tokens }) => sum + tokens, 0);
      const last = Math.max(...starts.map(({ at }) => at));
      expect(last - NOW).toBeGreaterThanOrEqual(((total - CAPACITY) * 1000) / RATE);
    },
  );
});
