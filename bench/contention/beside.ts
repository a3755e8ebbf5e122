/**
 * Operations of an app on a hot bucket beside its plain calls, at 100, 300 and 1000 calls a second. Version 3 was exact on the plain call
 * and failed beside it, so each operation has a case.
 */
import type { Operation } from "../../tools/simulator/design.js";
import type { BucketConfig } from "../../tools/simulator/oracle.js";
import { lognormal } from "../../tools/simulator/random.js";
import type { Beside, Occasion, Scenario } from "../../tools/simulator/scenario.js";
import { type Case, type Kind, ONE, phase, SECOND, type Size, timesOf } from "./case.js";

/** The time between operations that are done now and then. */
const EVERY_SECONDS = 2;
const OURS = { ours: ["auto"], official: [], classes: ["S256"] } as const;
const BOTH = { ...OURS, official: [16, 64] } as const;

/** A token bucket that lets `perSecond` calls of `count` tokens through, and holds two seconds' worth. */
function bucket(perSecond: number, count = 1): BucketConfig {
  const rate = perSecond * count;
  return { kind: "token bucket", rate, period: SECOND, capacity: 2 * rate };
}

/** Plain calls: as many as the limit lets through. */
function calls(perSecond: number, size: Size, count = 1): Pick<Scenario, "limit" | "callers" | "seconds" | "measured"> {
  const counts = { from: count, to: count };
  return {
    limit: bucket(perSecond, count),
    callers: { kind: "open", pattern: "poisson", demand: perSecond * count, counts },
    ...timesOf(size),
  };
}

/** The times of an operation that is done now and then in the counted part of a run, and the time between two. */
function times(size: Size): { atMs: number[]; everyMs: number } {
  const { fromMs } = timesOf(size).measured;
  const count = Math.ceil(size.seconds / EVERY_SECONDS);
  const everyMs = Math.floor((size.seconds * SECOND) / count);
  return { atMs: Array.from({ length: count }, (_, i) => fromMs + (i + 0.5) * everyMs), everyMs };
}

const always = (operation: Operation) => (): Operation => operation;

interface Named {
  readonly title: string;
  readonly beside: readonly Beside[];
}

function beside(perSecond: number, size: Size, { title, beside }: Named, more: Partial<Scenario> = {}): Case {
  return {
    title: `${perSecond}/s, ${title}`,
    focus: "operations",
    scenario: { ...calls(perSecond, size), beside, ...more },
    ...OURS,
  };
}

/** A provider has answered 429, and its callers pause the bucket until the same time: a quarter of the time to the next pause. */
function pause(perSecond: number, size: Size, callers = 1): Case {
  const { atMs, everyMs } = times(size);
  // A provider says whole seconds. The unit is smaller here, so that calls go on between two pauses.
  const unit = Math.max(1, Math.floor(everyMs / 20));
  const operation = ({ now }: Occasion): Operation => ({
    kind: "pause",
    until: Math.ceil((now + everyMs / 4) / unit) * unit,
  });
  // The callers get their answers within 50 ms, or less in a short run.
  const spread = Math.min(50, everyMs / 10) / callers;
  const all = atMs.flatMap((at) => Array.from({ length: callers }, (_, i) => at + i * spread));
  const title = callers === 1 ? "one pause at a time" : `${callers} callers pause after the same 429`;
  return beside(perSecond, size, { title, beside: [{ when: { atMs: all }, operation }] });
}

function charge(perSecond: number, size: Size): Case {
  const when = { atMs: times(size).atMs };
  const one: Beside = { when, operation: always({ kind: "adjust", count: 25 }) };
  return beside(perSecond, size, { title: "one charge of 25 tokens at a time", beside: [one] });
}

/** The estimate of a call to a model, and what it uses: a heavy tail, so that the mean use is 1.3 times the estimate. */
const ESTIMATE = 1000;
const USED = { median: 700, p99: 10_000 };

function settle(perSecond: number, size: Size): Case {
  const operation = ({ random, takenAt }: Occasion): Operation => ({
    kind: "adjust",
    count: Math.round(lognormal(random, USED)) - ESTIMATE,
    takenAt,
  });
  return beside(
    perSecond,
    size,
    { title: "calls of 1000 tokens, settled 300 ms later", beside: [{ when: { afterMs: 300 }, operation }] },
    { ...calls(perSecond, size, ESTIMATE), limit: bucket(Math.ceil(perSecond / 0.75), ESTIMATE), refundable: true },
  );
}

function refunds(perSecond: number, size: Size): Case {
  const operation = ({ random, takenAt }: Occasion): Operation | undefined =>
    random() < 0.3 ? { kind: "adjust", count: -1, takenAt } : undefined;
  return beside(
    perSecond,
    size,
    { title: "30 % of the calls come back by date 300 ms later", beside: [{ when: { afterMs: 300 }, operation }] },
    { refundable: true },
  );
}

/** At half the rate: most rows are full, and have no room. */
function gifts(perSecond: number, size: Size): Case {
  const operation = ({ random }: Occasion): Operation | undefined =>
    random() < 0.3 ? { kind: "adjust", count: -1 } : undefined;
  return beside(
    perSecond,
    size,
    {
      title: "half the rate, and 30 % of it comes back without a date",
      beside: [{ when: { afterMs: 300 }, operation }],
    },
    { limit: bucket(2 * perSecond) },
  );
}

function unlimited(perSecond: number, size: Size): Case {
  const operation = always({ kind: "override", way: { unlimited: true } });
  return beside(
    perSecond,
    size,
    {
      title: "four times the rate, under an override unlimited",
      beside: [{ when: { atMs: [0, ...times(size).atMs] }, operation }],
    },
    { limit: bucket(perSecond / 4), isUnbounded: true },
  );
}

function block(perSecond: number, size: Size): Case {
  const { atMs, everyMs } = times(size);
  const ends = atMs.map((at) => at + everyMs / 4);
  const both: Beside[] = [
    { when: { atMs }, operation: always({ kind: "override", way: { block: true } }) },
    { when: { atMs: ends }, operation: always({ kind: "clear override" }) },
  ];
  return beside(perSecond, size, { title: "an override block, and its end", beside: both });
}

function reset(perSecond: number, size: Size): Case {
  const one: Beside = { when: { atMs: times(size).atMs }, operation: always({ kind: "reset" }) };
  const of = beside(perSecond, size, { title: "one reset at a time", beside: [one] }, { isUnbounded: true });
  return { ...of, official: BOTH.official };
}

/** Together they ask for half more than the limit lets through, and little is saved up, so reservations wait. */
function reservationsBeside(perSecond: number, size: Size): Case {
  const operation = always({ kind: "take", ask: { count: 1, reserve: true } });
  const one: Beside = { when: { perSecond }, operation };
  const rate = Math.ceil((300 + perSecond) / 1.5);
  const limit = { ...bucket(rate), capacity: Math.ceil(rate / 2) };
  const of = beside(300, size, { title: `${perSecond} reservations a second beside them`, beside: [one] }, { limit });
  return { ...of, official: BOTH.official };
}

/** Each call first checks, in the same mutation. */
function check(perSecond: number, size: Size): Case {
  const title = `${perSecond}/s, checkRateLimit before rateLimit in one mutation`;
  return { title, scenario: { ...calls(perSecond, size), checks: true }, ...BOTH };
}

/** The plans differ in rate and capacity, not in kind and period. */
function plans(perSecond: number, size: Size): Case {
  const [small, large] = [bucket(perSecond), bucket(2 * perSecond)];
  const scenario = { ...calls(perSecond, size), limit: large, plans: [small, large] };
  return { title: `${perSecond}/s, two plans in turn`, scenario, ...BOTH };
}

/** The global limit is the hot one. Each call also asks the limit of its user. */
function userAndGlobal(perSecond: number, size: Size): Case {
  const scenario = { ...calls(perSecond, size), bundleOf: 2 };
  return { title: `${perSecond}/s, a user's limit and a global one in one call`, scenario, ...BOTH };
}

/** A deploy lowers rate and capacity by a third, and another one raises them again. */
function deploy(perSecond: number, size: Size): Case {
  const { fromMs } = timesOf(size).measured;
  const thirdMs = (size.seconds * SECOND) / 3;
  const [limit, lower] = [bucket(1.5 * perSecond), bucket(perSecond)];
  const changes = [
    { atMs: fromMs + thirdMs, limit: lower },
    { atMs: fromMs + 2 * thirdMs, limit },
  ];
  const scenario = { ...calls(perSecond, size), limit, changes };
  return { title: `${perSecond}/s, deploys change rate and capacity`, scenario, ...BOTH };
}

/**
 * Twice as many callers as the limit lets through: each wants a token a second, and calls again at `retryAt` until it gets it. A window is
 * half of the counted time, or a quarter of a second in a short run, and begins with it.
 */
function obey(kind: Kind, perSecond: number, { seconds }: Size): Case {
  const period = kind === "token bucket" ? SECOND : Math.max(SECOND / 4, Math.ceil((seconds * SECOND) / 2));
  const rate = Math.round((perSecond * period) / SECOND);
  return {
    title: `${2 * perSecond} callers who obey retryAt, ${perSecond} tokens a second, ${kind} of ${period / SECOND} s`,
    focus: "obedience",
    scenario: {
      limit: { kind, rate, period, capacity: rate, ...phase(kind) },
      callers: { kind: "closed", obey: true, callers: 2 * perSecond, thinkMs: SECOND, counts: ONE, keys: "shared" },
      seconds: (3 * period) / SECOND,
      measured: { fromMs: period, toMs: 3 * period },
    },
    ...OURS,
    // 64 shards of the official component hold less than a token of a short window.
    official: { "token bucket": BOTH.official, "fixed window": [16], "sliding window": [] }[kind],
  };
}

export const BESIDE = {
  "pause-100": (size: Size) => pause(100, size),
  "pause-300": (size: Size) => pause(300, size),
  "pause-1000": (size: Size) => pause(1000, size),
  "pause-ten-100": (size: Size) => pause(100, size, 10),
  "pause-ten-300": (size: Size) => pause(300, size, 10),
  "pause-ten-1000": (size: Size) => pause(1000, size, 10),
  "settle-100": (size: Size) => settle(100, size),
  "settle-300": (size: Size) => settle(300, size),
  "settle-1000": (size: Size) => settle(1000, size),
  "charge-100": (size: Size) => charge(100, size),
  "charge-300": (size: Size) => charge(300, size),
  "charge-1000": (size: Size) => charge(1000, size),
  "unlimited-100": (size: Size) => unlimited(100, size),
  "unlimited-300": (size: Size) => unlimited(300, size),
  "unlimited-1000": (size: Size) => unlimited(1000, size),
  "block-100": (size: Size) => block(100, size),
  "block-300": (size: Size) => block(300, size),
  "block-1000": (size: Size) => block(1000, size),
  "check-100": (size: Size) => check(100, size),
  "check-300": (size: Size) => check(300, size),
  "check-1000": (size: Size) => check(1000, size),
  "plans-100": (size: Size) => plans(100, size),
  "plans-300": (size: Size) => plans(300, size),
  "plans-1000": (size: Size) => plans(1000, size),
  "reserve-20": (size: Size) => reservationsBeside(20, size),
  "reserve-60": (size: Size) => reservationsBeside(60, size),
  "reserve-200": (size: Size) => reservationsBeside(200, size),
  "reset-100": (size: Size) => reset(100, size),
  "reset-300": (size: Size) => reset(300, size),
  "reset-1000": (size: Size) => reset(1000, size),
  "refunds-100": (size: Size) => refunds(100, size),
  "refunds-300": (size: Size) => refunds(300, size),
  "refunds-1000": (size: Size) => refunds(1000, size),
  "gifts-100": (size: Size) => gifts(100, size),
  "gifts-300": (size: Size) => gifts(300, size),
  "gifts-1000": (size: Size) => gifts(1000, size),
  "user-and-global-100": (size: Size) => userAndGlobal(100, size),
  "user-and-global-300": (size: Size) => userAndGlobal(300, size),
  "user-and-global-1000": (size: Size) => userAndGlobal(1000, size),
  "obey-bucket-100": (size: Size) => obey("token bucket", 100, size),
  "obey-bucket-300": (size: Size) => obey("token bucket", 300, size),
  "obey-bucket-1000": (size: Size) => obey("token bucket", 1000, size),
  "obey-fixed-100": (size: Size) => obey("fixed window", 100, size),
  "obey-fixed-300": (size: Size) => obey("fixed window", 300, size),
  "obey-fixed-1000": (size: Size) => obey("fixed window", 1000, size),
  "obey-sliding-100": (size: Size) => obey("sliding window", 100, size),
  "obey-sliding-300": (size: Size) => obey("sliding window", 300, size),
  "obey-sliding-1000": (size: Size) => obey("sliding window", 1000, size),
  "deploy-100": (size: Size) => deploy(100, size),
  "deploy-300": (size: Size) => deploy(300, size),
  "deploy-1000": (size: Size) => deploy(1000, size),
} as const;
