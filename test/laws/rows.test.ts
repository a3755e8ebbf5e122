/** Law 8, beyond what every other law shows by running on several rows. */
import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { expect } from "vitest";
import { END_OF_WALK } from "./accrual.js";
import { capacityOf } from "./capacity.js";
import { countIn, portion, stepsUpTo, wait } from "./arbitraries.js";
import { holds, inEveryWorld, onSeveralRows } from "./world.js";

const shards = fc.constantFrom<NonNullable<RateLimitConfig["shards"]>>(
  1,
  2,
  3,
  7,
  16,
  256,
  "auto",
  { atLeast: 4, atMost: 16 },
  { atLeast: 1024 },
);

inEveryWorld("Law 8, rows do not matter to what is granted in total", ({ worlds, subject, isOneRow }) => {
  holds(
    "a request that the whole limit can hold is served by a full one, whatever the size of a shard",
    { runs: 60 },
    [worlds, subject.exact, shards, portion],
    async (open, config, shards, portion) => {
      const world = open();
      const count = countIn(config, false, portion);
      expect(await world.consume({ config: { ...config, shards }, count })).toMatchObject({ ok: true });
    },
  );

  holds(
    "a bucket that was split and is full again serves its whole capacity in one request",
    { runs: 100 },
    [worlds, subject.exact, stepsUpTo(8), shards],
    async (open, config, steps, shards) => {
      const world = open();
      const now = await world.walk(config, steps, async (request) => (await world.consume(request)).retryAt);
      if (now === undefined) return;
      const count = capacityOf(config);
      const { ok, retryAt: fullAt = now } = await world.check({ config, count });
      if (!ok && fullAt >= END_OF_WALK) return;
      world.setClock(fullAt);
      expect(await world.consume({ config: { ...config, shards }, count })).toMatchObject({ ok: true });
      if (count > 0) expect(await world.consume({ config, count: 0.001 })).toMatchObject({ ok: false });
    },
  );

  holds(
    "a full limit gives out its whole capacity, in portions, and then no more",
    { runs: 100 },
    [worlds, subject.exact, stepsUpTo(10)],
    async (open, config, steps) => {
      const world = open();
      let left = Math.round(capacityOf(config) * 1000);
      const take = async (thousandths: number) => {
        const { ok } = await world.consume({ config, count: thousandths / 1000 });
        if (ok) left -= thousandths;
        expect(left).toBeGreaterThanOrEqual(0);
        if (isOneRow) expect(ok).toBe(true);
        // A fast limit on several rows may deny a call that has read two of them: it finds its tokens at retryAt.
        else expect(await world.check({ config, count: ok ? 0 : thousandths / 1000 })).toMatchObject({ ok: true });
      };
      for (const { portion } of steps) await take(Math.min(left, Math.round(countIn(config, false, portion) * 1000)));
      await take(left);
      expect(await world.check({ config, count: left / 1000 })).toMatchObject({ ok: true });
      if ((left + 1) / 1000 <= capacityOf(config)) {
        expect(await world.check({ config, count: (left + 1) / 1000 })).toMatchObject({ ok: false });
      }
    },
  );
});

const reservations = fc.array(fc.record({ wait, portion, reserve: fc.constant(true) }), {
  minLength: 4,
  maxLength: 20,
});

onSeveralRows("Law 8, a bucket in debt is one bucket", ({ worlds, subject }) => {
  holds(
    "a bucket that owes is one row, and pays as one row does",
    { runs: 60, least: { owed: 20 } },
    [worlds, subject.exact, reservations],
    async (open, config, steps, seen) => {
      const world = open();
      await world.walk(config, steps, async (request) => {
        const { ok, retryAt } = await world.consume(request);
        if (!ok || retryAt === undefined || request.count === 0) return;
        seen.owed++;
        const rows = await world.rows();
        expect(rows).toHaveLength(1);
        expect(rows[0]?.shard).toBeUndefined();
      });
    },
  );
});
