/**
 * Law 7. Sweeping is the deletion of rows that are full again, so these tests delete them; test/operations/sweep.test.ts sweeps. It is
 * invisible to every clock from then on. One that is behind the sweeper's finds the bucket full already, as it was on the sweeper's.
 * Which rows a call meets is random, so two split buckets need not answer one request alike: there the answers are those of a check,
 * which reads them all, to a bucket of the same rows.
 */
import { describe, expect } from "vitest";
import { capacityOf } from "./capacity.js";
import { stepsUpTo } from "./arbitraries.js";
import { subjects } from "./subjects.js";
import { holds, inBothPlaces, inEveryWorld, onOneRow, underFakeClock } from "./world.js";

onOneRow("Law 7, equivalence: sweeping is invisible", ({ worlds, subject }) => {
  holds(
    "a bucket whose row is deleted whenever it is full answers like one whose row stays",
    { runs: 100, least: { swept: 20 } },
    [worlds, subject.exact, stepsUpTo(15)],
    async (open, config, steps, seen) => {
      const world = open();
      await world.walk(config, steps, async (request) => {
        const rows = await world.rows();
        const isFull = (await world.check({ key: "swept", config, count: capacityOf(config) })).ok;
        if (isFull && rows.some(({ key }) => key === "swept")) {
          await world.reset({ key: "swept", config });
          seen.swept++;
        }
        const kept = await world.consume({ ...request, key: "kept" });
        expect(await world.consume({ ...request, key: "swept" })).toEqual(kept);
        return kept.retryAt;
      });
    },
  );
});

inEveryWorld("Law 7, equivalence: sweeping is invisible", ({ worlds, subject }) => {
  holds(
    "a check of a full bucket says the same with its rows and without them, from then on",
    { runs: 100, least: { swept: 20 } },
    [worlds, subject.exact, stepsUpTo(15)],
    async (open, config, steps, seen) => {
      const world = open();
      await world.walk(config, steps, async (request) => {
        const isFull = (await world.check({ config, count: capacityOf(config) })).ok;
        if (isFull && (await world.rows()).length > 0) {
          // What is taken from one row comes back at that row's pace, so with rows a full bucket may be full again later.
          const checks = async () => {
            const { ok, retryAt, remaining } = await world.check(request);
            return [{ ok, retryAt, remaining }, await world.check({ config, count: 0 })];
          };
          const before = await checks();
          await world.reset({ config });
          expect(await checks()).toEqual(before);
          seen.swept++;
        }
        return (await world.consume(request)).retryAt;
      });
    },
  );
});

inEveryWorld("Law 7, equivalence: reset equals a fresh key", ({ worlds, subject }) => {
  holds(
    "whatever happened before, and leaves no row and every other key alone",
    { runs: 100 },
    [worlds, subject.any, stepsUpTo(5), stepsUpTo(8)],
    async (open, config, before, afterwards) => {
      const [used, fresh] = [open(), open()];
      const now = await used.walk(config, before, async (request) => {
        await used.consume(request);
        await used.consume({ ...request, key: "other" });
      });
      if (now === undefined) return;
      const others = (await used.rows()).filter(({ key }) => key === "other");
      await used.reset({ config });
      expect(await used.rows()).toEqual(others);
      // The same random numbers, and the same rows from call to call, as a world that has just been opened.
      used.restart();
      const alike = async (request: Parameters<typeof used.consume>[0]) => {
        const answered = await used.consume(request);
        expect(answered).toEqual(await fresh.consume(request));
      };
      await used.walk(config, afterwards, alike, now);
    },
  );
});

describe("Law 7, equivalence: both places answer alike", () => {
  underFakeClock();
  const places = inBothPlaces();
  describe.each(subjects())("$title", (subject) => {
    describe.each(["light", "whole"] as const)("on a %s backend", (backend) => {
      holds(
        "on any number of rows",
        { runs: backend === "light" ? 300 : 80 },
        [places, subject.any, stepsUpTo(12)],
        async (openBoth, config, steps) => {
          const [tables, component] = openBoth(backend);
          const contents = async (world: typeof tables) =>
            (await world.rows()).map((row) => ({ ...row, _id: undefined, _creationTime: undefined }));
          await tables.walk(config, steps, async (any) => {
            const request = { ...any, key: "a" };
            const [here, there] = [await tables.consume(request), await component.consume(request)];
            expect(there).toEqual(here);
            expect(await component.check(request)).toEqual(await tables.check(request));
            expect(await component.get(request)).toEqual(await tables.get(request));
            expect(await contents(component)).toEqual(await contents(tables));
            return here.retryAt;
          });
        },
      );
    });
  });
});
