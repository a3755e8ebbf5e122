/** Law 3. The cost of every call is held by the cost test; here only that of a denial, on random limits. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { END_OF_WALK } from "./accrual.js";
import { after, countIn, stepsUpTo, T0 } from "./arbitraries.js";
import type { MutationCtx } from "../support/places.js";
import { MOST_DRAWS } from "../../src/engine/sharding/looks.js";
import { areOnTheWire } from "./subjects.js";
import { enough, inEveryWorld, runs } from "./world.js";

inEveryWorld(
  "Law 3: a denial writes nothing, and costs no more than one read on one row",
  ({ worlds, subject, isOneRow }) => {
    it("leaves every row as it was", async () => {
      let denials = 0;
      await fc.assert(
        fc.asyncProperty(worlds, subject.exact, stepsUpTo(20), async (open, config, steps) => {
          const world = open();
          let now = T0;
          for (const { wait, portion, reserve } of steps) {
            now = after(wait, config, now, undefined);
            if (now >= END_OF_WALK) return;
            world.setClock(now);
            const before = await world.rows();
            const request = { config, count: countIn(config, reserve, portion), reserve };
            if ((await world.consume(request)).ok) continue;
            denials++;
            expect(await world.rows()).toEqual(before);
          }
        }),
        runs(150),
      );
      expect(denials).toBeGreaterThan(enough(20));
    });

    // Only a whole backend has metrics.
    if (!areOnTheWire()) return;
    it("by the transaction's own metrics, too", async () => {
      let denials = 0;
      await fc.assert(
        fc.asyncProperty(worlds, subject.exact, stepsUpTo(12), async (open, config, steps) => {
          const world = open("whole");
          let now = T0;
          for (const { wait, portion, reserve } of steps) {
            now = after(wait, config, now, undefined);
            if (now >= END_OF_WALK) return;
            world.setClock(now);
            const { cost, ok } = await world.mutation(async ({ consume }, ctx) => {
              const { ok } = await consume({ config, count: countIn(config, reserve, portion), reserve });
              return { ok, cost: await (ctx as unknown as MutationCtx).meta.getTransactionMetrics() };
            });
            if (ok) continue;
            denials++;
            expect(cost.documentsWritten.used).toBe(0);
            // One row at random, others (of a window up to MOST_DRAWS), and all.
            const mostOthers = config.kind === "token bucket" ? 1 : MOST_DRAWS;
            expect(cost.databaseQueries.used).toBeLessThanOrEqual(isOneRow ? 1 : 2 + mostOthers);
            if (isOneRow) expect(cost.documentsRead.used).toBeLessThanOrEqual(1);
          }
        }),
        runs(60),
      );
      expect(denials).toBeGreaterThan(0);
    });
  },
);
