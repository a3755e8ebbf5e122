/** Law 5. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { after, countIn, exactConfig, stepsUpTo, T0 } from "./arbitraries.js";
import { enough, inEveryWorld, runs } from "./world.js";

inEveryWorld("Law 5, transaction: a throw after rateLimit gives everything back", (open) => {
  it("of all calls of the transaction, and the next answer is the one that was taken back", async () => {
    let takenBack = 0;
    await fc.assert(
      fc.asyncProperty(exactConfig, stepsUpTo(5), stepsUpTo(5), async (config, kept, lost) => {
        const world = open();
        let now = T0;
        for (const { wait, portion, reserve } of kept) {
          now = after(wait, config, now, undefined);
          world.setClock(now);
          await world.consume({ config, count: countIn(config, reserve, portion), reserve });
        }
        const before = await world.rows();
        const requests = lost.map(({ portion, reserve }) => ({
          config,
          count: countIn(config, reserve, portion),
          reserve,
        }));
        const first: unknown[] = [];
        const attempt = world.mutation(async (_ctx, consume) => {
          for (const request of requests) first.push(await consume(request));
          throw new Error("the caller changed its mind");
        });
        await expect(attempt).rejects.toThrow("the caller changed its mind");
        expect(first).toHaveLength(requests.length);
        expect(await world.rows()).toEqual(before);
        const again = await world.mutation(async (_ctx, consume) => {
          const statuses: unknown[] = [];
          for (const request of requests) statuses.push(await consume(request));
          return statuses;
        });
        if (world.whole) expect(again).toEqual(first);
        if (JSON.stringify(await world.rows()) !== JSON.stringify(before)) takenBack++;
      }),
      runs(60),
    );
    expect(takenBack).toBeGreaterThan(enough(20));
  });
});
