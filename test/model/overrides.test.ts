/**
 * Random overrides, set, replaced, ended by their moment and cleared between calls, reservations, refunds, resets and sweeps, against
 * exact buckets whose limit changes at the same moments. On one row every answer is the exact one; on several rows nothing is granted
 * that an exact bucket would not grant, and a denial's `retryAt` suffices.
 */
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { type PlaceName, placeNames } from "../support/places.js";
import { randomFrom, seed } from "../support/random.js";
import { adjust, ask, isFull, leftAt, type State } from "./exact/bucket.js";
import { type Answer, type Ask, type ExactLimit, LAST_MOMENT, lengthOf, type Outcome, sizeOf } from "./exact/config.js";
import { OPERATIONS, useFuzzedClock } from "./operations.js";
import { type Call, make, type Place, type Reply, type Status } from "./calls.js";
import { T0 } from "./fuzz.js";
import { exactly, isLess, plus } from "./rational.js";
import { allKinds, plansOf } from "./scenario.js";
import { type MutationCtx, openStage, type Shards } from "../support/stage.js";
import { present } from "../../src/wire/present.js";

useFuzzedClock();

type Terms = { does: "configure"; limit: ExactLimit } | { does: "block" | "unlimit" };
type Override = Terms & { until: number | undefined };

/** One bucket as it must be: its state, and what overrides its limit. */
interface Exact {
  readonly base: ExactLimit;
  state: State;
  override: Override | undefined;
}

function inForce({ override }: Exact, now: number): Override | undefined {
  return override && now < (override.until ?? LAST_MOMENT) ? override : undefined;
}

function limitAt(exact: Exact, now: number): ExactLimit {
  const override = inForce(exact, now);
  return override?.does === "configure" ? override.limit : exact.base;
}

function canServe(limit: ExactLimit, { count, reserve }: Ask): boolean {
  const more = reserve && limit.kind !== "sliding window" ? (limit.maxReserved ?? Infinity) : 0;
  return count <= sizeOf(limit) + more;
}

/** When the limit's own config serves what is asked, once the override has ended. */
function servedAfter({ base, state }: Exact, until: number | undefined, asked: Ask): number {
  if (until === undefined || !canServe(base, asked)) return LAST_MOMENT;
  const { answer } = ask(base, state, until, asked);
  return answer.ok ? until : (answer.retryAt ?? NaN);
}

/** What must be answered; undefined where nothing can ever serve it, which is an error. */
function expected(exact: Exact, now: number, asked: Ask): Outcome<State> | undefined {
  const { base, state } = exact;
  const override = inForce(exact, now);
  const nothing: Ask = { count: 0, reserve: false };
  if (override?.does === "unlimit") {
    const { answer, after } = adjust(base, state, now, asked.count);
    return { answer: { ...answer, ok: true, retryAt: undefined }, after };
  }
  if (override?.does === "configure") {
    const { limit, until } = override;
    if (!canServe(limit, asked) && !canServe(base, asked)) return undefined;
    const denial = { ...ask(limit, state, now, nothing).answer, ok: false, retryAt: LAST_MOMENT };
    const own = canServe(limit, asked) ? ask(limit, state, now, asked) : { answer: denial, after: state };
    if (own.answer.ok || (own.answer.retryAt ?? NaN) < (until ?? LAST_MOMENT)) return own;
    return { answer: { ...own.answer, retryAt: servedAfter(exact, until, asked) }, after: state };
  }
  if (!canServe(base, asked)) return undefined;
  if (!override) return ask(base, state, now, asked);
  const { until } = override;
  const resetAt = until === undefined ? LAST_MOMENT : ask(base, state, until, nothing).answer.resetAt;
  return { answer: { ok: false, retryAt: servedAfter(exact, until, asked), remaining: 0, resetAt }, after: state };
}

const asked = {
  portion: fc.oneof(
    fc.constantFrom(1, 1, 2, 0.5, 0),
    fc.constantFrom(0.25, 0.5, 1, 1).map((share) => ({ share })),
  ),
  reserve: fc.constantFrom<Ask["reserve"]>(false, false, true, { within: 100 }),
};
const operation = fc.oneof(
  { arbitrary: fc.record({ act: fc.constant("take" as const), ...asked }), weight: 12 },
  { arbitrary: fc.record({ act: fc.constantFrom("check" as const, "get" as const), ...asked }), weight: 4 },
  { arbitrary: fc.record({ act: fc.constantFrom("charge" as const, "refund" as const), ...asked }), weight: 4 },
  {
    arbitrary: fc.record({
      act: fc.constant("override" as const),
      does: fc.constantFrom("configure" as const, "configure" as const, "block" as const, "unlimit" as const),
      plan: fc.nat(2),
      forMs: fc.oneof(fc.constant(undefined), fc.integer({ min: 1, max: 3000 }), fc.constantFrom(60_000, 3_600_000)),
    }),
    weight: 6,
  },
  { arbitrary: fc.record({ act: fc.constantFrom("clear" as const, "reset" as const, "sweep" as const) }), weight: 3 },
);
type Operation = typeof operation extends fc.Arbitrary<infer Value> ? Value : never;
type Act =
  | Extract<Call, { act: "take" | "check" | "get" | "adjust" | "sweep" }>
  | { readonly act: "override"; readonly override: Override }
  | ({ readonly act: "clear" } & Place)
  | ({ readonly act: "reset" } & Place);

const wait = fc.oneof(
  fc.constant({ ms: 0 }),
  fc.integer({ min: 1, max: 2000 }).map((ms) => ({ ms })),
  fc.constantFrom(-20, 65_000, 4_000_000).map((ms) => ({ ms })),
  // To just before, at, or just after the last promise, or the end of the override.
  fc.constantFrom(-1, 0, 1).map((toRetry) => ({ toRetry })),
  fc.constantFrom(-1, 0, 1).map((toEnd) => ({ toEnd })),
);
const steps = fc.array(fc.record({ wait, operations: fc.array(operation, { minLength: 1, maxLength: 3 }) }), {
  minLength: 5,
  maxLength: 18,
  size: "max",
});
/** Windows begin where the config says: here nobody asks a bucket for its hash. */
const plans = plansOf(allKinds).map((all) =>
  all.map((limit): ExactLimit =>
    limit.kind === "fixed window" && typeof limit.period === "number" ? { ...limit, start: limit.start ?? 0 } : limit,
  ),
);

/** Rows go that have been full for a minute, under the limit's own config and an override's that has not ended as long ago. */
function isSwept({ base, state, override }: Exact, now: number): boolean {
  const settled = now - 60_000;
  const isLive = override?.does === "configure" && settled < (override.until ?? LAST_MOMENT);
  const limits = [base, ...(isLive ? [override.limit] : [])];
  return state !== undefined && state.ts <= settled && limits.every((limit) => isFull(limit, state, settled));
}

class Undone extends Error {}

/** Plays a scenario; returns how many answers were held against the exact ones while an override was in force. */
async function play(
  place: PlaceName,
  all: readonly ExactLimit[],
  shards: Shards,
  steps: readonly { wait: object; operations: readonly Operation[] }[],
): Promise<number> {
  const planAt = (i: number): ExactLimit => {
    const plan = all[i % all.length];
    if (!plan) throw new Error("no plan");
    return plan;
  };
  const base = planAt(0);
  const isOneRow = shards === undefined;
  const { limits: define, mutation } = openStage(place, "light");
  const limits = define({ ...base, ...{ overrides: true } }, shards);
  const id = { name: "limit", key: "alice" } as const;
  const exact: Exact = { base, state: undefined, override: undefined };
  let now = T0;
  let retryAt = T0;
  let overridden = 0;

  /** A share is one of what the limit in force can hold when the step begins. */
  const actOf = (operation: Operation): Act => {
    if (operation.act === "override") {
      const { does, plan, forMs } = operation;
      const until = forMs === undefined ? undefined : now + forMs;
      return {
        act: "override",
        override: does === "configure" ? { does, limit: planAt(plan), until } : { does, until },
      };
    }
    if (!("portion" in operation)) return { act: operation.act, ...id };
    const { act, portion, reserve } = operation;
    const tokens = typeof portion === "number" ? portion : portion.share * sizeOf(limitAt(exact, now));
    const count = Math.floor(tokens * 1000) / 1000;
    if (act === "charge" || act === "refund") return { act: "adjust", ...id, count: act === "charge" ? count : -count };
    return { act, ...id, count, reserve: act === "get" ? reserve !== false : reserve, throws: false };
  };
  const perform = async (ctx: MutationCtx, act: Act): Promise<Reply> => {
    if (act.act === "override") {
      const { does, until } = act.override;
      const terms = act.override.does === "configure" ? { config: present(act.override.limit) } : {};
      const ways = { configure: terms, block: { block: true }, unlimit: { unlimited: true } } as const;
      await limits.overrideRateLimit(ctx, { ...id, ...ways[does], ...(until !== undefined && { until }) } as never);
    } else if (act.act === "clear") await limits.clearRateLimitOverride(ctx, id);
    else return await make(limits, ctx, act, now);
    return { is: "done" };
  };

  for (const [at, { wait, operations }] of steps.entries()) {
    const moments = { ms: 0, ...wait } as { ms: number; toRetry?: number; toEnd?: number };
    const end = exact.override?.until ?? now;
    const far = T0 + 30 * 86_400_000;
    now += moments.ms;
    if (moments.toRetry !== undefined && retryAt < far) now = Math.max(now, retryAt + moments.toRetry);
    if (moments.toEnd !== undefined) now = Math.max(now, end + moments.toEnd);
    vi.setSystemTime(now);
    const say = (what: unknown) =>
      JSON.stringify({ at, what, all, shards, now: now - T0, override: exact.override, steps }, (_, value: unknown) =>
        typeof value === "bigint" ? String(value) : value,
      );

    const agree = (status: Status, answer: Answer, request: unknown) => {
      if (isOneRow) {
        const { ok, remaining, resetAt, retryAt } = answer;
        expect(status, say({ request, status, answer })).toMatchObject({ ok, remaining, resetAt });
        expect(status.retryAt, say({ request, status, answer })).toBe(retryAt);
      } else if (status.ok) expect(answer.ok, say({ request, status, answer })).toBe(true);
      else if (!answer.ok)
        expect(status.retryAt, say({ request, status, answer })).toBeGreaterThanOrEqual(answer.retryAt ?? NaN);
    };

    // All at once: the calls of one database take turns, in their order.
    const acts = operations.map(actOf);
    const replies = await mutation((ctx) => Promise.all(acts.map((act) => perform(ctx, act))));
    for (const [i, act] of acts.entries()) {
      const reply = replies[i] ?? { is: "error", message: "no reply" };
      if (inForce(exact, now)) overridden++;
      if (!("reserve" in act)) expect(reply.is, say({ act, reply })).not.toBe("error");
      switch (act.act) {
        case "take":
        case "check":
        case "get": {
          const outcome = expected(exact, now, act);
          if (act.act === "get" && (!outcome || beyondList(exact, now))) break;
          if (!outcome) {
            expect(reply.is === "error" && reply.message, say(act)).toContain("can never be served");
            break;
          }
          if (!("status" in reply)) expect.fail(say({ act, reply }));
          agree(reply.status, outcome.answer, act);
          if (act.act === "take" && reply.status.ok) exact.state = outcome.after;
          if (act.act !== "get") retryAt = reply.status.retryAt ?? retryAt;
          break;
        }
        case "adjust":
          // A full bucket has no room, and is not written; nor is one that nothing is taken from.
          if (act.count === 0 || (act.count < 0 && isFull(limitAt(exact, now), exact.state, now))) break;
          exact.state = adjust(limitAt(exact, now), exact.state, now, act.count).after;
          break;
        case "override":
          exact.override = act.override;
          break;
        case "clear":
          exact.override = undefined;
          break;
        case "sweep":
          if (isSwept(exact, now)) exact.state = undefined;
          break;
        case "reset":
          exact.state = undefined;
      }
    }

    await mutation(async (ctx) => {
      const { page } = await limits.listRateLimits(ctx, { name: "limit" });
      const limit = limitAt(exact, now);
      const value = page[0]?.value ?? sizeOf(limit);
      const near = exactly(Math.max(1, Math.abs(value)) * 2 ** -50);
      expect(isLess(plus(leftAt(limit, exact.state, now), near), exactly(value)), say({ value })).toBe(false);
      expect(page[0]?.override !== undefined, say(page)).toBe(inForce(exact, now) !== undefined);
      // A denial's time suffices for any rows that the next call draws. On one row a millisecond less does not.
      const status = await limits.checkRateLimit(ctx, id).catch(() => undefined);
      if (!status || status.ok || status.retryAt > far) return;
      const moments: [number, boolean][] = [[status.retryAt, true]];
      if (isOneRow) moments.unshift([status.retryAt - 1, false]);
      for (const [moment, isEnough] of moments) {
        if (moment <= now) continue;
        vi.setSystemTime(moment);
        expect((await limits.checkRateLimit(ctx, id)).ok, say({ status, moment })).toBe(isEnough);
        expect((await limits.rateLimit(ctx, id)).ok, say({ status, moment })).toBe(isEnough);
      }
      vi.setSystemTime(now);
      throw new Undone("undone");
    }).catch((error: unknown) => {
      if (!(error instanceof Undone)) throw error;
    });
    vi.setSystemTime(now);
  }
  return overridden;
}

/** Whether a projection would need windows of a calendar that its snapshot may not list: those far after the last write. */
function beyondList(exact: Exact, now: number): boolean {
  const limits = [exact.base, ...(exact.override?.does === "configure" ? [exact.override.limit] : [])];
  return limits.some((limit) => typeof limit.period === "string") && (now > T0 || lengthOf(exact.base) > 0);
}

const RUNS = Math.ceil(OPERATIONS / 1000);

describe.each(placeNames)("overrides in the %s", (place) => {
  it.each([
    { title: "on one row answer exactly", shards: [undefined] as readonly Shards[] },
    {
      title: "on several rows grant nothing that an exact bucket would not",
      shards: [2, 16, "auto", { atLeast: 8 }, { atLeast: 4, atMost: 64 }] as readonly Shards[],
    },
  ])("$title", async ({ shards }) => {
    let overridden = 0;
    await fc.assert(
      fc.asyncProperty(plans, fc.constantFrom<Shards>(...shards), fc.nat(), steps, async (all, rows, random, steps) => {
        vi.spyOn(Math, "random").mockImplementation(randomFrom(random));
        vi.setSystemTime(T0);
        overridden += await play(place, all, rows, steps);
      }),
      { numRuns: RUNS, seed },
    );
    expect(overridden).toBeGreaterThan(RUNS);
  });
});
