/** Law 3, on random limits. The cost test measures what a denial reads. */
import { expect } from "vitest";
import { stepsUpTo } from "./arbitraries.js";
import { holds, inEveryWorld } from "./world.js";

inEveryWorld("Law 3: a denial writes nothing", ({ worlds, subject }) => {
  holds(
    "leaves every row as it was",
    { runs: 150, least: { denials: 20 } },
    [worlds, subject.exact, stepsUpTo(20)],
    async (open, config, steps, seen) => {
      const world = open();
      await world.walk(config, steps, async (request) => {
        const before = await world.rows();
        if ((await world.consume(request)).ok) return;
        seen.denials++;
        expect(await world.rows()).toEqual(before);
      });
    },
  );
});
