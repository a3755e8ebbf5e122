// @vitest-environment edge-runtime
/** `throws` in the options and in a definition: what is nearest to the call decides. */
import { isRateLimitError } from "convex-rate-limits";
import { afterEach, describe, expect, it, vi } from "vitest";
import { placeNames } from "../support/places.js";
import { NOW, run, useClock, useJobs } from "../support/jobs.js";

useClock();
afterEach(() => vi.restoreAllMocks());

const bucket = { kind: "token bucket", rate: 2, period: 1000, maxReserved: 0 } as const;
const definitions = {
  plain: bucket,
  loud: { ...bucket, throws: true },
  quiet: { ...bucket, throws: false },
  tried: { ...bucket, throws: true, mode: "shadow" },
} as const;

/** What a call on empty buckets does: of limits that throw by the options, and of those that do not. */
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
/** A limit that throws and denies beside others is enough. */
const together: [names: string[], options: { throws?: boolean } | undefined, outcomes: unknown[]][] = [
  [["plain", "quiet"], undefined, ["plain", false]],
  [["quiet"], undefined, [false, false]],
  [["plain", "loud"], undefined, ["plain", "plain"]],
  [["quiet", "tried"], undefined, [false, false]],
  [["tried"], undefined, [true, true]],
  [["plain", "loud"], { throws: false }, [false, false]],
  [["quiet"], { throws: true }, ["quiet", "quiet"]],
];
const calls = [
  ...(["rateLimit", "checkRateLimit"] as const).flatMap((call) =>
    [...singly, ...inShadow].map(([args, outcomes]) => ({ call, args: [args] as unknown[], outcomes })),
  ),
  ...singly.map(([args, outcomes]) => {
    return { call: "scheduleRateLimited" as const, args: [args, run, { label: "late", tokens: 1 }], outcomes };
  }),
  ...(["rateLimitAll", "checkRateLimitAll"] as const).flatMap((call) =>
    together.map(([names, options, outcomes]) => ({
      call,
      args: [names.map((name) => ({ name })), options],
      outcomes,
    })),
  ),
];

/** What is thrown, if it is a denial. */
async function denialOf(call: Promise<unknown>) {
  const error: unknown = await call.catch((thrown: unknown) => thrown);
  return isRateLimitError(error) ? error.data : undefined;
}

describe.each(placeNames)("in the %s", (place) => {
  const { define, open, pending } = useJobs(place);

  it.each(calls)("$call of $args: $outcomes", async ({ call, args, outcomes }) => {
    const found = [];
    for (const throws of [true, undefined]) {
      open();
      const limits = define(definitions, { throws });
      for (const name of Object.keys(definitions)) await limits.rateLimit({ name, count: 2 });
      found.push(
        await limits[call](...args).then(
          ({ ok }) => ok,
          (error: unknown) => (isRateLimitError(error) ? error.data.name : String(error)),
        ),
      );
      expect(await pending()).toHaveLength(0);
    }
    expect(found).toEqual(outcomes);
  });

  it("a denial of one limit among others is thrown with the longest wait, whichever throws", async () => {
    const { rateLimitAll } = define({ loud: { ...bucket, throws: true }, slow: { ...bucket, period: 4000 } });
    const both = [{ name: "loud" }, { name: "slow" }];
    await rateLimitAll([...both, ...both]);
    const denied = { kind: "RateLimited", name: "slow", retryAt: NOW + 2000, retryAfter: 2000 };
    expect(await denialOf(rateLimitAll(both))).toEqual(denied);
  });

  it("of several that throw, the one that is thrown says how: its jitter, not that of another", async () => {
    const { rateLimitAll } = define({
      quick: { ...bucket, throws: true },
      slow: { ...bucket, period: 4000, throws: { jitter: 0.5 } },
    });
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const requests = ["quick", "slow"].map((name) => ({ name, count: 2 }));
    await rateLimitAll(requests, { throws: false });
    for (const list of [requests, requests.toReversed()]) {
      expect(await denialOf(rateLimitAll(list))).toMatchObject({ name: "slow", retryAfter: 5000 });
    }
  });

  it("with jitter the wait is longer, at random, by up to that fraction of itself", async () => {
    const { rateLimit } = define({ hot: { ...bucket, throws: { jitter: 0.5 } } });
    await rateLimit({ name: "hot", count: 2 });
    for (const [random, retryAfter] of [
      [0, 500],
      [0.5, 625],
      [1 - 2 ** -53, 749],
    ] as const) {
      vi.spyOn(Math, "random").mockReturnValue(random);
      const denied = { kind: "RateLimited", name: "hot", retryAt: NOW + retryAfter, retryAfter };
      expect(await denialOf(rateLimit({ name: "hot" }))).toEqual(denied);
    }
    // The status itself is exact, and so is an error without jitter.
    expect(await rateLimit({ name: "hot", throws: false })).toMatchObject({ ok: false, retryAt: NOW + 500 });
  });

  it("many clients of one limit are told moments all over the spread, none too early", async () => {
    const { rateLimit } = define({ hot: { ...bucket, throws: { jitter: 1 } } });
    await rateLimit({ name: "hot", count: 2 });
    const waits: number[] = [];
    for (let client = 0; client < 400; client++) {
      waits.push(((await denialOf(rateLimit({ name: "hot" })))?.retryAt ?? NaN) - NOW);
    }
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(500);
    expect(Math.max(...waits)).toBeLessThan(1000);
    // Of 400 in ten parts of the spread, no part is empty: that would happen once in 10^17 runs.
    expect(new Set(waits.map((wait) => Math.floor((wait - 500) / 50))).size).toBe(10);
  });
});
