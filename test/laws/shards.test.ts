/** Law 8, beyond what every other law shows by running with each setting of shards. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { isLess, plus, rational, ZERO } from "../model/rational.js";
import { accrued, capacityOf } from "./accrual.js";
import { after, countIn, exactConfig, portion, stepsUpTo, T0, wait } from "./arbitraries.js";
import { inEveryWorld, runs } from "./world.js";

const shards = fc.constantFrom<number | "auto">(1, 2, 3, 7, 16, 256, "auto");

inEveryWorld("Law 8, shards: the bound holds for the whole limit", (open) => {
  it("also while the number of shards changes from call to call", async () => {
    const steps = fc.array(fc.record({ wait, portion, shards }), { minLength: 5, maxLength: 25, size: "max" });
    await fc.assert(
      fc.asyncProperty(exactConfig, steps, async (config, steps) => {
        const world = open();
        let now = T0;
        let granted = ZERO;
        for (const { wait, portion, shards } of steps) {
          now = after(wait, config, now, undefined);
          world.setClock(now);
          const count = countIn(config, false, portion);
          const status = await world.consume({ config: { ...config, shards }, count });
          if (status.ok) granted = plus(granted, rational(count));
          const most = plus(rational(capacityOf(config)), accrued(config, T0, now));
          expect(isLess(most, granted)).toBe(false);
        }
      }),
      runs(60),
    );
  });

  it("a request that the whole limit can hold is served by a full one, whatever the size of a shard", async () => {
    await fc.assert(
      fc.asyncProperty(exactConfig, shards, portion, async (config, shards, portion) => {
        const world = open();
        const count = countIn(config, false, portion);
        expect(await world.consume({ config: { ...config, shards }, count })).toMatchObject({ ok: true });
      }),
      runs(60),
    );
  });

  it("a full limit gives out its whole capacity, in portions, and then no more", async () => {
    await fc.assert(
      fc.asyncProperty(exactConfig, stepsUpTo(10), async (config, steps) => {
        const world = open();
        let left = Math.round(capacityOf(config) * 1000);
        const take = async (thousandths: number) => {
          const { ok } = await world.consume({ config, count: thousandths / 1000 });
          if (ok) left -= thousandths;
          expect(left).toBeGreaterThanOrEqual(0);
          // A sharded limit may turn away a call that did not look at every shard.
          if (world.whole) expect(ok).toBe(true);
        };
        for (const { portion } of steps) {
          await take(Math.min(left, Math.round(countIn(config, false, portion) * 1000)));
        }
        await take(left);
        if (left === 0 && capacityOf(config) > 0) {
          expect(await world.consume({ config, count: 0.001 })).toMatchObject({ ok: false, remaining: 0 });
        }
      }),
      runs(60),
    );
  });
});
