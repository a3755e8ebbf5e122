// @vitest-environment edge-runtime
/** `throws`: which setting decides whether a denial is thrown, what the error holds in both places, and where it is recognised. */
import { makeFunctionReference, mutationGeneric } from "convex/server";
import { ConvexError } from "convex/values";
import { isRateLimitError } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { denialOf, thrownBy } from "../support/errors.js";
import { NOW, useClock } from "../support/clock.js";
import { run, useJobs } from "../support/jobs.js";
import { defineIn, type MutationCtx, openBackend, placeNames } from "../support/places.js";

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
    together.map(([names, options, outcomes]) => ({
      call,
      args: [names.map((name) => ({ name })), options],
      outcomes,
    })),
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
      const limits = define(definitions, { throws });
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

  it.each([
    [true, { ...deniedMine, key: "a" }],
    [false, deniedMine],
    [undefined, deniedMine],
  ])("with errorKeys: %s, the data of the error that reaches the client is %o", async (errorKeys, data) => {
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
    for (const [throws, retryAfter] of [
      [undefined, 4000],
      [{ jitter: 0.5 }, 5000],
    ] as const) {
      open();
      const slow = { ...bucket, period: 4000, ...(throws && { throws }) };
      const { rateLimitAll } = define({ loud: { ...bucket, throws: true }, slow });
      const requests = ["loud", "slow"].map((name) => ({ name, count: 2 }));
      await rateLimitAll(requests);
      for (const list of [requests, requests.toReversed()]) {
        expect(await denialOf(rateLimitAll(list))).toMatchObject({ name: "slow", retryAfter });
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
    fc.assert(
      fc.property(fc.oneof({ weight: 9, arbitrary: oddData }, anything), anything, (data, other) => {
        expect(isRateLimitError(other)).toBe(false);
        const { kind, name, key, retryAt, retryAfter } = (data ?? {}) as Record<string, unknown>;
        const types = [name, retryAt, retryAfter, key ?? ""].map((value) => typeof value).join();
        const isKnown = kind === "RateLimited" && key !== null && types === "string,number,number,string";
        seen[isKnown ? "known" : "unknown"]++;
        expect(isRateLimitError({ data })).toBe(isKnown);
      }),
      { numRuns: 2000 },
    );
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
