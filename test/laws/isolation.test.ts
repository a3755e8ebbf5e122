/** Law 11. Keys and names differ as strings do, with any characters. */
import fc from "fast-check";
import { expect } from "vitest";
import { countIn, stepsUpTo } from "./arbitraries.js";
import { holds, inEveryWorld } from "./world.js";

const known = ["", " ", "undefined", "null", "__proto__", "constructor", "a", "A", "a ", "ä", "a\u0308", "0", '["a"]'];
const strange = fc.oneof(
  fc.constantFrom(...known, "\u0000"),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }),
);
const isPermitted = (key: string | undefined) => key !== "" && !/\p{Surrogate}/u.test(key ?? "");
const keyOf = fc.option(strange, { nil: undefined }).filter(isPermitted);

inEveryWorld("Law 11, isolation: what one key does changes nothing for another", ({ worlds, subject, isOneRow }) => {
  holds(
    "with strange keys, and any calls",
    { runs: 100, least: { written: 20 } },
    [worlds, subject.exact, stepsUpTo(10), keyOf, keyOf],
    async (open, config, steps, busy, quiet, seen) => {
      fc.pre(busy !== quiet);
      const [world, alone] = [open(), open()];
      const demand = { key: quiet, config, count: countIn(config, false, { share: 0.5 }) };
      await world.consume(demand);
      await alone.consume(demand);
      const rowsOf = async (one: typeof world) => (await one.rows()).filter(({ key }) => key === quiet);
      const before = await rowsOf(world);
      let i = 0;
      await world.walk(config, steps, async (request) => {
        const own = { ...request, key: busy };
        i++;
        if (i % 4 === 0) await world.adjust({ key: busy, config, count: -own.count });
        else if (i % 5 === 0) await world.reset(own);
        else if ((await world.consume(own)).ok) seen.written++;
      });
      expect(await rowsOf(world)).toEqual(before);
      expect(await world.check(demand)).toEqual(await alone.check(demand));
      if (isOneRow) expect(await world.consume(demand)).toEqual(await alone.consume(demand));
    },
  );
});
