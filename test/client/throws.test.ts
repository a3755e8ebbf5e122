/**
 * What becomes of a denial. `throws`: which setting decides whether it is thrown, what the error holds in both places, and where it is
 * recognised. `mode: "shadow"`: every request passes.
 */
import { makeFunctionReference, mutationGeneric } from "convex/server";
import { ConvexError } from "convex/values";
import { isRateLimitError } from "convex-rate-limits";
import { projectRateLimit } from "convex-rate-limits/client";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { denialOf, thrownBy } from "../support/errors.js";
import { NOW, useClock } from "../support/clock.js";
import { run, useJobs } from "../support/jobs.js";
import { defineIn, type MutationCtx, openBackend, placeNames } from "../support/places.js";
import { forAny } from "../support/random.js";

useClock();

const bucket = { kind: "token bucket", rate: 2, period: 1000, maxReserved: 3 } as const;
const definitions = {
  plain: bucket,
  loud: { ...bucket, throws: true },
  quiet: { ...bucket, throws: false },
  tried: { ...bucket, throws: true, mode: "shadow" },
  mine: { kind: "fixed window", rate: 2, period: 1000, start: 0, keyed: true },
} as const;
const mine = { name: "mine", key: "a" };
const denied = { kind: "RateLimited", name: "plain", retryAt: NOW + 500, retryAfter: 500 };
const deniedMine = { kind: "RateLimited", name: "mine", retryAt: NOW + 1000, retryAfter: 1000 };

/** The outcomes of a call on empty buckets: with `throws: true` in the options, and without. The nearest setting decides. */
const singly: [args: { name: string; throws?: boolean | { jitter: number } }, outcomes: unknown[]][] = [
  [{ name: "plain" }, ["plain", false]],
  [{ name: "loud" }, ["loud", "loud"]],
  [{ name: "quiet" }, [false, false]],
  [{ name: "plain", throws: false }, [false, false]],
  [{ name: "loud", throws: false }, [false, false]],
  [{ name: "quiet", throws: true }, ["quiet", "quiet"]],
  [{ name: "quiet", throws: { jitter: 0.5 } }, ["quiet", "quiet"]],
];
const inShadow: typeof singly = [
  [{ name: "tried" }, [true, true]],
  [{ name: "tried", throws: true }, [true, true]],
];
/** Calls of several limits: one limit that denies and throws is enough. */
const together: [names: string[], options: { throws?: boolean } | undefined, outcomes: unknown[]][] = [
  [["plain", "quiet"], undefined, ["plain", false]],
  [["quiet"], undefined, [false, false]],
  [["plain", "loud"], undefined, ["plain", "plain"]],
  [["quiet", "tried"], undefined, [false, false]],
  [["tried"], undefined, [true, true]],
  [["plain", "loud"], { throws: false }, [false, false]],
  [["quiet"], { throws: true }, ["quiet", "quiet"]],
];
const job = [run, { label: "late", tokens: 1 }];
const calls = [
  ...(["rateLimit", "checkRateLimit"] as const).flatMap((call) =>
    [...singly, ...inShadow].map(([args, outcomes]) => ({ call, args: [args] as unknown[], outcomes })),
  ),
  ...singly.map(([args, outcomes]) => ({ call: "scheduleRateLimited" as const, args: [args, ...job], outcomes })),
  ...(["rateLimitAll", "checkRateLimitAll"] as const).flatMap((call) =>
    together.map(([names, options, outcomes]) => {
      return { call, args: [names.map((name) => ({ name })), options], outcomes };
    }),
  ),
];

describe.each(placeNames)("in the %s", (place) => {
  const { define, open } = useJobs(place);
  const limits = define(definitions);
  const { rateLimit } = limits;
  /** Takes both tokens of each limit. */
  const useUp = async () => {
    for (const name of [{ name: "plain" }, mine]) await rateLimit({ ...name, count: 2 });
  };

  it.each(calls)("$call of $args: $outcomes", async ({ call, args, outcomes }) => {
    const found = [];
    for (const throws of [true, undefined]) {
      open();
      const limits = define(definitions, { throws: throws as false });
      for (const name of ["plain", "loud", "quiet", "tried"]) {
        // Nothing is left to take or to reserve.
        await limits.rateLimit({ name, count: 2 });
        await limits.rateLimit({ name, count: 3, reserve: true });
      }
      found.push(
        await limits[call](...args).then(
          ({ ok }) => ok,
          (error: unknown) => (isRateLimitError(error) ? error.data.name : String(error)),
        ),
      );
      expect(vi.getTimerCount()).toBe(0);
    }
    expect(found).toEqual(outcomes);
  });

  it("a denial is thrown as a ConvexError whose data has the limit, retryAt, and the wait at the time of the call", async () => {
    await useUp();
    for (const call of [rateLimit, limits.checkRateLimit]) {
      expect(await thrownBy(call({ name: "plain", throws: true }))).toBeInstanceOf(ConvexError);
      for (const later of [0, 1, 499]) {
        vi.setSystemTime(NOW + later);
        expect(await denialOf(call({ name: "plain", throws: true }))).toEqual({ ...denied, retryAfter: 500 - later });
        expect(await denialOf(call({ ...mine, throws: true }))).toEqual({ ...deniedMine, retryAfter: 1000 - later });
      }
      vi.setSystemTime(NOW);
    }
  });

  it.each([true, false, undefined])("errors have the key only with errorKeys: true; it is %s", async (errorKeys) => {
    const data = errorKeys ? { ...deniedMine, key: "a" } : deniedMine;
    await useUp();
    const { rateLimit, checkRateLimitAll, rateLimitAll } = define(definitions, { errorKeys });
    expect(await denialOf(rateLimit({ ...mine, throws: true }))).toStrictEqual(data);
    expect(await denialOf(rateLimitAll([{ name: "plain" }, mine], { throws: true }))).toStrictEqual(data);
    expect(await denialOf(checkRateLimitAll([mine, { name: "plain" }], { throws: true }))).toStrictEqual(data);
    // A limit without keys has no key to send.
    expect(await denialOf(rateLimit({ name: "plain", throws: true }))).toStrictEqual(denied);
  });

  it("the denial with the longest wait is thrown, even if another limit throws, and with its own jitter", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    for (const jitter of [0, 0.5]) {
      open();
      const slow = { ...bucket, period: 4000, ...(jitter > 0 && { throws: { jitter } }) };
      const { rateLimitAll } = define({ loud: { ...bucket, throws: true }, slow });
      const requests = ["loud", "slow"].map((name) => ({ name, count: 2 }));
      await rateLimitAll(requests);
      for (const list of [requests, requests.toReversed()]) {
        expect(await denialOf(rateLimitAll(list))).toMatchObject({ name: "slow", retryAfter: 4000 + 2000 * jitter });
      }
    }
  });

  it("jitter makes the wait longer, at random, by up to that fraction of it", async () => {
    await useUp();
    for (const [random, retryAfter] of [
      [0, 500],
      [0.5, 625],
      [1 - 2 ** -53, 749],
    ] as const) {
      vi.spyOn(Math, "random").mockReturnValue(random);
      const later = { ...denied, retryAt: NOW + retryAfter, retryAfter };
      expect(await denialOf(rateLimit({ name: "plain", throws: { jitter: 0.5 } }))).toEqual(later);
    }
    // The status itself is exact, and so is an error without jitter.
    expect(await rateLimit({ name: "plain" })).toMatchObject({ ok: false, retryAt: NOW + 500 });
  });

  it("the error is recognised in the mutation that was denied, in its caller, and through functions in between", async () => {
    const send = makeFunctionReference<"mutation", Record<string, never>>("app:send");
    const { rateLimit } = defineIn(place, definitions);
    const take = async (ctx: MutationCtx) => await rateLimit(ctx, { ...mine, count: 2, throws: true });
    const t = openBackend({ "./app.ts": () => Promise.resolve({ send: mutationGeneric({ handler: take as never }) }) });
    await t.mutation(async (ctx) => {
      await take(ctx);
      expect(await denialOf(take(ctx))).toEqual(deniedMine);
    });
    expect(await denialOf(t.mutation(send, {}))).toEqual(deniedMine);
    expect(await t.mutation((ctx) => denialOf(ctx.runMutation(send, {})))).toEqual(deniedMine);
    expect(await t.action((ctx) => denialOf(ctx.runMutation(send, {})))).toEqual(deniedMine);
    if (place === "tables") return;
    // An action calls the component directly.
    expect(await t.action((ctx) => denialOf(take(ctx as unknown as MutationCtx)))).toEqual(deniedMine);
  });
});

describe("isRateLimitError", () => {
  const data = { kind: "RateLimited", name: "a", retryAt: 1, retryAfter: 1 };

  it("is true for an object with the data and for nothing else, and never throws", () => {
    const anything = fc.anything({ withBigInt: true, withNullPrototype: true, withMap: true, withDate: true });
    const field = <T>(right: fc.Arbitrary<T>) => fc.oneof({ weight: 5, arbitrary: right }, anything);
    const oddData = fc.record(
      {
        kind: field(fc.constant("RateLimited")),
        name: field(fc.string()),
        key: field(fc.string()),
        retryAt: field(fc.double()),
        retryAfter: field(fc.double()),
      },
      { requiredKeys: ["kind"] },
    );
    const seen = { known: 0, unknown: 0 };
    forAny([fc.oneof({ weight: 9, arbitrary: oddData }, anything), anything], 2000, (data, other) => {
      expect(isRateLimitError(other)).toBe(false);
      const { kind, name, key, retryAt, retryAfter } = (data ?? {}) as Record<string, unknown>;
      const types = [name, retryAt, retryAfter, key ?? ""].map((value) => typeof value).join();
      const isKnown = kind === "RateLimited" && key !== null && types === "string,number,number,string";
      seen[isKnown ? "known" : "unknown"]++;
      expect(isRateLimitError({ data })).toBe(isKnown);
    });
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(200);
  });

  const throwing = () => {
    throw new Error("hands off");
  };
  it.each<[isKnown: boolean, value: unknown]>([
    // A second copy of convex, or another realm, has another class.
    [true, Object.assign(new Error("another copy"), { data })],
    [false, Object.assign(() => 1, { data })],
    [false, new Proxy({ data }, { get: throwing, has: throwing })],
    [false, Object.defineProperty({}, "data", { get: throwing })],
    [false, { data: Object.defineProperty({}, "kind", { get: throwing }) }],
  ])("is %s for other objects, and does not throw: case %#", (isKnown, value) => {
    expect(isRateLimitError(value)).toBe(isKnown);
  });
});

const tenASecond = { kind: "token bucket", rate: 10, period: 1000, maxReserved: 5 } as const;

describe.each(placeNames)("in shadow, in the %s", (place) => {
  const { define, runAll, starts } = useJobs(place);
  const limits = define({ tried: { ...tenASecond, mode: "shadow" }, held: tenASecond });
  const take = (args: object) => limits.rateLimit({ name: "tried", ...args });
  const check = (args: object) => limits.checkRateLimit({ name: "tried", ...args });
  const all = (...requests: object[]) => limits.rateLimitAll(requests);
  const value = async (name: string) => (await limits.getRateLimit({ name })).value;
  const shown = { remaining: 2, resetAt: NOW + 800 };

  it("the caller passes, and gets the true answer", async () => {
    const allowed = { ok: true, ...shown };
    expect(await check({ count: 8 })).toEqual({ ...allowed, shadow: allowed });
    expect(await take({ count: 8 })).toEqual({ ...allowed, shadow: allowed });
    const through = { ...allowed, shadow: { ok: false, retryAt: NOW + 600, ...shown } };
    expect(await check({ count: 8 })).toEqual(through);
    expect(await take({ count: 8 })).toEqual(through);
  });

  it("a denial's takenAt is before every take, so nothing is refunded by it", async () => {
    expect(await take({ count: 8, refundable: true })).toMatchObject({ takenAt: NOW });
    expect(await take({ count: 8, refundable: true })).toMatchObject({ takenAt: 0 });
    await limits.adjustRateLimit({ name: "tried", count: -8, takenAt: 0 });
    expect(await value("tried")).toBe(2);
  });

  it("a call may override the mode of the definition, either way", async () => {
    await take({ count: 10 });
    const denied = { ok: false, retryAt: NOW + 100, remaining: 0, resetAt: NOW + 1000 };
    expect(await take({ mode: "enforce" })).toEqual(denied);
    expect(await take({ name: "held", count: 10, mode: "shadow" })).toMatchObject({ shadow: { ok: true } });
    expect(await take({ name: "held", mode: "shadow" })).toMatchObject({ ok: true, shadow: { ok: false } });
  });

  it("a limit in shadow stops no other limit, and its denial charges only the others", async () => {
    const ok = true;
    const first = await all({ name: "tried", count: 8 }, { name: "held", count: 2 });
    const taken = { ok, shadow: { ok, remaining: 2 } };
    expect(first).toMatchObject({ ok, statuses: [taken, { ok, remaining: 8 }] });
    const passed = { ok, ...shown, shadow: { ok: false, retryAt: NOW + 100, ...shown } };
    const held = { ok, remaining: 5, resetAt: NOW + 500 };
    const second = await all({ name: "tried", count: 3 }, { name: "held", count: 3 });
    expect(second).toEqual({ ok, statuses: [passed, held] });
    expect([await value("tried"), await value("held")]).toEqual([2, 5]);
  });

  it("a snapshot contains the mode, and its projection lets clients pass", async () => {
    await take({ count: 10 });
    const snapshot = await limits.getRateLimit({ name: "tried" });
    expect(snapshot).toMatchObject({ mode: "shadow", value: 0 });
    expect(projectRateLimit(snapshot, { now: NOW })).toEqual({ ok: true, value: 0, remaining: 0, resetAt: NOW + 1000 });
    expect(projectRateLimit(snapshot, { now: NOW, reserve: true })).not.toHaveProperty("retryAt");
    expect(await limits.getRateLimit({ name: "held" })).not.toHaveProperty("mode");
  });

  it("a list shows what the limit would answer if it were enforced", async () => {
    await take({ count: 10, key: "eager" });
    await take({ count: 1, key: "calm" });
    const { page } = await limits.listRateLimits({ name: "tried", onlyLimited: true });
    expect(page).toMatchObject([{ key: "eager", ok: false, retryAt: NOW + 100 }]);
  });

  it("a job starts at once, and its cancellation refunds what was taken and no more", async () => {
    const schedule = (count: number) =>
      limits.scheduleRateLimited({ name: "tried", count }, run, { label: "job", tokens: count });
    expect(await schedule(10)).toMatchObject({ ok: true, runAt: NOW, job: { count: 10 }, shadow: { ok: true } });
    const waiting = await schedule(4);
    expect(waiting).toMatchObject({ runAt: NOW, job: { count: 4, dueAt: NOW + 400 }, shadow: { retryAt: NOW + 400 } });
    const denied = await schedule(4);
    expect(denied).toMatchObject({ ok: true, runAt: NOW, job: { count: 0 }, shadow: { ok: false } });
    expect(await value("tried")).toBe(-4);
    expect(await limits.cancelRateLimited(denied.job)).toEqual({ canceled: true });
    expect(await value("tried")).toBe(-4);
    expect(await limits.cancelRateLimited(waiting.job)).toEqual({ canceled: true });
    expect(await value("tried")).toBe(0);
    await runAll();
    expect(starts).toEqual([{ label: "job", tokens: 10, at: NOW }]);
  });
});
