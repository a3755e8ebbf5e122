/** The same calls to the official component and to ours: the answers agree if both define them. */
import { calculateRateLimit as calculateTheirs, isRateLimitError as isTheirs } from "@convex-dev/rate-limiter";
import type { RateLimitConfig, RateLimitError } from "convex-rate-limits/compat";
import { calculateRateLimit, isRateLimitError } from "convex-rate-limits/compat";
import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { START as NOW, useClock } from "../support/clock.js";
import type { MutationCtx } from "../support/places.js";
import { limiters, openBoth } from "./official.js";
import { forAny, forAnyAsync, runs } from "../support/random.js";

// All timers, because the official component schedules work, which would run during the tests of other files.
useClock(NOW);

/** Powers of two: the official component counts in floating point, which is exact for them. */
const PERIOD = 1024;
const config: fc.Arbitrary<RateLimitConfig> = fc
  .record({
    kind: fc.constantFrom("token bucket" as const, "fixed window" as const),
    rate: fc.constantFrom(1, 2, 4, 8, 16),
    capacity: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
    maxReserved: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
    start: fc.integer({ min: 1, max: PERIOD }),
    applyUpdates: fc.constantFrom(undefined, "transactionally" as const),
  })
  .map(({ kind, start, ...rest }) => ({ period: PERIOD, ...rest, ...windowed(kind, start) }));
const windowed = (kind: RateLimitConfig["kind"], start: number) =>
  kind === "token bucket" ? { kind, start: null } : { kind, start };

const options = fc.record(
  {
    key: fc.constantFrom("ada", "bob"),
    count: fc.integer({ min: 1, max: 16 }).map((quarters) => quarters / 4),
    reserve: fc.boolean(),
    throws: fc.boolean(),
  },
  { requiredKeys: [] },
);
const step = fc.record({
  waitMs: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: 3 * PERIOD })),
  call: fc.constantFrom<Call[]>("limit", "limit", "limit", "limit", "check", "check", "getValue", "reset"),
  options,
});

/** The outcome of a call: its answer, the data of its denial, or "misuse". Waits are in whole milliseconds. */
async function outcome(call: Promise<unknown>): Promise<unknown> {
  try {
    return rounded(await call);
  } catch (error) {
    if (isTheirs(error) !== isRateLimitError(error)) throw error;
    return isRateLimitError(error) ? { thrown: rounded(error.data) } : "misuse";
  }
}

function rounded(answer: unknown): unknown {
  if (typeof answer !== "object" || answer === null || !("retryAfter" in answer)) return answer;
  const { retryAfter, ...rest } = answer as { retryAfter?: number };
  return { ...rest, ...(retryAfter === undefined ? {} : { retryAfter: Math.ceil(retryAfter) }) };
}

type Call = "limit" | "check" | "getValue" | "reset";
type Options = { key?: string; count?: number; reserve?: boolean; throws?: boolean };
type Limiter = Record<Call, (ctx: MutationCtx, name: string, options: Options) => Promise<unknown>>;

/** Makes one call of either limiter, and returns its answer, or null if there is none. */
async function play(limiter: Limiter, ctx: MutationCtx, call: Call, { key, ...options }: Options): Promise<unknown> {
  const whose = key === undefined ? {} : { key };
  const args = call === "limit" || call === "check" ? { ...whose, ...options } : whose;
  return (await limiter[call](ctx, "send", args)) ?? null;
}

it("the same script gets the same answers, the same denials and the same values", async () => {
  const seen = new Set<string>();
  await forAnyAsync([config, fc.array(step, { minLength: 1, maxLength: 25 })], runs(1000), async (limit, steps) => {
    vi.setSystemTime(NOW);
    const t = openBoth();
    const { ours, theirs } = limiters({ send: limit });
    for (const { waitMs, call, options } of steps) {
      vi.setSystemTime(Date.now() + waitMs);
      const [mine, other] = await t.mutation(async (ctx) => [
        await outcome(play(ours, ctx, call, options)),
        await outcome(play(theirs, ctx, call, options)),
      ]);
      seen.add(`${call} ${typeof mine === "string" ? mine : Object.keys(mine ?? {}).join()}`);
      expect(mine).toEqual(asOurs(other, limit, options, mine));
    }
  });
  // The script must have reached each of these outcomes.
  expect([...seen].sort()).toEqual([
    "check misuse",
    "check ok",
    "check ok,retryAfter",
    "check thrown",
    "getValue config,shard,ts,value",
    "limit misuse",
    "limit ok",
    "limit ok,retryAfter",
    "limit thrown",
    "reset ",
  ]);
});

/**
 * Their answer in our form. Their config also has applyUpdates, and start: null for a token bucket. For a reservation that would owe too
 * much, our wait ends when the reservation could be made, and theirs when none would be needed.
 */
function asOurs(answer: unknown, limit: RateLimitConfig, asked: Options, mine: unknown): unknown {
  const { count = 1, reserve, throws } = asked;
  if (typeof answer !== "object" || answer === null) return answer;
  if ("config" in answer) {
    const fields = Object.entries(answer.config as Record<string, unknown>);
    const config = Object.fromEntries(fields.filter(([name, value]) => name !== "applyUpdates" && value !== null));
    return { ...answer, config };
  }
  const { rate, capacity = rate, maxReserved = 0 } = limit;
  const [ours = NaN, theirs = NaN] = [mine, answer].map((one) => waitIn(one as Waiting));
  if ("thrown" in answer && reserve && count > capacity) {
    // The call always has to wait, so it is always thrown. Ours gives the wait of the reservation that was requested.
    expect(ours).toBeGreaterThan(0);
    expect(ours).toBeLessThanOrEqual(theirs);
    return { thrown: { ...(answer.thrown as RateLimitError), retryAfter: ours } };
  }
  if (!reserve || throws || !("ok" in answer) || answer.ok) return answer;
  if (limit.kind === "token bucket") return { ok: false, retryAfter: theirs - (maxReserved / rate) * PERIOD };
  expect(ours).toBeGreaterThan(0);
  expect(theirs - ours).toBeGreaterThanOrEqual(0);
  expect((theirs - ours) % PERIOD).toBe(0);
  return { ok: false, retryAfter: ours };
}

type Waiting = { retryAfter?: number; thrown?: RateLimitError };
const waitIn = ({ retryAfter, thrown }: Waiting) => thrown?.retryAfter ?? retryAfter;

it("calculateRateLimit agrees for any state, at any later time", () => {
  const ts = fc.integer({ min: NOW, max: NOW + PERIOD });
  const state = fc.option(fc.record({ value: fc.integer({ min: -20, max: 12 }), ts }));
  forAny([config, state, fc.nat({ max: 10 * PERIOD }), fc.nat({ max: 20 })], 100, (limit, held, waitMs, count) => {
    const now = (held?.ts ?? NOW) + waitMs;
    expect(calculateRateLimit(held, limit, now, count)).toEqual(calculateTheirs(held, limit, now, count));
  });
  const full = { kind: "token bucket", rate: 2, period: PERIOD } as const;
  expect(calculateRateLimit(null, full)).toEqual(calculateTheirs(null, full));
  // A clock that steps back takes nothing away.
  expect(calculateRateLimit({ value: 1, ts: NOW + 500 }, full, NOW).value).toBe(1);
});
