/** Jobs that really run, on a whole backend: however scheduling, cancelling and giving back interleave, no interval starts too many. */
import type { RateLimitedJob } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { overdraft } from "../../example/demo/laws.js";
import { defineIn, placeNames } from "../support/places.js";
import { NOW, openQueue, run, runAll, runUntil, useClock } from "../support/jobs.js";
import { runs } from "../support/random.js";

useClock();

const thousandths = (most: number) => fc.integer({ min: 0, max: most * 1000 }).map((n) => n / 1000);

describe.each(placeNames)("in the %s", (place) => {
  it("in no interval do more tokens start than the bound, and what was given back meanwhile", async () => {
    const operation = fc.oneof(
      fc.record({ do: fc.constant("schedule" as const), count: thousandths(10) }),
      fc.record({ do: fc.constant("schedule" as const), count: thousandths(10) }),
      fc.record({ do: fc.constant("cancel" as const), which: fc.nat() }),
      fc.record({ do: fc.constant("giveBack" as const), count: thousandths(5) }),
      fc.record({ do: fc.constant("wait" as const), forMs: fc.nat(1500) }),
    );
    const bound = { rate: 10, period: 1000, capacity: 10 };
    // Found by a run: debts of 5.341 and 5.343 tokens are paid after 534.1 and 534.3 ms, both jobs start in the 535th.
    const withinOneMillisecond = [5.342, 9.999, 0.002].map((count) => ({ do: "schedule" as const, count }));
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 3, maxLength: 30 }), async (operations) => {
        vi.clearAllTimers();
        vi.setSystemTime(NOW);
        const { t, starts } = openQueue();
        const limits = defineIn(place, { any: { kind: "token bucket", ...bound } });
        const jobs: RateLimitedJob[] = [];
        let givenBack = 0;
        for (const each of operations) {
          if (each.do === "wait") await runUntil(t, Date.now() + each.forMs);
          else {
            await t.mutation(async (ctx) => {
              if (each.do === "schedule") {
                const args = { label: "any", tokens: each.count };
                const result = await limits.scheduleRateLimited(ctx, { name: "any", count: each.count }, run, args);
                if (result.ok) jobs.push(result.job);
              } else if (each.do === "giveBack") {
                await limits.adjustRateLimit(ctx, { name: "any", count: -each.count });
                givenBack += each.count;
              } else {
                const job = jobs[each.which % jobs.length];
                if (job && (await limits.cancelRateLimited(ctx, job)).canceled) givenBack += job.count;
              }
            });
          }
        }
        await runAll(t);
        const moments = starts.map(({ at, tokens }) => ({ earliest: at, latest: at, tokens }));
        // A job's last token may come in at any time during the millisecond in which it starts, so that one's tokens are extra.
        // Thousandths: sums of them in floating point are off by far less than half of one.
        const extra = bound.rate / bound.period + givenBack + 0.0005;
        expect(overdraft(moments, { ...bound, capacity: bound.capacity + extra })).toBeUndefined();
      }),
      { numRuns: runs(100), examples: [[withinOneMillisecond]] },
    );
  });
});
