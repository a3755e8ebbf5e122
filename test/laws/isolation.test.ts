/** Law 11. Keys and names are told apart as strings are, whatever characters they have. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { END_OF_WALK } from "./accrual.js";
import { after, countIn, stepsUpTo, T0 } from "./arbitraries.js";
import { enough, inEveryWorld, runs } from "./world.js";

const strange = fc.oneof(
  fc.constantFrom(
    "",
    " ",
    "undefined",
    "null",
    "__proto__",
    "constructor",
    "a",
    "A",
    "a ",
    "ä",
    "a\u0308",
    "0",
    '["a"]',
    "\u0000",
  ),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }),
);
const isPermitted = (key: string | undefined) => key !== "" && !/\p{Surrogate}/u.test(key ?? "");
const keyOf = fc.option(strange, { nil: undefined }).filter(isPermitted);

inEveryWorld("Law 11, isolation: what one key does changes nothing for another", ({ worlds, subject, isOneRow }) => {
  it("however strange the keys, and whatever the calls", async () => {
    let written = 0;
    await fc.assert(
      fc.asyncProperty(worlds, subject.exact, stepsUpTo(10), keyOf, keyOf, async (open, config, steps, busy, quiet) => {
        fc.pre(busy !== quiet);
        const [world, alone] = [open(), open()];
        const count = countIn(config, false, { share: 0.5 });
        await world.consume({ key: quiet, config, count });
        await alone.consume({ key: quiet, config, count });
        const rowsOf = async (one: typeof world) => (await one.rows()).filter(({ key }) => key === quiet);
        const before = await rowsOf(world);
        let now = T0;
        for (const [i, { wait, portion, reserve }] of steps.entries()) {
          now = after(wait, config, now, undefined);
          if (now >= END_OF_WALK) break;
          world.setClock(now);
          const own = { key: busy, config, count: countIn(config, reserve, portion) };
          if (i % 4 === 3) await world.adjust({ ...own, count: -own.count });
          else if (i % 5 === 4) await world.reset(own);
          else if ((await world.consume({ ...own, reserve })).ok) written++;
        }
        expect(await rowsOf(world)).toEqual(before);
        const demand = { key: quiet, config, count };
        expect(await world.check(demand)).toEqual(await alone.check(demand));
        if (isOneRow) expect(await world.consume(demand)).toEqual(await alone.consume(demand));
      }),
      runs(100),
    );
    expect(written).toBeGreaterThan(enough(20));
  });
});
