/** Random scenarios for the fuzzer: limits that count exactly, clocks that stand still, jump and step back, calls at once. */
import fc from "fast-check";
import { configsOf, exactConfig, type Portion, type Wait } from "../laws/arbitraries.js";
import { type ExactLimit, lengthOf, type Reserve, sizeOf } from "./exact/config.js";
import { over, rational } from "./rational.js";
import type { Shards } from "../support/stage.js";

const SECOND = 1000;
const HOUR = 3_600_000;

type Kind = ExactLimit["kind"];

const rates = fc.constantFrom(1, 2, 3, 5, 10, 60, 100, 1000, 2.5, 0.5);
const periods = fc.constantFrom(1, 10, 100, SECOND, 10 * SECOND, 60 * SECOND, HOUR, 24 * HOUR);
/** With room for the debts of a scenario: a limit without a bound still cuts off beyond 1,000 buckets. */
const capacities = fc.constantFrom(undefined, 1, 2, 5, 10, 20.5, 64, 100, 1000);
const reserves = fc.constantFrom(undefined, 0, 1, 5, 20, 100);
const starts = fc.constantFrom(0, 1, 12_345, Date.UTC(2026, 0, 1), undefined);
const calendars = fc.oneof(
  fc.record({ period: fc.constant("day" as const), anchor: fc.constantFrom(undefined, 0, 90, 1439) }),
  fc.record({ period: fc.constant("week" as const), anchor: fc.constantFrom(undefined, 1, 4, 7) }),
  fc.record({ period: fc.constant("month" as const), anchor: fc.constantFrom(undefined, 1, 15, 31) }),
);
const zones = fc.constantFrom(undefined, "UTC", "Etc/GMT+5", "Asia/Kolkata");

function limitOf(kind: Kind): fc.Arbitrary<ExactLimit> {
  const fields = fc.record({ rate: rates, period: periods, given: capacities, maxReserved: reserves });
  const windows = fc.oneof(
    { arbitrary: fc.record({ period: periods, start: starts }), weight: 3 },
    { arbitrary: fc.tuple(calendars, zones).map(([calendar, timeZone]) => ({ ...calendar, timeZone })), weight: 1 },
  );
  switch (kind) {
    case "token bucket":
      return fields.map(({ given, ...each }) => ({ kind, ...each, capacity: given ?? each.rate }));
    case "fixed window":
      return fc
        .tuple(fields, windows)
        .map(([{ given, ...each }, window]) => ({ kind, ...each, capacity: given ?? each.rate, ...window }));
    case "sliding window":
      return fields.map(({ rate, period, maxReserved }) => ({ kind, rate, period, maxReserved }));
  }
}

/** Any limit that counts in thousandths of a token: odd rates, fractions of a millisecond, nothing that can be saved up. */
const anyLimit: fc.Arbitrary<ExactLimit> = exactConfig
  .map((config) => ({ ...config, capacity: config.capacity ?? config.rate }) as ExactLimit)
  .filter(countsDebts);

/** The debt of a day of the rate fits in thousandths (2^50 units); without that, a limit counts in hundredths. */
function countsDebts(limit: ExactLimit): boolean {
  const perDay = (limit.rate / lengthOf(limit)) * 24 * HOUR;
  return perDay * Number(denominatorOf(limit)) * 1_024_000 <= 2 ** 50;
}

export const allKinds = ["token bucket", "fixed window", "sliding window"] as const;

/** Plans that a live limit may change between, in which the same tokens are whole units. */
export function plansOf(kinds: readonly Kind[]): fc.Arbitrary<ExactLimit[]> {
  const odd = anyLimit.filter(({ kind }) => kinds.includes(kind));
  const own = fc.oneof(...kinds.map(limitOf));
  const plan = kinds.every((kind) => kind === "sliding window")
    ? own
    : fc.oneof({ arbitrary: own, weight: 5 }, { arbitrary: odd, weight: 1 });
  return fc
    .array(plan, { minLength: 1, maxLength: 3 })
    .map(commensurable)
    .filter(({ length }) => length > 0);
}

/** More than any scenario can owe where `maxReserved` does not say. */
const UNLIMITED_DEBT = 100_000;

/**
 * The plans among which a bucket can change without rounding: what one counts in, the others can count too, and what one
 * may owe, the others have room for (2^50 units).
 */
function commensurable(plans: readonly ExactLimit[]): ExactLimit[] {
  const chosen: ExactLimit[] = [];
  for (const plan of plans) {
    const family = [...chosen, plan];
    const fits = family.every((one) =>
      family.every(
        (other) =>
          (1000n * denominatorOf(other)) % denominatorOf(one) === 0n &&
          (family.length === 1 ||
            (one.maxReserved ?? UNLIMITED_DEBT) * Number(denominatorOf(other)) * 1_024_000 <= 2 ** 50),
      ),
    );
    if (fits) chosen.push(plan);
  }
  return chosen;
}

function denominatorOf({ kind, rate, period }: ExactLimit): bigint {
  return over(rational(rate), rational(kind === "token bucket" ? period : 1)).denominator;
}

const anyPortion: fc.Arbitrary<Portion> = fc.oneof(
  { arbitrary: fc.constantFrom(1, 1, 1, 2, 3).map((tokens) => ({ tokens })), weight: 12 },
  { arbitrary: fc.constantFrom(0.5, 0.125, 0.001, 7, 20).map((tokens) => ({ tokens })), weight: 3 },
  { arbitrary: fc.constantFrom(1, 0.5, 0.25, 0.1).map((share) => ({ share })), weight: 9 },
  { arbitrary: fc.constant({ tokens: 0 }), weight: 1 },
);
/** A count of thousandths that the limit can serve; of work that waits, perhaps more than it can hold at once. */
export function countOf(limit: ExactLimit, portion: Portion, reserve: boolean, ways = 1): number {
  const size = sizeOf(limit);
  const more = limit.kind === "sliding window" || !reserve ? 0 : Math.min(limit.maxReserved ?? size, size);
  const most = (size + more) / ways;
  const wanted = "tokens" in portion ? portion.tokens : portion.share * (size + more);
  return Math.floor(Math.min(wanted, most) * 1000) / 1000;
}

const key: fc.Arbitrary<string | undefined> = fc.constantFrom(undefined, "alice", "alice", "bob");
const name = fc.constantFrom("limit" as const, "limit" as const, "limit" as const, "other" as const);
type Place = { readonly name: "limit" | "other"; readonly key: string | undefined };
const anyPlace: fc.Arbitrary<Place> = fc.record({ name, key });
/** Nearly always one bucket, so that what one call leaves there the next one finds. */
const onePlace: fc.Arbitrary<Place> = fc.oneof(
  { arbitrary: fc.constant<Place>({ name: "limit", key: undefined }), weight: 15 },
  { arbitrary: anyPlace, weight: 1 },
);
const reserve: fc.Arbitrary<Reserve> = fc.oneof(
  { arbitrary: fc.boolean(), weight: 3 },
  { arbitrary: fc.constantFrom(0, 1, 100, 5000, HOUR).map((within) => ({ within })), weight: 1 },
);
const spread = fc.constantFrom(0, 0, 0, 1, 100, 24 * HOUR);

/** How often each act comes up. */
interface Weights {
  readonly take: number;
  readonly ask: number;
  readonly all: number;
  readonly adjust: number;
  readonly schedule: number;
  readonly cancel: number;
}
const ANY_ACT: Weights = { take: 40, ask: 10, all: 10, adjust: 10, schedule: 20, cancel: 15 };
/** Promises that are made and given up again. */
const PROMISES: Weights = { take: 15, ask: 5, all: 2, adjust: 5, schedule: 30, cancel: 30 };
/** Reservations make one row of a bucket, so there are few where it is to have many. */
const FEW_PROMISES: Weights = { take: 60, ask: 10, all: 10, adjust: 20, schedule: 3, cancel: 3 };
/** Of a call that takes as much as there is, what suffices, and whether it asks for more than there ever is. */
const part = fc.record({ share: fc.constantFrom(0, 0.1, 0.5, 1), isBeyond: fc.boolean() });
export type Part = typeof part extends fc.Arbitrary<infer Value> ? Value : never;
const mode = fc.constantFrom(undefined, "shadow" as const);

/** What is asked of which bucket. */
interface Asked {
  readonly place: fc.Arbitrary<Place>;
  readonly portion: fc.Arbitrary<Portion>;
  readonly reserve: fc.Arbitrary<Reserve>;
  readonly part: fc.Arbitrary<Part | undefined>;
}

function callsOn(asked: Asked, weights: Weights) {
  const { place, portion } = asked;
  const request = fc.record({ ...asked, mode }, { requiredKeys: ["place", "portion", "reserve"] });
  const call = <const Act extends string, Fields>(
    weight: number,
    acts: readonly Act[],
    fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> },
  ) => ({
    arbitrary: fc.tuple(fc.constantFrom(...acts), fc.record(fields)).map(([act, args]) => ({ act, ...args })),
    weight,
  });
  const { take, ask, all, adjust, schedule, cancel } = weights;
  const refundable = fc.constantFrom(undefined, false, true);
  return fc.oneof(
    call(take, ["take"], { throws: fc.boolean(), of: request, refundable }),
    call(ask, ["check", "get"], { of: request }),
    call(all, ["all", "all", "checkAll"], { of: fc.array(request, { minLength: 1, maxLength: 3 }) }),
    call(adjust, ["charge", "refund"], { place, portion }),
    call(schedule, ["schedule"], { place, portion, spread }),
    call(cancel, ["cancel"], { which: fc.nat(5), twice: fc.boolean() }),
    call(adjust, ["undo"], { which: fc.nat(8), share: fc.constantFrom(1, 1, 0.5) }),
    call(2, ["reset", "misuse"], { place }),
    call(2, ["pause"], { place, ms: fc.constantFrom(-5, 0, 1, 50, 900, 60_000) }),
    call(3, ["list"], { name, most: fc.constantFrom(1, 2, 100), onlyLimited: fc.boolean() }),
    call(2, ["sweep"], {}),
  );
}
type Calls = ReturnType<typeof callsOn>;
const anyCall = callsOn({ place: anyPlace, portion: anyPortion, reserve, part }, ANY_ACT);
const promise = callsOn({ place: onePlace, portion: anyPortion, reserve, part }, PROMISES);
const fewPromises = fc.oneof({ arbitrary: fc.constant(false), weight: 12 }, { arbitrary: reserve, weight: 1 });
/** Half of those take all there is. */
const fewParts = fc.oneof({ arbitrary: fc.constant(undefined), weight: 20 }, { arbitrary: part, weight: 1 });
const callOnRows = callsOn(
  { place: onePlace, portion: anyPortion, reserve: fewPromises, part: fewParts },
  FEW_PROMISES,
);
export type Intent = Calls extends fc.Arbitrary<infer Value> ? Value : never;

const wait = fc.oneof(
  { arbitrary: fc.constant({ ms: 0 }), weight: 4 },
  { arbitrary: fc.integer({ min: 1, max: 50 }).map((ms) => ({ ms })), weight: 4 },
  { arbitrary: fc.integer({ min: 1, max: 3000 }).map((ms) => ({ ms })), weight: 2 },
  // To just before, at, or just after the last promise.
  { arbitrary: fc.constantFrom(-1, 0, 1).map((toRetry) => ({ toRetry })), weight: 3 },
  { arbitrary: fc.constantFrom(0.5, 1, 3, 0.25).map((periods) => ({ periods })), weight: 3 },
  { arbitrary: fc.constantFrom(65_000, 200_000_000).map((ms) => ({ ms })), weight: 1 },
  { arbitrary: fc.constantFrom(1, 20, 5000, 86_400_000).map((ms) => ({ ms: -ms })), weight: 1 },
);

export interface Step {
  readonly wait: Wait;
  readonly plan: number;
  readonly shards: number;
  /** Which waiting job runs before the step, if any. */
  readonly runs: number;
  /** Whether the mutation throws after its calls. */
  readonly isUndone: boolean;
  readonly calls: readonly Intent[];
}
function stepOf(
  call: Calls,
  wait: fc.Arbitrary<Wait>,
  plan: fc.Arbitrary<number>,
  shards: fc.Arbitrary<number>,
): fc.Arbitrary<Step> {
  return fc.record({
    wait,
    plan,
    shards,
    runs: fc.nat(8),
    isUndone: fc.nat(19).map((number) => number === 19),
    calls: fc.oneof(
      fc.array(call, { minLength: 1, maxLength: 1 }),
      fc.array(call, { minLength: 2, maxLength: 5, size: "max" }),
      fc.tuple(call, fc.integer({ min: 2, max: 5 })).map(([one, times]) => Array.from({ length: times }, () => one)),
    ),
  });
}
const step = stepOf(anyCall, wait, fc.nat(2), fc.nat(20));
/** What a limit is, and on how many rows, changes rarely: each change makes one row of the bucket. */
const rarely = (most: number) =>
  fc.oneof({ arbitrary: fc.constant(0), weight: 9 }, { arbitrary: fc.nat(most), weight: 1 });
const promisingStep = stepOf(promise, wait, rarely(2), fc.constant(0));

export interface Scenario {
  /** What the limit named "limit" may be, changing at any step. */
  readonly plans: readonly ExactLimit[];
  /** The limit named "other". */
  readonly other: ExactLimit;
  /** Whether the limit is the first plan, and the others override it. */
  readonly isOverridden?: boolean;
  readonly shards: readonly Shards[];
  /** Of what `Math.random` says. */
  readonly seed: number;
  readonly steps: readonly Step[];
}
const stepsOf = (each: fc.Arbitrary<Step>) => fc.array(each, { minLength: 1, maxLength: 40, size: "max" });
const anySteps = stepsOf(step);
export function planAt(plans: readonly ExactLimit[], i: number): ExactLimit {
  const plan = plans[i % plans.length];
  if (!plan) throw new Error("no plan");
  return plan;
}

function scenarioOf(
  plans: fc.Arbitrary<ExactLimit[]>,
  shards: fc.Arbitrary<readonly Shards[]>,
  steps: fc.Arbitrary<readonly Step[]>,
): fc.Arbitrary<Scenario> {
  const isOverridden = fc.nat(4).map((number) => number === 0);
  return fc.record({ plans, other: plans.map((all) => planAt(all, 0)), shards, seed: fc.nat(), steps, isOverridden });
}

/** Every bucket on one row. */
export function oneRow(
  kinds: readonly Kind[],
  steps = fc.oneof(anySteps, stepsOf(promisingStep)),
): fc.Arbitrary<Scenario> {
  return scenarioOf(plansOf(kinds), fc.constant([undefined, 1]), steps);
}

const settings = fc.constantFrom<readonly Shards[]>(
  [1, 2, 7, 16, 256, "auto"],
  ["auto"],
  [16],
  [256],
  [2],
  [7],
  [1, 16],
  [64],
  [{ atLeast: 8 }, { atMost: 4 }, { atLeast: 16, atMost: 64 }],
);

/** Enough tokens for many rows. */
function largeLimitOf(kind: Kind): fc.Arbitrary<ExactLimit> {
  const fields = {
    rate: fc.constantFrom(64, 100, 1000),
    period: fc.constantFrom(100, SECOND, 60 * SECOND, HOUR),
    maxReserved: fc.constantFrom(undefined, 0, 100),
  };
  return configsOf(kind, {
    ...fields,
    ...(kind === "token bucket" && { rate: fc.constantFrom(1, 64, 1000) }),
    ...(kind === "fixed window" && { start: fc.constantFrom(0, undefined) }),
    ...(kind !== "sliding window" && { capacity: fc.constantFrom(40, 64, 100.5, 1000, 4000) }),
  }) as fc.Arbitrary<ExactLimit>;
}

const hot: fc.Arbitrary<Wait> = fc.oneof(
  { arbitrary: fc.constant({ ms: 0 }), weight: 2 },
  { arbitrary: fc.integer({ min: 1, max: 50 }).map((ms) => ({ ms })), weight: 8 },
  // Some rows are cold by then, and are folded.
  { arbitrary: fc.integer({ min: 700, max: 12_000 }).map((ms) => ({ ms })), weight: 3 },
  { arbitrary: fc.constantFrom(-1, 0, 1).map((toRetry) => ({ toRetry })), weight: 2 },
  { arbitrary: fc.constantFrom(0.5, 1, 0.25, 3).map((periods) => ({ periods })), weight: 1 },
);
const hotOrBack: fc.Arbitrary<Wait> = fc.oneof(
  { arbitrary: hot, weight: 15 },
  { arbitrary: fc.constantFrom(1, 20, 300, 1500, 5000).map((ms) => ({ ms: -ms })), weight: 1 },
);

/** Buckets that stay on many rows. */
function manyRows(kinds: readonly Kind[]): fc.Arbitrary<Scenario> {
  const plans = fc
    .array(fc.oneof(...kinds.map(largeLimitOf)), { minLength: 1, maxLength: 3 })
    .map(commensurable)
    .filter(({ length }) => length > 0);
  const shards = fc.constantFrom<readonly Shards[]>(
    [{ atLeast: 8 }, 1, { atLeast: 32 }],
    [{ atLeast: 16, atMost: 64 }, 4],
    [{ atLeast: 64 }, { atMost: 8 }, "auto"],
    [{ atLeast: 256 }],
    ["auto"],
    [256],
  );
  return scenarioOf(plans, shards, stepsOf(stepOf(callOnRows, hotOrBack, rarely(2), rarely(20))));
}

/** Buckets on several rows, whose number may change at every call. */
export function severalRows(kinds: readonly Kind[]): fc.Arbitrary<Scenario> {
  return fc.oneof(scenarioOf(plansOf(kinds), settings, stepsOf(step)), manyRows(kinds));
}
