/**
 * Law 7. Here sweeping is what it comes to, the deletion of rows that are full again. It is invisible to every clock from then
 * on; one that is behind the sweeper's finds the bucket full already, as it was on the sweeper's.
 * Which shards a call meets is random, so two sharded limits need not answer one request alike: one row must.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { after, anyConfig, countIn, exactConfig, phaselessWindow, stepsUpTo, T0 } from "./arbitraries.js";
import { capacityOf } from "./accrual.js";
import { enough, inEveryWorld, openWorld, runs, shardSettings, underFakeClock } from "./world.js";

inEveryWorld("Law 7, equivalence: sweeping is invisible", (open) => {
  it("a bucket whose row is deleted whenever it is full answers like one whose row stays", async () => {
    let swept = 0;
    await fc.assert(
      fc.asyncProperty(exactConfig, stepsUpTo(15), async (config, steps) => {
        const world = open();
        let now = T0;
        let retryAt: number | undefined;
        for (const { wait, portion, reserve } of steps) {
          now = after(wait, config, now, retryAt);
          world.setClock(now);
          const rows = await world.rows();
          const isFull = (await world.check({ key: "swept", config, count: capacityOf(config) })).ok;
          if (isFull && rows.some(({ key }) => key === "swept")) {
            await world.reset({ key: "swept", config });
            swept++;
          }
          const demand = { config, count: countIn(config, reserve, portion), reserve };
          const kept = await world.consume({ ...demand, key: "kept" });
          const other = await world.consume({ ...demand, key: "swept" });
          if (world.whole) expect(other).toEqual(kept);
          retryAt = kept.retryAt;
        }
      }),
      runs(100),
    );
    expect(swept).toBeGreaterThan(enough(20));
  });
});

inEveryWorld("Law 7, equivalence: reset equals a fresh key", (open) => {
  it("whatever happened before, and leaves no row and every other key alone", async () => {
    const someConfig = fc.oneof(anyConfig, phaselessWindow);
    await fc.assert(
      fc.asyncProperty(someConfig, stepsUpTo(5), stepsUpTo(8), async (config, before, afterwards) => {
        const [used, fresh] = [open(), open()];
        let now = T0;
        for (const { wait, portion, reserve } of before) {
          now = after(wait, config, now, undefined);
          used.setClock(now);
          await used.consume({ config, count: countIn(config, reserve, portion), reserve });
          await used.consume({ key: "other", config, count: countIn(config, reserve, portion), reserve });
        }
        const others = (await used.rows()).filter(({ key }) => key === "other");
        await used.reset({ config });
        expect(await used.rows()).toEqual(others);
        for (const { wait, portion, reserve } of afterwards) {
          now = after(wait, config, now, undefined);
          used.setClock(now);
          const request = { config, count: countIn(config, reserve, portion), reserve };
          const [again, first] = [await used.consume(request), await fresh.consume(request)];
          if (used.whole) expect(again).toEqual(first);
        }
      }),
      runs(50),
    );
  });
});

describe("Law 7, equivalence: homes A and B answer alike", () => {
  underFakeClock();
  it.each(shardSettings)("with $title", async (setting) => {
    const someConfig = fc.oneof(anyConfig, phaselessWindow);
    await fc.assert(
      fc.asyncProperty(someConfig, stepsUpTo(12), async (config, steps) => {
        const [tables, component] = [openWorld("tables", setting), openWorld("component", setting)];
        let now = T0;
        let retryAt: number | undefined;
        for (const { wait, portion, reserve } of steps) {
          now = after(wait, config, now, retryAt);
          if (now >= 8.64e15) return;
          tables.setClock(now);
          const request = { key: "a", config, count: countIn(config, reserve, portion), reserve };
          const [here, there] = [await tables.consume(request), await component.consume(request)];
          if (setting.whole) {
            expect(there).toEqual(here);
            expect(await component.check(request)).toEqual(await tables.check(request));
            expect(await component.get(request)).toEqual(await tables.get(request));
            expect(await component.rows()).toEqual(await tables.rows());
          }
          retryAt = here.retryAt;
        }
      }),
      runs(60),
    );
  });
});
