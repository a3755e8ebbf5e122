/**
 * Law 1 where clocks disagree, in true time. The slowest clock is right and the fastest is `apartMs` ahead, so a row may also stand that
 * far ahead. Count the work that starts without waiting in an interval, less what was given back in it. It is at most what an interval
 * longer by `apartMs` lets in. For a sliding window it is at most `rate`, in any interval shorter than the period by `apartMs`, and work
 * that waits counts when it starts. One row needs this much, and several rows need no more.
 */
import type { RateLimitConfig, RateLimitedJob } from "convex-rate-limits";
import fc from "fast-check";
import { expect } from "vitest";
import { isLess, minus, plus, type Rational, rational, ZERO } from "../model/rational.js";
import { accrued, END_OF_WALK } from "./accrual.js";
import { capacityOf } from "./capacity.js";
import { after, countIn, type Portion, portion, T0, type Wait, wait } from "./arbitraries.js";
import { type Calls, holds, inEveryWorld, type World } from "./world.js";

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

type Act = "take" | "reserve" | "schedule" | "refund" | "cancel" | "take and refund" | "sweep";

function eventsOf(
  acts: readonly Act[],
  wait: fc.Arbitrary<Wait>,
  portion: fc.Arbitrary<Portion>,
  minLength: number,
  maxLength: number,
) {
  const event = fc.record({
    act: fc.constantFrom(...acts),
    wait,
    portion,
    /** So many calls at once. */
    times: fc.constantFrom(1, 1, 1, 2, 5),
    ahead: fc.constantFrom(0, 0, 0.5, 1),
    which: fc.nat(5),
  });
  return fc.array(event, { minLength, maxLength, size: "max" });
}
type Events = ReturnType<typeof eventsOf> extends fc.Arbitrary<infer Value> ? Value : never;

const acts = [
  "take",
  "take",
  "take",
  "reserve",
  "schedule",
  "refund",
  "refund",
  "cancel",
  "take and refund",
  "sweep",
] as const;
const apart = fc.constantFrom(0, 1, 20, 300, 5000);

/** Plays events by clocks that disagree, and counts what was seen. */
async function play(
  world: World,
  config: RateLimitConfig,
  apartMs: number,
  events: Events,
  seen: Record<"taken" | "returned" | "waited", number>,
) {
  const movements: Movement[] = [];
  const jobs: { job: RateLimitedJob; start: Movement }[] = [];
  let now = T0;
  let retryAt: number | undefined;
  const readClock = (part: number) => {
    world.setClock(now + Math.floor(part * apartMs));
  };
  const start = (count: number, at = now) => {
    if (at > now) seen.waited++;
    const movement = { at, count: rational(count) };
    movements.push(movement);
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
    const call = async ({ consume, adjust, schedule, cancel, sweep }: Calls): Promise<void> => {
      if (act === "sweep") await sweep();
      if (act === "take" || act === "take and refund" || act === "reserve") {
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
      if (act === "schedule") {
        const scheduled = await schedule({ config, count });
        if (scheduled.ok) jobs.push({ job: scheduled.job, start: start(count, scheduled.runAt) });
      }
      if (act === "cancel") {
        const [canceled] = jobs.splice(which, 1);
        if (!canceled) return;
        await cancel(canceled.job);
        // One that has not started yet never does.
        if (canceled.start.at > now) movements.splice(movements.indexOf(canceled.start), 1);
        else giveBack(canceled.job.count);
      }
    };
    readClock(ahead);
    await world.mutation((calls) => Promise.all(Array.from({ length: times }, () => call(calls))));
  }
  seen.taken += movements.length;
  expectBounded(
    config,
    movements.sort((a, b) => a.at - b.at),
    apartMs,
  );
}

inEveryWorld(
  "Law 1, bound where clocks disagree: several rows let through what one row does",
  ({ worlds, subject }) => {
    holds(
      "with refunds, cancelled jobs and sweeps, in no interval of the true time",
      { runs: 200, least: { taken: 100, returned: 100, waited: 0 } },
      [worlds, subject.exact, apart, eventsOf(acts, wait, portion, 10, 60)],
      async (open, any, apartMs, events, seen) => {
        // Only a sliding window's promises are within the bound of its own clock.
        const config = any.kind === "sliding window" ? any : { ...any, maxReserved: 0 };
        await play(open(), config, apartMs, events, seen);
      },
    );

    if (subject.title !== "a sliding window") return;
    const soon = fc.nat(1200).map((ms) => ({ ms }));
    const one = fc.constant({ tokens: 1 });
    const busy = ["take", "take", "take", "reserve", "schedule", "cancel"] as const;
    const limit = fc.record({
      kind: fc.constant("sliding window" as const),
      rate: fc.constantFrom(100, 200),
      period: fc.constant(60_000),
    });
    holds(
      "of more moments than a row keeps apart",
      { runs: 60, least: { taken: 100, returned: 0, waited: 10 } },
      [worlds, limit, apart, eventsOf(busy, soon, one, 150, 250)],
      async (open, config, apartMs, events, seen) => {
        await play(open(), config, apartMs, events, seen);
      },
    );
  },
);
