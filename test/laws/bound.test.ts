/**
 * Law 1, with its terms made precise. Moments are whole milliseconds, windows those of the limit's phase, and reserved work
 * counts when it runs.
 * - Token bucket and fixed window: an interval starts at most `capacity + rate * T / period` tokens. If its first work had been
 *   waiting for a reservation, that work stands in for the saved-up capacity. A single job may be larger than the capacity, and it starts
 *   as a whole. Its last token may have come in at any time during the millisecond (or window) in which it starts.
 * - Sliding window: at most `rate` tokens start in any `period`, wherever it begins.
 * On several rows the bounds are the same. With refunds, cancelled jobs, charges, changes of the config and clocks that step back
 * the bound is an account of what has come in and gone out (account.ts): nothing starts that it cannot pay.
 */
import type { RateLimitConfig, RateLimitedJob } from "convex-rate-limits";
import fc from "fast-check";
import { expect } from "vitest";
import { worstInterval } from "../engine/kinds/slidingBrute.js";
import { fraction, greatest, isLess, plus, type Rational, rational, times, ZERO } from "../model/rational.js";
import { refillingAccount, slidingAccount } from "./account.js";
import { arrivingAt, END_OF_WALK, perStep, stepAt } from "./accrual.js";
import { capacityOf, withCapacity } from "./capacity.js";
import { after, countIn, portion, type Step, stepsUpTo, T0, wait } from "./arbitraries.js";
import { holds, inEveryWorld, type World } from "./world.js";

interface Start {
  readonly at: number;
  readonly count: number;
  readonly waited: boolean;
}

/** Plays the steps, and says what work started when. */
async function startsOf(world: World, config: RateLimitConfig, steps: readonly Step[]): Promise<Start[]> {
  const starts: Start[] = [];
  await world.walk(config, steps, async (request, now) => {
    const { ok, retryAt } = await world.consume(request);
    if (ok) starts.push({ at: retryAt ?? now, count: request.count, waited: retryAt !== undefined });
    return retryAt;
  });
  return starts.sort((a, b) => a.at - b.at).filter(({ at }) => at < END_OF_WALK);
}

/** The most that may start from the first of some starts on, until `to`. */
function boundFrom(config: RateLimitConfig, { at, count, waited }: Start, to: number): Rational {
  const capacity = rational(capacityOf(config));
  const first = waited ? greatest(capacity, plus(rational(count), arrivingAt(config, at))) : capacity;
  return plus(first, times(perStep(config), fraction(stepAt(config, to) - stepAt(config, at), 1n)));
}

function expectBounded(config: RateLimitConfig, starts: readonly Start[]): void {
  if (config.kind === "sliding window") {
    const worst = worstInterval(starts, config);
    if (!worst.isWithin) expect.fail(`${JSON.stringify({ from: worst.from, config, starts })} starts too much`);
    return;
  }
  for (const [i, first] of starts.entries()) {
    let total = ZERO;
    for (const { at, count } of starts.slice(i)) {
      total = plus(total, rational(count));
      if (isLess(boundFrom(config, first, at), total)) {
        expect.fail(`${JSON.stringify({ from: first.at, to: at, config, starts })} starts too much`);
      }
    }
  }
}

/** What a limit may become while it is live, in the same whole units of a token. */
const change = fc.record({
  rate: fc.constantFrom(1, 0.5, 2),
  capacity: fc.constantFrom(1, 0.5, 2),
  period: fc.constantFrom(1, 10),
});
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

/** The largest of what a limit may become. */
function largest(config: RateLimitConfig): RateLimitConfig {
  return changed(config, { rate: 2, capacity: 2, period: 1 });
}

function changed(config: RateLimitConfig, { rate, capacity, period }: Change): RateLimitConfig {
  const next = { ...config, rate: config.rate * rate, maxReserved: 1000 };
  if (config.kind === "sliding window") return { ...next, period: config.period * period };
  const saved = Math.ceil(capacityOf(config) * capacity);
  // The windows of a calendar stay what they are.
  const longer = typeof config.period === "string" ? config.period : config.period * period;
  return withCapacity({ ...next, period: longer } as RateLimitConfig, saved);
}

const act = fc.oneof(
  { arbitrary: fc.constantFrom("take" as const, "reserve" as const), weight: 8 },
  { arbitrary: fc.constant("schedule" as const), weight: 3 },
  { arbitrary: fc.constantFrom("refund" as const, "charge" as const, "cancel" as const, "change" as const), weight: 4 },
);
const event = fc.record({
  act,
  wait,
  backMs: fc.oneof(
    { arbitrary: fc.constant(0), weight: 8 },
    { arbitrary: fc.constantFrom(1, 20, 5000, 86_400_000), weight: 1 },
  ),
  portion,
  which: fc.nat(5),
  change,
});
type Event = typeof event extends fc.Arbitrary<infer Value> ? Value : never;

interface Job {
  readonly job: RateLimitedJob;
  readonly count: number;
  readonly config: RateLimitConfig;
}

/** Plays the events and the account side by side; returns how much was let through, in tokens that the account has paid. */
async function play(
  world: World,
  first: RateLimitConfig,
  events: readonly Event[],
  isOneRow: boolean,
): Promise<number> {
  const account = first.kind === "sliding window" ? slidingAccount(isOneRow) : refillingAccount();
  const jobs: Job[] = [];
  let config: RateLimitConfig = { ...first, maxReserved: 1000 };
  const isChanged = events.some(({ act }) => act === "change");
  /**
   * What a window has not used counts at once under another limit. Of several rows, each refills at a new rate from its own last
   * write, and is full if it was never written. Both grant no more than the largest limit does.
   */
  const isJudgedByLargest = first.kind === "fixed window" || (isChanged && !isOneRow && first.kind === "token bucket");
  const judge = (own: RateLimitConfig) => (isJudgedByLargest ? largest(first) : own);
  const writes = async (act: () => Promise<unknown>) => {
    const before = JSON.stringify(await world.rows());
    await act();
    return JSON.stringify(await world.rows()) !== before;
  };
  let now = T0;
  let retryAt: number | undefined;
  let started = 0;
  for (const [i, { act, wait, backMs, portion, which, change }] of events.entries()) {
    now = after(wait, config, now, retryAt) - backMs;
    if (now >= END_OF_WALK) return started;
    world.setClock(now);
    const isReserving = act === "reserve" || act === "schedule";
    const count = countIn(config, isReserving, portion);
    const start = (at: number) => {
      if (count === 0) return;
      started++;
      // Far debts are paid after the walk over the calendar has ended.
      if (account.start(judge(config), now, count, Math.min(at, END_OF_WALK)) || at > END_OF_WALK) return;
      expect.fail(`${JSON.stringify({ config, now, at, event: i, count })} starts what cannot be there`);
    };
    switch (act) {
      case "take":
      case "reserve": {
        const status = await world.consume({ config, count, reserve: isReserving });
        ({ retryAt } = status);
        if (status.ok) start(retryAt ?? now);
        break;
      }
      case "schedule": {
        const scheduled = await world.schedule({ config, count });
        if (!scheduled.ok) break;
        start(scheduled.runAt);
        if (count > 0) jobs.push({ job: scheduled.job, count, config });
        break;
      }
      case "charge":
        if (count === 0) break;
        await world.adjust({ config, count });
        account.charge(judge(config), now, count);
        break;
      case "refund":
        if (count === 0) break;
        if (await writes(() => world.adjust({ config, count: -count }))) account.giveBack(judge(config), now, count);
        break;
      case "cancel": {
        const found = jobs.splice(which, 1)[0];
        // The job is on a light backend, and runs when it is due.
        if (!found || found.job.runAt <= now) break;
        if (await writes(() => world.cancel(found.job))) {
          account.giveBack(judge(found.config), now, found.count, found.job.runAt);
        }
        break;
      }
      case "change":
        config = changed(first, change);
    }
  }
  return started;
}

inEveryWorld("Law 1, bound: no interval starts more than the limit promises", ({ worlds, subject, isOneRow }) => {
  holds(
    "whatever is asked when, and counting reserved work when it runs",
    { runs: 100, least: { started: 100 } },
    [worlds, subject.exact, stepsUpTo(40)],
    async (open, config, steps, seen) => {
      const starts = await startsOf(open(), config, steps);
      seen.started += starts.length;
      expectBounded(config, starts);
    },
  );

  // Tokens that are whole units of every config that the limit may become.
  const whole = subject.exact.filter((config) => {
    const { rate, period } = config;
    const isPlain = [1, 10, 2.5, 60, 0.1].includes(rate) && capacityOf(config) <= 60;
    return isPlain && (typeof period === "string" || [1, 16, 125, 1000, 60_000, 3_600_000].includes(period));
  });
  holds(
    "with refunds, charges, cancelled jobs, changes of the config, and clocks that step back",
    { runs: 200, least: { started: 200 } },
    [worlds, whole, fc.array(event, { minLength: 10, maxLength: 40, size: "max" })],
    async (open, config, events, seen) => {
      seen.started += await play(open(), config, events, isOneRow);
    },
  );

  const single = fc.array(fc.record({ wait, portion: fc.constant({ tokens: 1 }), reserve: fc.boolean() }), {
    minLength: 10,
    maxLength: 40,
    size: "max",
  });
  holds(
    "a window starts at most max(capacity, rate) when work comes token by token, reserved or not",
    { runs: 60 },
    [worlds, subject.exact, fc.integer({ min: 1, max: 6 }), fc.nat({ max: 8 }), single],
    async (open, any, rate, capacity, steps) => {
      const isSliding = any.kind === "sliding window";
      if (!isSliding && any.kind !== "fixed window") return;
      const config = { ...any, rate, maxReserved: 100, ...(!isSliding && { capacity }) } as RateLimitConfig;
      const starts = await startsOf(open(), config, steps);
      if (isSliding) {
        expectBounded(config, starts);
        return;
      }
      const perWindow = new Map<bigint, number>();
      for (const { at, count } of starts) {
        const window = stepAt(config, at);
        perWindow.set(window, (perWindow.get(window) ?? 0) + count);
      }
      expect(Math.max(0, ...perWindow.values())).toBeLessThanOrEqual(Math.max(capacity, rate));
    },
  );
});
