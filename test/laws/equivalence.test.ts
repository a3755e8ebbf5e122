/**
 * Law 7. Here sweeping is what it comes to, the deletion of rows that are full again. It is invisible to every clock from then
 * on; one that is behind the sweeper's finds the bucket full already, as it was on the sweeper's.
 * Which rows a call meets is random, so two split buckets need not answer one request alike: there the answers are those of a check,
 * which reads them all, to a bucket of the same rows.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { END_OF_WALK } from "./accrual.js";
import { capacityOf } from "./capacity.js";
import { after, countIn, stepsUpTo, T0 } from "./arbitraries.js";
import { subjects } from "./subjects.js";
import { enough, inBothPlaces, inEveryWorld, onOneRow, runs, underFakeClock } from "./world.js";

onOneRow("Law 7, equivalence: sweeping is invisible", ({ worlds, subject }) => {
  it("a bucket whose row is deleted whenever it is full answers like one whose row stays", async () => {
    let swept = 0;
    await fc.assert(
      fc.asyncProperty(worlds, subject.exact, stepsUpTo(15), async (open, config, steps) => {
        const world = open();
        let now = T0;
        let retryAt: number | undefined;
        for (const { wait, portion, reserve } of steps) {
          now = after(wait, config, now, retryAt);
          if (now >= END_OF_WALK) return;
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
          expect(other).toEqual(kept);
          retryAt = kept.retryAt;
        }
      }),
      runs(100),
    );
    expect(swept).toBeGreaterThan(enough(20));
  });
});

inEveryWorld("Law 7, equivalence: sweeping is invisible", ({ worlds, subject }) => {
  it("a check of a full bucket says the same with its rows and without them, from then on", async () => {
    let swept = 0;
    await fc.assert(
      fc.asyncProperty(worlds, subject.exact, stepsUpTo(15), async (open, config, steps) => {
        const world = open();
        let now = T0;
        let retryAt: number | undefined;
        for (const { wait, portion, reserve } of steps) {
          now = after(wait, config, now, retryAt);
          if (now >= END_OF_WALK) return;
          world.setClock(now);
          const count = countIn(config, reserve, portion);
          const isFull = (await world.check({ config, count: capacityOf(config) })).ok;
          if (isFull && (await world.rows()).length > 0) {
            // What is taken from one row comes back at that row's pace, so with rows a full bucket may be full again later.
            const checks = async () => {
              const { ok, retryAt, remaining } = await world.check({ config, count, reserve });
              return [{ ok, retryAt, remaining }, await world.check({ config, count: 0 })];
            };
            const before = await checks();
            await world.reset({ config });
            expect(await checks()).toEqual(before);
            swept++;
          }
          ({ retryAt } = await world.consume({ config, count, reserve }));
        }
      }),
      runs(100),
    );
    expect(swept).toBeGreaterThan(enough(20));
  });
});

inEveryWorld("Law 7, equivalence: reset equals a fresh key", ({ worlds, subject }) => {
  it("whatever happened before, and leaves no row and every other key alone", async () => {
    await fc.assert(
      fc.asyncProperty(worlds, subject.any, stepsUpTo(5), stepsUpTo(8), async (open, config, before, afterwards) => {
        const [used, fresh] = [open(), open()];
        let now = T0;
        for (const { wait, portion, reserve } of before) {
          now = after(wait, config, now, undefined);
          if (now >= END_OF_WALK) return;
          used.setClock(now);
          await used.consume({ config, count: countIn(config, reserve, portion), reserve });
          await used.consume({ key: "other", config, count: countIn(config, reserve, portion), reserve });
        }
        const others = (await used.rows()).filter(({ key }) => key === "other");
        await used.reset({ config });
        expect(await used.rows()).toEqual(others);
        // The same random numbers, and the same rows from call to call, as a world that has just been opened.
        used.restart();
        for (const { wait, portion, reserve } of afterwards) {
          now = after(wait, config, now, undefined);
          if (now >= END_OF_WALK) return;
          used.setClock(now);
          const request = { config, count: countIn(config, reserve, portion), reserve };
          const answered = await used.consume(request);
          expect(answered).toEqual(await fresh.consume(request));
        }
      }),
      runs(100),
    );
  });
});

describe("Law 7, equivalence: both places answer alike", () => {
  underFakeClock();
  const places = inBothPlaces();
  describe.each(subjects())("$title", (subject) => {
    it.each(["light", "whole"] as const)("on any number of rows, on a %s backend", async (backend) => {
      await fc.assert(
        fc.asyncProperty(places, subject.any, stepsUpTo(12), async (openBoth, config, steps) => {
          const [tables, component] = openBoth(backend);
          let now = T0;
          let retryAt: number | undefined;
          for (const { wait, portion, reserve } of steps) {
            now = after(wait, config, now, retryAt);
            if (now >= END_OF_WALK) return;
            tables.setClock(now);
            const request = { key: "a", config, count: countIn(config, reserve, portion), reserve };
            const [here, there] = [await tables.consume(request), await component.consume(request)];
            expect(there).toEqual(here);
            expect(await component.check(request)).toEqual(await tables.check(request));
            expect(await component.get(request)).toEqual(await tables.get(request));
            const contents = async (world: typeof tables) =>
              (await world.rows()).map((row) => ({ ...row, _id: undefined, _creationTime: undefined }));
            expect(await contents(component)).toEqual(await contents(tables));
            retryAt = here.retryAt;
          }
        }),
        runs(backend === "light" ? 300 : 80),
      );
    });
  });
});
