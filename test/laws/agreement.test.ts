/** Law 4. The React hook shows what projectRateLimit says; that it does is for its own tests. */
import { projectRateLimit } from "convex-rate-limits";
import fc from "fast-check";
import { expect, it } from "vitest";
import { after, anyConfig, countIn, phaselessWindow, stepsUpTo, T0 } from "./arbitraries.js";
import { inEveryWorld, runs } from "./world.js";

inEveryWorld("Law 4, agreement: check, consume and get + project answer alike at the same moment", (open) => {
  it("for any limit, before and after its first row", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyConfig, phaselessWindow), stepsUpTo(12), async (config, steps) => {
        const world = open();
        let now = T0;
        let retryAt: number | undefined;
        let snapshot = await world.get({ config });
        for (const { wait, portion, reserve } of steps) {
          now = after(wait, config, now, retryAt);
          if (now >= 8.64e15) return;
          world.setClock(now);
          const demand = { count: countIn(config, reserve, portion), reserve };
          // The snapshot is as old as the last write: what a client still shows.
          const projected = projectRateLimit(snapshot, { now, ...demand });
          const checked = await world.check({ config, ...demand });
          const consumed = await world.consume({ config, ...demand });
          if (world.whole) {
            expect(projected).toEqual(consumed);
            expect(checked).toEqual(consumed);
          }
          // A call that looks at some of the shards may be turned away by them, but check and project look at all.
          if (consumed.ok) expect(projected.ok && checked.ok).toBe(true);
          retryAt = consumed.retryAt;
          snapshot = await world.get({ config });
        }
      }),
      runs(100),
    );
  });
});
