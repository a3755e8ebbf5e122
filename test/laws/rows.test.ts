/** Law 8, beyond what every other law shows by running on several rows. */
import fc from "fast-check";
import { expect } from "vitest";
import { capacityOf } from "./capacity.js";
import { countIn, portion, stepsUpTo, wait } from "./arbitraries.js";
import { holds, inEveryWorld } from "./world.js";

inEveryWorld("Law 8, rows do not matter to what is granted in total", ({ worlds, subject, isOneRow }) => {
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

inEveryWorld(
  "Law 8, a bucket in debt is one bucket",
  ({ worlds, subject }) => {
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
  },
  [false],
);
