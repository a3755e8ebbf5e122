/** Law 5. That calls at once answer as in some serial order is held against exact buckets in test/model. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { isLess, plus, rational, ZERO } from "../model/rational.js";
import { END_OF_WALK } from "./accrual.js";
import { capacityOf } from "./capacity.js";
import { after, countIn, portion, stepsUpTo, T0 } from "./arbitraries.js";
import { enough, inEveryWorld, runs } from "./world.js";

inEveryWorld("Law 5, transaction: a throw after rateLimit gives everything back", ({ worlds, subject, isOneRow }) => {
  it("of all calls of the transaction, and the next answer is the one that was taken back", async () => {
    let takenBack = 0;
    const backend = fc.constantFrom("light" as const, "light" as const, "whole" as const);
    await fc.assert(
      fc.asyncProperty(
        worlds,
        subject.exact,
        stepsUpTo(5),
        stepsUpTo(5),
        backend,
        async (open, config, kept, lost, on) => {
          const world = open(on);
          let now = T0;
          for (const { wait, portion, reserve } of kept) {
            now = after(wait, config, now, undefined);
            if (now >= END_OF_WALK) return;
            world.setClock(now);
            await world.consume({ config, count: countIn(config, reserve, portion), reserve });
          }
          const before = await world.rows();
          const standing = await world.check({ config, count: 0 });
          const requests = lost.map(({ portion, reserve }) => ({
            config,
            count: countIn(config, reserve, portion),
            reserve,
          }));
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
          if (JSON.stringify(await world.rows()) !== JSON.stringify(before)) takenBack++;
        },
      ),
      runs(60),
    );
    expect(takenBack).toBeGreaterThan(enough(20));
  });

  it("calls at once together take no more than the bucket holds, and leave what the others have not taken", async () => {
    const backend = fc.constantFrom("light" as const, "light" as const, "whole" as const);
    const portions = fc.array(portion, { minLength: 2, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(worlds, subject.exact, portions, backend, async (open, config, portions, on) => {
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
      }),
      runs(100),
    );
  });

  it("several limits: all or nothing, and a check of them says the same", async () => {
    let denials = 0;
    const requests = fc.array(fc.record({ key: fc.constantFrom(undefined, "a", "b"), portion }), {
      minLength: 1,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(worlds, subject.exact, stepsUpTo(6), requests, async (open, config, steps, asked) => {
        const world = open();
        for (const { portion, reserve } of steps) {
          await world.consume({ key: "a", config, count: countIn(config, reserve, portion), reserve });
        }
        const counts = asked.map(
          ({ portion }) => Math.floor((countIn(config, false, portion) * 1000) / asked.length) / 1000,
        );
        // One setting for all of them: a bucket that is named twice has the same config both times.
        const list = asked.map(({ key }, i) => ({ key, config, count: counts[i] ?? 0 }));
        const before = await world.rows();
        const checked = await world.checkAll(list);
        const taken = await world.consumeAll(list);
        if (isOneRow) expect(taken).toEqual(checked);
        if (taken.ok) {
          expect(checked).toMatchObject({ ok: true });
          expect(taken.statuses.every(({ ok }) => ok)).toBe(true);
        } else {
          denials++;
          expect(await world.rows()).toEqual(before);
          expect(taken.statuses.some(({ ok }) => !ok)).toBe(true);
        }
      }),
      runs(150),
    );
    expect(denials).toBeGreaterThan(enough(10));
  });
});
