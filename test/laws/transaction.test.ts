/** Law 5. That calls at once answer as in some serial order is held against exact buckets in test/model. */
import fc from "fast-check";
import { expect } from "vitest";
import { isLess, plus, rational, ZERO } from "../model/rational.js";
import { capacityOf } from "./capacity.js";
import { countIn, portion, stepsUpTo } from "./arbitraries.js";
import { holds, inEveryWorld, type Request } from "./world.js";

const backend = fc.constantFrom("light" as const, "light" as const, "whole" as const);
const portions = fc.array(portion, { minLength: 2, maxLength: 6 });
const requests = fc.array(fc.record({ key: fc.constantFrom(undefined, "a", "b"), portion }), {
  minLength: 1,
  maxLength: 4,
});

inEveryWorld("Law 5, transaction: a throw after rateLimit gives everything back", ({ worlds, subject, isOneRow }) => {
  holds(
    "of all calls of the transaction, and the next answer is the one that was taken back",
    { runs: 60, least: { takenBack: 20 } },
    [worlds, subject.exact, stepsUpTo(5), stepsUpTo(5), backend],
    async (open, config, kept, lost, on, seen) => {
      const world = open(on);
      const now = await world.walk(config, kept, async (request) => {
        await world.consume(request);
      });
      if (now === undefined) return;
      const before = await world.rows();
      const standing = await world.check({ config, count: 0 });
      const requests = lost.map(({ portion, reserve }): Request => {
        return { config, count: countIn(config, reserve, portion), reserve };
      });
      const first: unknown[] = [];
      const attempt = world.mutation(async ({ consume }) => {
        for (const request of requests) first.push(await consume(request));
        throw new Error("the caller changed its mind");
      });
      await expect(attempt).rejects.toThrow("the caller changed its mind");
      expect(first).toHaveLength(requests.length);
      expect(await world.rows()).toEqual(before);
      expect(await world.check({ config, count: 0 })).toEqual(standing);
      const again = await world.mutation(async ({ consume }) => {
        const statuses: unknown[] = [];
        for (const request of requests) statuses.push(await consume(request));
        return statuses;
      });
      // On several rows the second time meets other rows.
      if (isOneRow) expect(again).toEqual(first);
      if (JSON.stringify(await world.rows()) !== JSON.stringify(before)) seen.takenBack++;
    },
  );

  holds(
    "calls at once together take no more than the bucket holds, and leave what the others have not taken",
    { runs: 100 },
    [worlds, subject.exact, portions, backend],
    async (open, config, portions, on) => {
      const world = open(on);
      const counts = portions.map((each) => countIn(config, false, each));
      const statuses = await world.mutation(
        async ({ consume }) => await Promise.all(counts.map((count) => consume({ config, count }))),
      );
      const taken = counts.reduce((sum, count, i) => (statuses[i]?.ok ? plus(sum, rational(count)) : sum), ZERO);
      const capacity = rational(capacityOf(config));
      expect(isLess(capacity, taken)).toBe(false);
      // A full bucket denies only what is too much: on any number of rows, since it starts as one.
      for (const [i, count] of counts.entries()) {
        if (!statuses[i]?.ok) expect(isLess(capacity, plus(taken, rational(count)))).toBe(true);
      }
    },
  );

  holds(
    "several limits: all or nothing, and a check of them says the same",
    { runs: 150, least: { denials: 10 } },
    [worlds, subject.exact, stepsUpTo(6), requests],
    async (open, config, steps, asked, seen) => {
      const world = open();
      for (const { portion, reserve } of steps) {
        await world.consume({ key: "a", config, count: countIn(config, reserve, portion), reserve });
      }
      // One setting for all of them: a bucket that is named twice has the same config both times.
      const list = asked.map(({ key, portion }): Request => {
        return { key, config, count: Math.floor((countIn(config, false, portion) * 1000) / asked.length) / 1000 };
      });
      const before = await world.rows();
      const checked = await world.checkAll(list);
      const taken = await world.consumeAll(list);
      if (isOneRow) expect(taken).toEqual(checked);
      if (taken.ok) {
        expect(checked).toMatchObject({ ok: true });
        expect(taken.statuses.every(({ ok }) => ok)).toBe(true);
      } else {
        seen.denials++;
        expect(await world.rows()).toEqual(before);
        expect(taken.statuses.some(({ ok }) => !ok)).toBe(true);
      }
    },
  );
});
