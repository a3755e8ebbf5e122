/** Law 3. The cost of every call is held by the cost test; here only that of a denial, on random limits. */
import { expect } from "vitest";
import { stepsUpTo } from "./arbitraries.js";
import type { MutationCtx } from "../support/places.js";
import { MOST_DRAWS } from "../../src/engine/sharding/looks.js";
import { areOnTheWire } from "./subjects.js";
import { holds, inEveryWorld } from "./world.js";

inEveryWorld("Law 3: a denial writes nothing, and costs no more than one read on one row", (where) => {
  const { worlds, subject, isOneRow } = where;
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

  // Only a whole backend has metrics.
  if (!areOnTheWire()) return;
  holds(
    "by the transaction's own metrics, too",
    { runs: 60, least: { denials: 0 } },
    [worlds, subject.exact, stepsUpTo(12)],
    async (open, config, steps, seen) => {
      const world = open("whole");
      await world.walk(config, steps, async (request) => {
        const { cost, ok } = await world.mutation(async ({ consume }, ctx) => {
          const { ok } = await consume(request);
          return { ok, cost: await (ctx as unknown as MutationCtx).meta.getTransactionMetrics() };
        });
        if (ok) return;
        seen.denials++;
        expect(cost.documentsWritten.used).toBe(0);
        // One row at random, others (of a window up to MOST_DRAWS), and all.
        const mostOthers = config.kind === "token bucket" ? 1 : MOST_DRAWS;
        expect(cost.databaseQueries.used).toBeLessThanOrEqual(isOneRow ? 1 : 2 + mostOthers);
        if (isOneRow) expect(cost.documentsRead.used).toBeLessThanOrEqual(1);
      });
    },
  );
});
