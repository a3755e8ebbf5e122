/** Random scenarios for the fuzzer: limits that count exactly, clocks that stand still, jump and step back, calls at once. */
import fc from "fast-check";
import { configsOf, exactConfig, type Portion, type Wait, weighted } from "../laws/arbitraries.js";
import { type ExactLimit, lengthOf, type Reserve, sizeOf } from "./exact/config.js";
import { over, rational } from "./rational.js";
import type { Shards } from "../support/stage.js";

const SECOND = 1000;
const HOUR = 3_600_000;

type Kind = ExactLimit["kind"];
export const allKinds = ["token bucket", "fixed window", "sliding window"] as const;

const periods = fc.constantFrom(1, 10, 100, SECOND, 10 * SECOND, 60 * SECOND, HOUR, 24 * HOUR);
const fieldsOfAny = fc.record({
  rate: fc.constantFrom(1, 2, 3, 5, 10, 60, 100, 1000, 2.5, 0.5),
  period: periods,
  /** With room for the debts of a scenario: a limit without a bound still cuts off beyond 1,000 buckets. */
  capacity: fc.constantFrom(undefined, 1, 2, 5, 10, 20.5, 64, 100, 1000),
  maxReserved: fc.constantFrom(undefined, 0, 1, 5, 20, 100),
});
const calendars = fc.oneof(
  fc.record({ period: fc.constant("day" as const), anchor: fc.constantFrom(undefined, 0, 90, 1439) }),
  fc.record({ period: fc.constant("week" as const), anchor: fc.constantFrom(undefined, 1, 4, 7) }),
  fc.record({ period: fc.constant("month" as const), anchor: fc.constantFrom(undefined, 1, 15, 31) }),
);
const zones = fc.constantFrom(undefined, "UTC", "Etc/GMT+5", "Asia/Kolkata");
const starts = fc.constantFrom(0, 1, 12_345, Date.UTC(2026, 0, 1), undefined);
const anyWindow = weighted<object>(
  [3, fc.record({ period: periods, start: starts })],
  [1, fc.tuple(calendars, zones).map(([calendar, timeZone]) => ({ ...calendar, timeZone }))],
);

function limitOf(kind: Kind): fc.Arbitrary<ExactLimit> {
  if (kind === "sliding window")
    return fieldsOfAny.map(({ rate, period, maxReserved }) => ({ kind, rate, period, maxReserved }));
  const windows = kind === "fixed window" ? anyWindow : fc.constant({});
  return fc.tuple(fieldsOfAny, windows).map(([fields, window]) => withCapacity({ kind, ...fields, ...window }));
}

function withCapacity(config: { kind: Kind; rate: number; capacity?: number | undefined }): ExactLimit {
  return { ...config, capacity: config.capacity ?? config.rate } as ExactLimit;
}

/** Any limit that counts in thousandths of a token: odd rates, fractions of a millisecond, nothing that can be saved up. */
const anyLimit = exactConfig.map(withCapacity).filter(countsDebts);

/** The debt of a day of the rate fits in thousandths (2^50 units); without that, a limit counts in hundredths. */
function countsDebts(limit: ExactLimit): boolean {
  const perDay = (limit.rate / lengthOf(limit)) * 24 * HOUR;
  return perDay * Number(denominatorOf(limit)) * 1_024_000 <= 2 ** 50;
}

/** Plans between which a live limit may change. All of them count the same tokens in whole units. */
export function plansOf(kinds: readonly Kind[]): fc.Arbitrary<ExactLimit[]> {
  const own = fc.oneof(...kinds.map(limitOf));
  const odd = anyLimit.filter(({ kind }) => kinds.includes(kind));
  return someOf(kinds.every((kind) => kind === "sliding window") ? own : weighted([5, own], [1, odd]));
}

function someOf(plan: fc.Arbitrary<ExactLimit>): fc.Arbitrary<ExactLimit[]> {
  const plans = fc.array(plan, { minLength: 1, maxLength: 3 });
  return plans.map(commensurable).filter(({ length }) => length > 0);
}

/** A scenario owes less than this if `maxReserved` does not bound it. */
const UNLIMITED_DEBT = 100_000;

/**
 * The plans between which a bucket can change without rounding. Each of them can count what the others count in, and has room for
 * what the others may owe (2^50 units).
 */
function commensurable(plans: readonly ExactLimit[]): ExactLimit[] {
  const chosen: ExactLimit[] = [];
  for (const plan of plans) {
    const family = [...chosen, plan];
    const suits = (one: ExactLimit, other: ExactLimit) =>
      (1000n * denominatorOf(other)) % denominatorOf(one) === 0n &&
      (family.length === 1 ||
        (one.maxReserved ?? UNLIMITED_DEBT) * Number(denominatorOf(other)) * 1_024_000 <= 2 ** 50);
    if (family.every((one) => family.every((other) => suits(one, other)))) chosen.push(plan);
  }
  return chosen;
}

function denominatorOf({ kind, rate, period }: ExactLimit): bigint {
  return over(rational(rate), rational(kind === "token bucket" ? period : 1)).denominator;
}

const portion = weighted<Portion>(
  [12, fc.constantFrom(1, 1, 1, 2, 3).map((tokens) => ({ tokens }))],
  [3, fc.constantFrom(0.5, 0.125, 0.001, 7, 20).map((tokens) => ({ tokens }))],
  [9, fc.constantFrom(1, 0.5, 0.25, 0.1).map((share) => ({ share }))],
  [1, fc.constant({ tokens: 0 })],
);

/** A count of thousandths that the limit can serve. Work that waits may need more than the limit can hold at once. */
export function countOf(limit: ExactLimit, portion: Portion, reserve: boolean, ways = 1): number {
  const size = sizeOf(limit);
  const more = limit.kind === "sliding window" || !reserve ? 0 : Math.min(limit.maxReserved ?? size, size);
  const most = (size + more) / ways;
  const wanted = "tokens" in portion ? portion.tokens : portion.share * (size + more);
  return Math.floor(Math.min(wanted, most) * 1000) / 1000;
}

const name = fc.constantFrom("limit" as const, "limit" as const, "limit" as const, "other" as const);
type Place = { readonly name: "limit" | "other"; readonly key: string | undefined };
const anyPlace: fc.Arbitrary<Place> = fc.record({ name, key: fc.constantFrom(undefined, "alice", "alice", "bob") });
/** Nearly always one bucket, so that a call finds what the call before left. */
const onePlace = weighted<Place>([15, fc.constant<Place>({ name: "limit", key: undefined })], [1, anyPlace]);
const anyReserve = weighted<Reserve>(
  [3, fc.boolean()],
  [1, fc.constantFrom(0, 1, 100, 5000, HOUR).map((within) => ({ within }))],
);
const fewReserve = weighted<Reserve>([12, fc.constant(false)], [1, anyReserve]);
/**
 * For a call that takes the tokens that are there: the share that suffices, and whether the call asks for more than a full bucket.
 */
const anyPart = fc.record({ share: fc.constantFrom(0, 0.1, 0.5, 1), isBeyond: fc.boolean() });
export type Part = typeof anyPart extends fc.Arbitrary<infer Value> ? Value : never;
const fewParts = weighted<Part | undefined>([20, fc.constant(undefined)], [1, anyPart]);

/** How often each act comes up. */
type Weights = Readonly<Record<"take" | "ask" | "all" | "adjust" | "schedule" | "cancel", number>>;
const ANY_ACT: Weights = { take: 40, ask: 10, all: 10, adjust: 10, schedule: 20, cancel: 15 };
/** Promises that are made and given up again. */
const PROMISES: Weights = { take: 15, ask: 5, all: 2, adjust: 5, schedule: 30, cancel: 30 };
/** Reservations make one row of a bucket, so they are rare in a bucket that needs many rows. */
const FEW_PROMISES: Weights = { take: 60, ask: 10, all: 10, adjust: 20, schedule: 3, cancel: 3 };

function callsOn(
  place: fc.Arbitrary<Place>,
  { take, ask, all, adjust, schedule, cancel }: Weights,
  reserve = anyReserve,
  part: fc.Arbitrary<Part | undefined> = anyPart,
) {
  const asked = fc.record(
    { portion, reserve, part, mode: fc.constantFrom(undefined, "shadow" as const) },
    { requiredKeys: ["portion", "reserve"] },
  );
  const call = <const Act extends string, Fields>(
    weight: number,
    acts: readonly Act[],
    fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> },
  ) => ({
    arbitrary: fc.tuple(fc.constantFrom(...acts), fc.record(fields)).map(([act, args]) => ({ act, ...args })),
    weight,
  });
  const request = fc.record({ place, asked });
  return fc.oneof(
    call(take, ["take"], { place, asked, throws: fc.boolean(), refundable: fc.constantFrom(undefined, false, true) }),
    call(ask, ["check", "get"], { place, asked }),
    call(all, ["all", "all", "checkAll"], { of: fc.array(request, { minLength: 1, maxLength: 3 }) }),
    call(adjust, ["charge", "refund"], { place, portion }),
    call(schedule, ["schedule"], { place, portion, spread: fc.constantFrom(0, 0, 0, 1, 100, 24 * HOUR) }),
    call(cancel, ["cancel"], { which: fc.nat(5), twice: fc.boolean() }),
    call(adjust, ["undo"], { which: fc.nat(8), share: fc.constantFrom(1, 1, 0.5) }),
    call(2, ["reset", "misuse"], { place }),
    call(2, ["pause"], { place, ms: fc.constantFrom(-5, 0, 1, 50, 900, 60_000) }),
    call(3, ["list"], { name, most: fc.constantFrom(1, 2, 100), onlyLimited: fc.boolean() }),
    call(2, ["sweep"], {}),
  );
}
type Calls = ReturnType<typeof callsOn>;
export type Intent = Calls extends fc.Arbitrary<infer Value> ? Value : never;

const anyMs = (min: number, max: number) => fc.integer({ min, max }).map((ms) => ({ ms }));
/** To just before, at, or just after the last promise. */
const toRetry = fc.constantFrom(-1, 0, 1).map((toRetry) => ({ toRetry }));
const somePeriods = fc.constantFrom(0.5, 1, 3, 0.25).map((periods) => ({ periods }));
const wait = weighted<Wait>(
  [4, fc.constant({ ms: 0 })],
  [4, anyMs(1, 50)],
  [2, anyMs(1, 3000)],
  [3, toRetry],
  [3, somePeriods],
  [1, fc.constantFrom(65_000, 200_000_000).map((ms) => ({ ms }))],
  [1, fc.constantFrom(1, 20, 5000, 86_400_000).map((ms) => ({ ms: -ms }))],
);
/** For busy buckets. After some of these times a few rows are cold, and are folded. */
const shortWait = weighted<Wait>(
  [30, fc.constant({ ms: 0 })],
  [120, anyMs(1, 50)],
  [45, anyMs(700, 12_000)],
  [30, toRetry],
  [15, somePeriods],
  [16, fc.constantFrom(1, 20, 300, 1500, 5000).map((ms) => ({ ms: -ms }))],
);

function stepOf(call: Calls, wait: fc.Arbitrary<Wait>, plan: fc.Arbitrary<number>, shards: fc.Arbitrary<number>) {
  return fc.record({
    wait,
    plan,
    shards,
    /** Which waiting job runs before the step, if any. */
    runs: fc.nat(8),
    /** Whether the mutation throws after its calls. */
    isUndone: fc.nat(19).map((number) => number === 19),
    calls: fc.oneof(
      fc.array(call, { minLength: 1, maxLength: 1 }),
      fc.array(call, { minLength: 2, maxLength: 5, size: "max" }),
      fc.tuple(call, fc.integer({ min: 2, max: 5 })).map(([one, times]) => Array.from({ length: times }, () => one)),
    ),
  });
}
type Step = ReturnType<typeof stepOf>;
/** The config and the number of rows change rarely, because each change makes one row of the bucket. */
const rarely = (most: number) => weighted([9, fc.constant(0)], [1, fc.nat(most)]);
const anyStep = stepOf(callsOn(anyPlace, ANY_ACT), wait, fc.nat(2), fc.nat(20));
const promisingStep = stepOf(callsOn(onePlace, PROMISES), wait, rarely(2), fc.constant(0));
const stepOnRows = stepOf(callsOn(onePlace, FEW_PROMISES, fewReserve, fewParts), shortWait, rarely(2), rarely(20));
const stepsOf = (step: Step) => fc.array(step, { minLength: 1, maxLength: 40, size: "max" });

export function planAt(plans: readonly ExactLimit[], i: number): ExactLimit {
  const plan = plans[i % plans.length];
  if (!plan) throw new Error("no plan");
  return plan;
}

function scenarioOf(plans: fc.Arbitrary<ExactLimit[]>, shards: fc.Arbitrary<readonly Shards[]>, ...steps: Step[]) {
  return fc.record({
    /** The configs of the limit named "limit". A step may change to another. */
    plans,
    /** The limit named "other". */
    other: plans.map((all) => planAt(all, 0)),
    shards,
    /** The seed of `Math.random`. */
    seed: fc.nat(),
    steps: fc.oneof(...steps.map(stepsOf)),
    /** Whether the limit is the first plan, and the others override it. */
    isOverridden: fc.nat(4).map((number) => number === 0),
  });
}
export type Scenario = ReturnType<typeof scenarioOf> extends fc.Arbitrary<infer Value> ? Value : never;

/** Every bucket on one row. */
export function oneRow(kinds: readonly Kind[]): fc.Arbitrary<Scenario> {
  return scenarioOf(plansOf(kinds), fc.constant([undefined, 1]), anyStep, promisingStep);
}

/** Enough tokens for many rows. */
function largeLimitOf(kind: Kind): fc.Arbitrary<ExactLimit> {
  return configsOf(kind, {
    rate: kind === "token bucket" ? fc.constantFrom(1, 64, 1000) : fc.constantFrom(64, 100, 1000),
    period: fc.constantFrom(100, SECOND, 60 * SECOND, HOUR),
    maxReserved: fc.constantFrom(undefined, 0, 100),
    ...(kind === "fixed window" && { start: fc.constantFrom(0, undefined) }),
    ...(kind !== "sliding window" && { capacity: fc.constantFrom(40, 64, 100.5, 1000, 4000) }),
  }) as fc.Arbitrary<ExactLimit>;
}

const anyRows = fc.constantFrom<readonly Shards[]>(
  ...(["auto", 16, 256, 2, 7, 64] as const).map((shards) => [shards]),
  [1, 2, 7, 16, 256, "auto"],
  [1, 16],
  [{ atLeast: 8 }, { atMost: 4 }, { atLeast: 16, atMost: 64 }],
);
const manyRows = fc.constantFrom<readonly Shards[]>(
  [{ atLeast: 8 }, 1, { atLeast: 32 }],
  [{ atLeast: 16, atMost: 64 }, 4],
  [{ atLeast: 64 }, { atMost: 8 }, "auto"],
  [{ atLeast: 256 }],
  ["auto"],
  [256],
);

/** Buckets on several rows, whose number may change at every call, and buckets that stay on many rows. */
export function severalRows(kinds: readonly Kind[]): fc.Arbitrary<Scenario> {
  const large = someOf(fc.oneof(...kinds.map(largeLimitOf)));
  return fc.oneof(scenarioOf(plansOf(kinds), anyRows, anyStep), scenarioOf(large, manyRows, stepOnRows));
}
