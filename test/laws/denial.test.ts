/** Law 3. The cost of every call is held by the cost test; here only that of a denial, on random limits. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { after, countIn, exactConfig, stepsUpTo, T0 } from "./arbitraries.js";
import { enough, inEveryWorld, runs } from "./world.js";

inEveryWorld("Law 3: a denial writes nothing, and costs no more than one read", (open) => {
  it("leaves every row as it was", async () => {
    let denials = 0;
    await fc.assert(
      fc.asyncProperty(exactConfig, stepsUpTo(20), async (config, steps) => {
        const world = open();
        let now = T0;
        for (const { wait, portion, reserve } of steps) {
          now = after(wait, config, now, undefined);
          world.setClock(now);
          const before = await world.rows();
          const { cost, ok } = await world.mutation(async (ctx, consume) => {
            const { ok } = await consume({ config, count: countIn(config, reserve, portion), reserve });
            return { ok, cost: await ctx.meta.getTransactionMetrics() };
          });
          if (ok) continue;
          denials++;
          expect(await world.rows()).toEqual(before);
          expect(cost.documentsWritten.used).toBe(0);
          if (world.whole) {
            expect(cost.databaseQueries.used).toBe(1);
            expect(cost.documentsRead.used).toBeLessThanOrEqual(1);
          }
        }
      }),
      runs(60),
    );
    expect(denials).toBeGreaterThan(enough(20));
  });
});
