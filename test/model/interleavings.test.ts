/** Any interleaving of scheduling, cancelling, running and settling leaves exactly what a naive model says. */
import type { RateLimitedJob } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { overdraft } from "../../example/demo/laws.js";
import { defineIn, placeNames } from "../support/places.js";
import { NOW, openQueue, run, runAll, runUntil, useClock } from "../support/jobs.js";
import { Ledger } from "./ledger.js";

useClock();

const thousandths = (most: number) => fc.integer({ min: 0, max: most * 1000 }).map((n) => n / 1000);
const config = fc.record({
  kind: fc.constantFrom("token bucket" as const, "fixed window" as const),
  rate: fc.integer({ min: 1, max: 30 }),
  period: fc.constantFrom(7, 60, 1000),
  capacity: fc.integer({ min: 0, max: 10 }),
  // As much as the largest job, so that each has room at some time.
  maxReserved: fc.integer({ min: 20, max: 24 }),
});
const step = fc.oneof(
  fc.record({ do: fc.constant("schedule" as const), count: thousandths(20) }),
  fc.record({ do: fc.constant("schedule" as const), count: thousandths(20) }),
  fc.record({ do: fc.constant("cancel" as const), which: fc.nat() }),
  fc.record({ do: fc.constant("settle" as const), which: fc.nat(), actual: thousandths(30) }),
  fc.record({ do: fc.constant("wait" as const), forMs: fc.oneof(fc.nat(20), fc.nat(3000)) }),
);

describe.each(placeNames)("in the %s home", (home) => {
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
        const limits = defineIn(home, { any: { kind: "token bucket", ...bound } });
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
      { numRuns: 100, examples: [[withinOneMillisecond]] },
    );
  });

  it("the value is the model's, and every job runs when the model says", async () => {
    const seen = { ran: 0, cancelled: 0, tooLate: 0, refused: 0, settled: 0 };
    await fc.assert(
      fc.asyncProperty(config, fc.array(step, { minLength: 10, maxLength: 30 }), async (any, steps) => {
        vi.clearAllTimers();
        vi.setSystemTime(NOW);
        const { t, starts } = openQueue();
        const start = any.kind === "fixed window" ? { start: 0 } : {};
        const limits = defineIn(home, { any: { ...any, ...start } });
        const model = new Ledger(any, NOW);
        const jobs: { job: RateLimitedJob; state: "waiting" | "canceled" | "settled" }[] = [];

        for (const each of steps) {
          const now = Date.now();
          switch (each.do) {
            case "schedule": {
              const args = { label: `${jobs.length}`, tokens: each.count };
              const result = await t.mutation(
                async (ctx) => await limits.scheduleRateLimited(ctx, { name: "any", count: each.count }, run, args),
              );
              const promised = model.reserve(each.count, now);
              expect(result.ok ? result.runAt : undefined).toBe(promised);
              if (result.ok) jobs.push({ job: result.job, state: "waiting" });
              else seen.refused++;
              break;
            }
            case "cancel": {
              const entry = jobs[each.which % jobs.length];
              if (!entry) break;
              const result = await t.mutation(async (ctx) => await limits.cancelRateLimited(ctx, entry.job));
              const isRun = starts.some(({ label }) => label === `${jobs.indexOf(entry)}`);
              expect(result.canceled).toBe(!isRun && entry.state === "waiting");
              if (!result.canceled) seen.tooLate++;
              if (!result.canceled) break;
              seen.cancelled++;
              entry.state = "canceled";
              model.settle(-entry.job.count, now);
              break;
            }
            case "settle": {
              const ran = jobs.filter(
                ({ state }, i) => state === "waiting" && starts.some(({ label }) => label === `${i}`),
              );
              const entry = ran[each.which % ran.length];
              if (!entry) break;
              // As a settlement is: what was used, less what was reserved.
              const count = Math.round((each.actual - entry.job.count) * 1000) / 1000;
              await t.mutation(async (ctx) => await limits.adjustRateLimit(ctx, { name: "any", count }));
              model.settle(count, now);
              entry.state = "settled";
              seen.settled++;
              break;
            }
            case "wait":
              await runUntil(t, now + each.forMs);
          }
          const { value, ts } = await t.query(async (ctx) => await limits.getRateLimit(ctx, { name: "any" }));
          if (each.do !== "wait" && ts === Date.now()) expect(value).toBe(model.tokensAt(Date.now()));
        }
        // A count of nothing writes nothing, so what is held at the end is asked for by charging a token.
        await t.mutation(async (ctx) => await limits.adjustRateLimit(ctx, { name: "any", count: 1 }));
        model.settle(1, Date.now());
        const { value } = await t.query(async (ctx) => await limits.getRateLimit(ctx, { name: "any" }));
        expect(value).toBe(model.tokensAt(Date.now()));
        for (const { label, at } of starts) expect(at).toBe(jobs[Number(label)]?.job.runAt);
        seen.ran += starts.length;
      }),
      { numRuns: 150 },
    );
    // The property is about something: each of these came about many times.
    for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(10);
  });
});
