/** One random scenario, played on the real limits and on the twin, which must answer alike. */
import { projectRateLimit, type RateLimitConfig, type RateLimitStatus } from "convex-rate-limits";
import fc from "fast-check";
import { expect, vi } from "vitest";
import type { AnyRateLimits } from "../support/places.js";
import { after, countIn, exactConfig, keys, phaselessWindow, portion, T0, wait } from "../laws/arbitraries.js";
import { over, rational } from "./rational.js";
import { Twin, type TwinConfig } from "./twin.js";

type Ctx = Parameters<AnyRateLimits["rateLimit"]>[0] & Parameters<AnyRateLimits["checkRateLimit"]>[0];

/** Where the real limits run. */
export interface Stage {
  readonly limits: AnyRateLimits;
  readonly transaction: <T>(body: (ctx: Ctx) => Promise<T>) => Promise<T>;
}

const operation = fc.record({
  act: fc.oneof(
    { arbitrary: fc.constant("consume" as const), weight: 8 },
    { arbitrary: fc.constant("check" as const), weight: 2 },
    { arbitrary: fc.constantFrom("get", "sweep", "throw", "change config"), weight: 4 },
    { arbitrary: fc.constant("reset" as const), weight: 1 },
  ),
  /** Clocks of different machines differ: now and then one is behind. */
  wait: fc.oneof(
    { arbitrary: wait, weight: 9 },
    {
      arbitrary: fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.constant(86_400_000)).map((back) => ({ back })),
      weight: 1,
    },
  ),
  key: keys,
  portion,
  reserve: fc.boolean(),
  plan: fc.nat({ max: 3 }),
});
export type Operation = typeof operation extends fc.Arbitrary<infer Value> ? Value : never;

/** Up to `most` operations on limits that count exactly, and the configs that they change between. */
export function scenario(most: number): fc.Arbitrary<{ plans: RateLimitConfig[]; operations: Operation[] }> {
  return fc.record({
    plans: fc
      .array(fc.oneof({ arbitrary: exactConfig, weight: 3 }, { arbitrary: phaselessWindow, weight: 1 }), {
        minLength: 1,
        maxLength: 4,
      })
      .map(commensurable)
      .filter((plans) => plans.length > 0),
    operations: fc.array(operation, { maxLength: most, size: "max" }),
  });
}

/** More than any scenario can owe where `maxReserved` does not say. */
const UNLIMITED_DEBT = 100_000;

/**
 * The configs among which a bucket can change without rounding: what one counts in, the others can count too, and what one
 * may owe, the others have room for (2^50 units).
 */
function commensurable(plans: readonly RateLimitConfig[]): RateLimitConfig[] {
  const chosen: RateLimitConfig[] = [];
  for (const plan of plans) {
    const family = [...chosen, plan];
    const fits = family.every((one) =>
      family.every(
        (other) =>
          (1000n * denominatorOf(other)) % denominatorOf(one) === 0n &&
          (one.maxReserved ?? UNLIMITED_DEBT) * Number(denominatorOf(other)) * 1_024_000 <= 2 ** 50,
      ),
    );
    if (fits) chosen.push(plan);
  }
  return chosen;
}

function denominatorOf({ kind, rate, period }: RateLimitConfig): bigint {
  return over(rational(rate), rational(kind === "token bucket" ? period : 1)).denominator;
}

class Change extends Error {}

/** Plays the operations; throws at the first answer in which the limits and the twin differ. */
export async function play(
  { limits, transaction }: Stage,
  plans: readonly RateLimitConfig[],
  operations: readonly Operation[],
): Promise<void> {
  const twin = new Twin();
  let now = T0;
  let plan = 0;
  let retryAt: number | undefined;
  for (const [at, { act, wait, key, portion, reserve, plan: nextPlan }] of operations.entries()) {
    const config = plans[plan % plans.length];
    if (!config) throw new Error("no plans");
    now = "back" in wait ? now - wait.back : after(wait, config, now, retryAt);
    vi.setSystemTime(now);
    const bucket = { name: "limit", key, config };
    const id = key ?? "";
    const demand = { count: countIn(config, reserve, portion), reserve };
    const phased = await withPhase(limits, transaction, bucket);
    const told = (status: RateLimitStatus, expected: RateLimitStatus) => {
      retryAt = status.retryAt;
      compare({ at, act, now, config, demand }, status, expected);
    };
    switch (act) {
      case "consume": {
        const status = await transaction((ctx) => limits.rateLimit(ctx, { ...bucket, ...demand }));
        told(status, twin.consume(phased, id, now, demand));
        break;
      }
      case "check": {
        const status = await transaction((ctx) => limits.checkRateLimit(ctx, { ...bucket, ...demand }));
        told(status, twin.check(phased, id, now, demand));
        break;
      }
      case "get": {
        const snapshot = await transaction((ctx) => limits.getRateLimit(ctx, bucket));
        const { capacity = config.rate } = snapshot.config;
        // What an earlier config allowed beyond the present capacity is cut in every answer, if not in the row.
        compare(
          { at, act, now, config },
          { value: Math.min(capacity, snapshot.value), ts: snapshot.ts },
          twin.get(phased, id),
        );
        told(projectRateLimit(snapshot, { now, ...demand }), twin.check(phased, id, now, demand));
        break;
      }
      case "throw": {
        const failure = new Change("the caller changed its mind");
        const attempt = transaction(async (ctx) => {
          told(await limits.rateLimit(ctx, { ...bucket, ...demand }), twin.check(phased, id, now, demand));
          throw failure;
        });
        await attempt.catch((error: unknown) => {
          if (!(error instanceof Error && error.message.includes(failure.message))) throw error;
        });
        break;
      }
      case "sweep": {
        if (!twin.isFull(phased, id, now)) break;
        await transaction((ctx) => limits.resetRateLimit(ctx, bucket));
        twin.forget(id);
        break;
      }
      case "reset":
        await transaction((ctx) => limits.resetRateLimit(ctx, bucket));
        twin.forget(id);
        break;
      case "change config":
        plan = nextPlan;
        break;
    }
  }
}

/** The config with the phase that the limit itself gives its windows. */
async function withPhase(
  limits: AnyRateLimits,
  transaction: Stage["transaction"],
  bucket: { name: string; key: string | undefined; config: RateLimitConfig },
): Promise<TwinConfig> {
  const { config } = bucket;
  if (config.kind === "token bucket" || config.start !== undefined) return config;
  const snapshot = await transaction((ctx) => limits.getRateLimit(ctx, bucket));
  if (snapshot.config.kind !== "fixed window") throw new Error(`the kind became ${snapshot.config.kind}`);
  return { ...config, start: (snapshot.config as { start?: number }).start };
}

/** `expect(...).toEqual` on every answer would take most of the run, so it judges only those that look different. */
function compare(where: object, actual: object, expected: object): void {
  const [ours, theirs] = [actual, expected].map((answer) => JSON.stringify(Object.entries(answer).sort()));
  if (ours !== theirs) expect({ ...where, ...actual }).toEqual({ ...where, ...expected });
}
