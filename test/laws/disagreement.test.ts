/**
 * Law 1 where clocks disagree, in true time. The slowest clock is right and the fastest is `apartMs` ahead, so a row may also stand that
 * far ahead. Count the work that starts without waiting in an interval, less what was given back in it. It is at most what an interval
 * longer by `apartMs` lets in. For a sliding window it is at most `rate`, in any interval shorter than the period by `apartMs`. One row
 * needs this much, and several rows need no more.
 */
import type { RateLimitConfig, RateLimitedJob } from "convex-rate-limits";
import fc from "fast-check";
import { expect } from "vitest";
import { isLess, minus, plus, type Rational, rational, ZERO } from "../model/rational.js";
import { accrued, END_OF_WALK } from "./accrual.js";
import { capacityOf } from "./capacity.js";
import { after, countIn, portion, T0, wait } from "./arbitraries.js";
import { holds, inEveryWorld } from "./world.js";

/** Tokens that went out at a moment of the true time; below zero where they came back. */
interface Movement {
  readonly at: number;
  readonly count: Rational;
}

/** The most that may go out from one moment to another, less what comes back; undefined for intervals that have no bound. */
function bound(config: RateLimitConfig, from: number, to: number, apartMs: number): Rational | undefined {
  if (config.kind !== "sliding window") return plus(rational(capacityOf(config)), accrued(config, from, to + apartMs));
  return to - from < config.period - apartMs ? rational(config.rate) : undefined;
}

function expectBounded(config: RateLimitConfig, movements: readonly Movement[], apartMs: number): void {
  for (const [i, { at: from }] of movements.entries()) {
    let total = ZERO;
    for (const { at: to, count } of movements.slice(i)) {
      total = plus(total, count);
      const most = bound(config, from, to, apartMs);
      if (most && isLess(most, total)) expect.fail(JSON.stringify({ config, apartMs, from: from - T0, to: to - T0 }));
    }
  }
}

const act = fc.constantFrom("take", "take", "take", "schedule", "refund", "refund", "cancel", "take and refund");
const event = fc.record({ act, wait, ahead: fc.constantFrom(0, 0, 0.5, 1), portion, which: fc.nat(5) });
const apart = fc.constantFrom(1, 300, 5000);

inEveryWorld(
  "Law 1, bound where clocks disagree: several rows let through what one row does",
  ({ worlds, subject }) => {
    holds(
      "with refunds and cancelled jobs, in no interval of the true time",
      { runs: 100, least: { taken: 100, returned: 100 } },
      [worlds, subject.exact, apart, fc.array(event, { minLength: 10, maxLength: 60, size: "max" })],
      async (open, any, apartMs, events, seen) => {
        const world = open();
        const config = { ...any, maxReserved: 0 };
        const movements: Movement[] = [];
        const jobs: RateLimitedJob[] = [];
        let now = T0;
        let retryAt: number | undefined;
        const take = async (count: number) => {
          const status = await world.consume({ config, count });
          ({ retryAt } = status);
          if (status.ok) movements.push({ at: now, count: rational(count) });
        };
        const giveBack = (count: number) => {
          movements.push({ at: now, count: minus(ZERO, rational(count)) });
          seen.returned++;
        };
        for (const { act, wait, ahead, portion, which } of events) {
          now = after(wait, config, now, retryAt);
          if (now + apartMs >= END_OF_WALK) break;
          const readClock = (part: number) => {
            world.setClock(now + Math.floor(part * apartMs));
          };
          readClock(ahead);
          const count = countIn(config, false, portion);
          if (count === 0) continue;
          if (act === "take" || act === "take and refund") await take(count);
          // By a clock that is right, of what one ahead may have taken.
          if (act === "take and refund") readClock(0);
          if (act === "refund" || act === "take and refund") {
            await world.adjust({ config, count: -count });
            giveBack(count);
          } else if (act === "schedule") {
            const scheduled = await world.schedule({ config, count });
            if (!scheduled.ok) continue;
            movements.push({ at: now, count: rational(count) });
            jobs.push(scheduled.job);
          } else if (act === "cancel") {
            const [job] = jobs.splice(which, 1);
            if (!job) continue;
            await world.cancel(job);
            giveBack(job.count);
          }
        }
        seen.taken += movements.length;
        expectBounded(config, movements, apartMs);
      },
    );
  },
);
