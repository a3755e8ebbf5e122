/**
 * Law 1 where clocks disagree, in true time. The slowest clock is right and the fastest is `apartMs` ahead, so a row may also be
 * that far ahead. Count the work that starts without waiting in an interval, less what was given back in it. It is at most what an
 * interval longer by `apartMs` lets in. For a sliding window it is at most `rate`, in any interval shorter than the period by
 * `apartMs`. Work that waits counts when it starts, and may be what came back up to `apartMs` before. One row needs this much, and
 * several rows need no more.
 */
import type { RateLimitedJob } from "convex-rate-limits/jobs";
import fc from "fast-check";
import type { TokensConfig } from "../support/configs.js";
import { isLess, minus, plus, type Rational, rational, ZERO } from "../support/rational.js";
import { accrued, END_OF_WALK } from "./accrual.js";
import { after, capacityOf, countIn, portion, T0, wait } from "./arbitraries.js";
import { expectBounded, type Movement } from "./bounded.js";
import { type Calls, holds, inEveryWorld } from "./world.js";

/** The most that may go out from one time to another, less what comes back. Undefined if the interval has no bound. */
function bound(config: TokensConfig, from: number, to: number, apartMs: number): Rational | undefined {
  if (config.kind !== "sliding window") return plus(rational(capacityOf(config)), accrued(config, from, to + apartMs));
  return to - from < config.period - apartMs ? rational(config.rate) : undefined;
}

const event = fc.record({
  act: fc.constantFrom("take", "take", "reserve", "schedule", "refund", "refund", "cancel", "take and refund", "sweep"),
  wait,
  portion,
  /** The number of calls at once. */
  times: fc.constantFrom(1, 1, 1, 2, 5),
  ahead: fc.constantFrom(0, 0, 0.5, 1),
  which: fc.nat(5),
});
const events = fc.array(event, { minLength: 10, maxLength: 60, size: "max" });
const apart = fc.constantFrom(0, 1, 20, 300, 5000);

inEveryWorld("Law 1 where clocks disagree: several rows let through what one row does", ({ worlds, subject }) => {
  const isSliding = subject.title === "a sliding window";
  holds(
    "with refunds, cancelled jobs, calls at once and sweeps, in no interval of the true time",
    { runs: 200, least: { taken: 100, returned: 100, waited: isSliding ? 20 : -1 } },
    [worlds, subject.exact, apart, events],
    async (open, any, apartMs, events, seen) => {
      const world = open();
      const config = isSliding ? any : { ...any, maxReserved: 0 };
      const movements: Movement[] = [];
      const jobs: { job: RateLimitedJob; start: Movement }[] = [];
      let now = T0;
      let retryAt: number | undefined;
      const readClock = (part: number) => {
        world.setClock(now + Math.floor(part * apartMs));
      };
      const start = (count: number, at = now) => {
        const waits = at > Date.now();
        const movement = { at: waits ? at : now, count: rational(count) };
        movements.push(movement);
        if (waits) seen.waited++;
        return movement;
      };
      const giveBack = (count: number) => {
        movements.push({ at: now, count: minus(ZERO, rational(count)) });
        seen.returned++;
      };
      for (const { act, wait, times, ahead, portion, which } of events) {
        now = after(wait, config, now, retryAt);
        if (now + apartMs >= END_OF_WALK) break;
        const count = countIn(config, false, portion);
        if (count === 0) continue;
        const makeOne = async ({ consume, adjust, schedule, cancel, sweep }: Calls): Promise<void> => {
          if (act === "sweep") await sweep();
          else if (act === "schedule") {
            const scheduled = await schedule({ config, count });
            if (scheduled.ok) jobs.push({ job: scheduled.job, start: start(count, scheduled.runAt) });
          } else if (act === "cancel") {
            const [canceled] = jobs.splice(which, 1);
            if (!canceled) return;
            await cancel(canceled.job);
            // One that has not started yet never does.
            if (canceled.start.at > now) movements.splice(movements.indexOf(canceled.start), 1);
            else giveBack(canceled.job.count);
          } else if (act !== "refund") {
            const status = await consume({ config, count, reserve: act === "reserve" });
            ({ retryAt } = status);
            if (status.ok) start(count, retryAt);
          }
          // By a clock that is right, of what one ahead may have taken.
          if (act === "take and refund") readClock(0);
          if (act === "refund" || act === "take and refund") {
            await adjust({ config, count: -count });
            giveBack(count);
          }
        };
        readClock(ahead);
        await world.mutation((calls) => Promise.all(Array.from({ length: times }, () => makeOne(calls))));
      }
      seen.taken += movements.length;
      movements.sort((a, b) => a.at - b.at);
      const given = movements.filter(({ count }) => isLess(count, ZERO));
      expectBounded(config, movements, (from, to) => {
        const most = bound(config, from.at, to, apartMs);
        if (!most || !isSliding) return most;
        // Also in the millisecond of the first work, but before it.
        const isBefore = (back: Movement) => movements.indexOf(back) < movements.indexOf(from);
        const before = given.filter((back) => from.at - apartMs <= back.at && isBefore(back));
        return before.reduce((sum, { count }) => minus(sum, count), most);
      });
    },
  );
});
