/** Law 7, for the two places. test/model compares answers after sweeps and resets with exact buckets. */
import { describe, expect } from "vitest";
import { stepsUpTo } from "./arbitraries.js";
import { subjects } from "./subjects.js";
import { holds, inBothPlaces, underFakeClock, type World } from "./world.js";

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
          const [tables, component] = openBoth(backend) as [World, World];
          const contents = async (world: World) =>
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
