/** Random scenarios for the fuzzer: limits that count exactly, clocks that stand still, jump and step back, calls at once. */
import fc from "fast-check";
import { type ExactLimit, sizeOf } from "./exact/config.js";
import { over, rational } from "./rational.js";
import type { Shards } from "./stage.js";

const SECOND = 1000;
const HOUR = 3_600_000;

type Kind = ExactLimit["kind"];

const rates = fc.constantFrom(1, 2, 3, 5, 10, 60, 100, 1000, 2.5, 0.5);
const periods = fc.constantFrom(1, 10, 100, SECOND, 10 * SECOND, 60 * SECOND, HOUR, 24 * HOUR);
/** With room for the debts of a scenario: a limit without a bound still cuts off beyond 1,000 buckets. */
const capacities = fc.constantFrom(undefined, 1, 2, 5, 10, 20.5, 64, 100, 1000);
const reserves = fc.constantFrom(undefined, 0, 1, 5, 20, 100);
const starts = fc.constantFrom(0, 1, 12_345, Date.UTC(2026, 0, 1));

function limitOf(kind: Kind): fc.Arbitrary<ExactLimit> {
  const fields = fc.record({
    rate: rates,
    period: periods,
    capacity: capacities,
    maxReserved: reserves,
    start: starts,
  });
  return fields.map(({ rate, period, capacity: given, maxReserved, start }) => {
    const capacity = given ?? rate;
    switch (kind) {
      case "token bucket":
        return { kind, rate, period, capacity, maxReserved };
      case "fixed window":
        return { kind, rate, period, capacity, maxReserved, start };
      case "sliding window":
        return { kind, rate, period, maxReserved };
    }
  });
}

export const refillingKinds = ["token bucket", "fixed window"] as const;

/** Plans that a live limit may change between, in which the same tokens are whole units. */
export function plansOf(kinds: readonly Kind[]): fc.Arbitrary<ExactLimit[]> {
  const plan = fc.oneof(...kinds.map(limitOf));
  return fc.array(plan, { minLength: 1, maxLength: 3 }).map(commensurable);
}

/** A plan, and others that only lower it: on several rows a raise may count from an older moment than the last write. */
export function loweredPlansOf(kind: Kind): fc.Arbitrary<ExactLimit[]> {
  return fc
    .tuple(
      limitOf(kind),
      fc.array(fc.tuple(fc.constantFrom(1, 0.5), fc.constantFrom(1, 0.5), reserves), { maxLength: 2 }),
    )
    .map(([first, cuts]) => {
      const plans = [first];
      for (const [rateCut, capacityCut, maxReserved] of cuts) {
        const last = plans.at(-1) ?? first;
        const rate = last.rate * rateCut;
        plans.push(
          last.kind === "sliding window"
            ? { ...last, rate, maxReserved }
            : { ...last, rate, capacity: last.capacity * capacityCut, maxReserved },
        );
      }
      return commensurable(plans);
    });
}

function commensurable(plans: readonly ExactLimit[]): ExactLimit[] {
  const chosen: ExactLimit[] = [];
  for (const plan of plans) {
    const family = [...chosen, plan];
    const fits = family.every((one) =>
      family.every((other) => (1000n * denominatorOf(other)) % denominatorOf(one) === 0n),
    );
    if (fits) chosen.push(plan);
  }
  return chosen;
}

function denominatorOf({ kind, rate, period }: ExactLimit): bigint {
  return over(rational(rate), rational(kind === "token bucket" ? period : 1)).denominator;
}

const portion: fc.Arbitrary<Portion> = fc.oneof(
  { arbitrary: fc.constantFrom(1, 1, 1, 2, 3).map((tokens) => ({ tokens })), weight: 12 },
  { arbitrary: fc.constantFrom(0.5, 0.125, 0.001, 7, 20).map((tokens) => ({ tokens })), weight: 3 },
  { arbitrary: fc.constantFrom(1, 0.5, 0.25, 0.1).map((share) => ({ share })), weight: 9 },
  { arbitrary: fc.constant({ tokens: 0 }), weight: 1 },
);
export type Portion = { readonly tokens: number } | { readonly share: number };

/** A count of thousandths that the limit can serve; of work that waits, perhaps more than it can hold at once. */
export function countOf(limit: ExactLimit, portion: Portion, reserve: boolean, ways = 1): number {
  const size = sizeOf(limit);
  const more = limit.kind === "sliding window" || !reserve ? 0 : Math.min(limit.maxReserved ?? size, size);
  const most = (size + more) / ways;
  const wanted = "tokens" in portion ? portion.tokens : portion.share * (size + more);
  const count = Math.floor(Math.min(wanted, most) * 1000) / 1000;
  // Whether no tokens at all may be reserved behind others is nobody's question.
  return reserve && count === 0 ? Math.min(1, size / ways) : count;
}

const key: fc.Arbitrary<string | undefined> = fc.constantFrom(undefined, "alice", "alice", "bob");
const request = fc.record({ key, portion, reserve: fc.boolean() });
const call = fc.oneof(
  { arbitrary: fc.record({ act: fc.constant("take" as const), throws: fc.boolean(), of: request }), weight: 40 },
  { arbitrary: fc.record({ act: fc.constantFrom("check" as const, "get" as const), of: request }), weight: 10 },
  {
    arbitrary: fc.record({ act: fc.constant("all" as const), of: fc.array(request, { minLength: 1, maxLength: 3 }) }),
    weight: 10,
  },
  { arbitrary: fc.record({ act: fc.constantFrom("charge" as const, "refund" as const), key, portion }), weight: 10 },
  { arbitrary: fc.record({ act: fc.constant("schedule" as const), key, portion }), weight: 20 },
  { arbitrary: fc.record({ act: fc.constant("cancel" as const), which: fc.nat(5), twice: fc.boolean() }), weight: 15 },
  {
    arbitrary: fc.record({ act: fc.constantFrom("reset" as const, "misuse" as const), key }),
    weight: 2,
  },
  { arbitrary: fc.record({ act: fc.constant("sweep" as const) }), weight: 2 },
);
export type Intent = typeof call extends fc.Arbitrary<infer Value> ? Value : never;

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
export type Wait = { readonly ms: number } | { readonly toRetry: number } | { readonly periods: number };

export interface Step {
  readonly wait: Wait;
  readonly plan: number;
  readonly shards: number;
  /** Which waiting job runs before the step, if any. */
  readonly runs: number;
  readonly calls: readonly Intent[];
}
const step: fc.Arbitrary<Step> = fc.record({
  wait,
  plan: fc.nat(2),
  shards: fc.nat(20),
  runs: fc.nat(8),
  calls: fc.oneof(
    fc.array(call, { minLength: 1, maxLength: 1 }),
    fc.array(call, { minLength: 2, maxLength: 5, size: "max" }),
    fc.tuple(call, fc.integer({ min: 2, max: 5 })).map(([one, times]) => Array.from({ length: times }, () => one)),
  ),
});

export interface Scenario {
  readonly plans: readonly ExactLimit[];
  readonly shards: readonly Shards[];
  /** Whether plans may only follow each other in their order. */
  readonly inOrder: boolean;
  readonly random: number;
  readonly steps: readonly Step[];
}

const random = fc.nat();
const steps = fc.array(step, { minLength: 1, maxLength: 40, size: "max" });

/** Every bucket on one row, plans in any order. */
export function oneRow(kinds: readonly Kind[]): fc.Arbitrary<Scenario> {
  const fields = fc.record({ plans: plansOf(kinds), random, steps });
  return fields.map((each) => ({ ...each, shards: [undefined, 1], inOrder: false }));
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
);

/** Buckets on several rows, whose number may change at every call. */
export function severalRows(kind: Kind): fc.Arbitrary<Scenario> {
  const fields = fc.record({ plans: loweredPlansOf(kind), shards: settings, random, steps });
  return fields.map((each) => ({ ...each, inOrder: true }));
}
