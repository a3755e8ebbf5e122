/** Several limits at once. How requests to one bucket add up is held in test/engine/bundle.test.ts, and every answer in test/model. */
import { isRateLimitError, type RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { adjustmentOf } from "../../src/engine/adjustment.js";
import { bundle } from "../../src/engine/bundle.js";
import { parseBucket, parseRequest } from "../../src/engine/request.js";
import { adjust } from "../../src/operations/adjust.js";
import { consumeAll } from "../../src/operations/all.js";
import { consume } from "../../src/operations/consume.js";
import { setOverride } from "../../src/operations/override.js";
import { pause } from "../../src/operations/pause.js";
import type { Writer } from "../../src/storage/rows.js";
import { useBackend } from "../support/limits.js";
import { placeNames } from "../support/places.js";
import { runs } from "../support/random.js";

const NOW = 1_700_000_000_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

const user: RateLimitConfig = { kind: "token bucket", rate: 2, period: 1000 };
const team: RateLimitConfig = { kind: "fixed window", rate: 5, period: 1000, start: 0 };
const everyone: RateLimitConfig = { kind: "token bucket", rate: 100, period: 1000, shards: 8 };
const queue: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000, maxReserved: 5 };

const ofUser = (more: object = {}) => ({ name: "user", key: "a", ...more });
const ofTeam = (more: object = {}) => ({ name: "team", key: "t", ...more });
const layers = [ofUser(), ofTeam(), { name: "everyone" }];

/** Three requests of two at once are more than a user's limit can ever hold. */
function fits(requests: { name: string; key: string; count: number; reserve: boolean }[]): boolean {
  const most: Record<string, number> = { user: 2, team: 5 };
  return requests.every(({ name, key }) => {
    const same = requests.filter((one) => one.name === name && one.key === key && !one.reserve);
    return same.reduce((all, { count }) => all + count, 0) <= (most[name] ?? Infinity);
  });
}
const request = fc.record({
  name: fc.constantFrom("user", "team", "queue"),
  key: fc.constantFrom("a", "b"),
  count: fc.integer({ min: 0, max: 2 }),
  reserve: fc.boolean(),
});
const usable = fc
  .array(request, { minLength: 1, maxLength: 5 })
  // One bucket is asked in one way.
  .map((list) =>
    list.map((one) => {
      const first = list.find(({ name, key }) => name === one.name && key === one.key) ?? one;
      return { ...one, reserve: first.reserve };
    }),
  )
  .filter(fits);

describe.each(placeNames)("in the %s", (place) => {
  const { open, define, rows } = useBackend(place);
  const { rateLimit, rateLimitAll, checkRateLimitAll, getRateLimit } = define({ user, team, everyone, queue });

  it("all of the limits let it go and each gives its tokens, or one of them denies and nothing is taken from any", async () => {
    expect(await rateLimitAll(layers)).toEqual({
      ok: true,
      statuses: [
        { ok: true, remaining: 1, resetAt: NOW + 500 },
        { ok: true, remaining: 4, resetAt: NOW + 1000 },
        { ok: true, remaining: 99, resetAt: NOW + 10 },
      ],
    });
    await rateLimit(ofUser());
    const before = await rows();
    expect(await rateLimitAll(layers)).toEqual({
      ok: false,
      retryAt: NOW + 500,
      statuses: [
        { ok: false, retryAt: NOW + 500, remaining: 0, resetAt: NOW + 1000 },
        { ok: true, remaining: 4, resetAt: NOW + 1000 },
        { ok: true, remaining: 99, resetAt: NOW + 10 },
      ],
    });
    expect(await rows()).toEqual(before);
    expect((await getRateLimit({ name: "everyone" })).value).toBe(99);
  });

  it("reservations wait together until the last of them is paid", async () => {
    await rateLimit({ name: "queue", count: 10 });
    const requests = [{ name: "queue", count: 3, reserve: true }, ofUser({ count: 4, reserve: true }), ofTeam()];
    const statuses = [
      { ok: true, retryAt: NOW + 300, remaining: 0, resetAt: NOW + 1300 },
      { ok: true, retryAt: NOW + 1000, remaining: 0, resetAt: NOW + 2000 },
      { ok: true, remaining: 4, resetAt: NOW + 1000 },
    ];
    expect(await rateLimitAll(requests)).toEqual({ ok: true, retryAt: NOW + 1000, statuses });
  });

  it.each([
    ["rateLimitAll needs", []],
    ['Rate limit "team": count 6 can never be served: it can hold at most 5', [3, 3].map((count) => ofTeam({ count }))],
    [
      'Rate limit "queue": count 16 can never be served: with a reservation it can hold at most 15',
      [6, 10].map((count) => ({ name: "queue", count, reserve: true })),
    ],
    [
      'Rate limit "user": one bucket must have the same config in all the requests of a call.',
      [ofUser(), ofUser({ config: { ...user, rate: 3 } })],
    ],
    [
      'Rate limit "user": one bucket cannot be asked both to consume and to reserve in the same call.',
      [ofUser({ reserve: true }), ofUser()],
    ],
  ])("misuse: %s", async (problem, requests) => {
    await expect(rateLimitAll(requests)).rejects.toThrow(problem);
    await expect(checkRateLimitAll(requests)).rejects.toThrow(problem.replace("rateLimitAll", "checkRateLimitAll"));
    expect(await rows()).toEqual([]);
  });

  it("throws: the denial that takes longest is thrown, and a reservation that waits is not", async () => {
    await rateLimitAll([ofUser({ count: 2 }), ofTeam({ count: 5 })]);
    for (const call of [rateLimitAll, checkRateLimitAll]) {
      const error: unknown = await call(layers, { throws: true }).catch((thrown: unknown) => thrown);
      const data = { kind: "RateLimited", name: "team", retryAt: NOW + 1000, retryAfter: 1000 };
      expect(isRateLimitError(error) && error.data).toEqual(data);
    }
    const waiting = await rateLimitAll([ofUser({ reserve: true })], { throws: true });
    expect(waiting).toMatchObject({ ok: true, retryAt: NOW + 500 });
  });

  it("order does not matter, check and consume agree, retryAt is honest and the latest, and it comes to the same as one by one", async () => {
    const oneByOne = async (list: readonly { key: string }[], of = "") => {
      for (const one of list) await rateLimit({ ...one, key: one.key + of });
    };
    const stored = async (of: RegExp) =>
      (await rows())
        .filter(({ key = "" }) => of.test(key))
        .map(({ name, key, value, ts }) => JSON.stringify([name, key?.[0], value, ts]))
        .sort();
    await fc.assert(
      fc.asyncProperty(fc.array(request, { maxLength: 8 }), usable, async (before, requests) => {
        open();
        vi.setSystemTime(NOW);
        await oneByOne(before);
        await oneByOne(before, " twin");
        const held = await rows();
        const checked = await checkRateLimitAll(requests);
        const backwards = await checkRateLimitAll([...requests].reverse());
        expect({ ...backwards, statuses: [...backwards.statuses].reverse() }).toEqual(checked);
        if (!checked.ok) {
          expect(await rateLimitAll(requests)).toEqual(checked);
          expect(await rows()).toEqual(held);
          vi.setSystemTime(checked.retryAt - 1);
          expect(await checkRateLimitAll(requests)).toMatchObject({ ok: false, retryAt: checked.retryAt });
          vi.setSystemTime(checked.retryAt);
        }
        const promised = await checkRateLimitAll(requests);
        expect(await rateLimitAll(requests)).toEqual(promised);
        expect(promised.ok).toBe(true);
        const waits = promised.statuses.flatMap(({ retryAt }) => retryAt ?? []);
        expect(promised.retryAt).toBe(waits.length > 0 ? Math.max(...waits) : undefined);
        const first = requests.filter(({ reserve }) => !reserve);
        await oneByOne([...first, ...requests.filter(({ reserve }) => reserve)], " twin");
        expect(await stored(/^.$/)).toEqual(await stored(/twin/));
      }),
      { numRuns: runs(150) },
    );
  });
});

/** A database without rows, in which no write succeeds. */
const db = {
  query: () => ({ withIndex: () => ({ collect: () => Promise.resolve([]), first: () => Promise.resolve(null) }) }),
  insert: () => Promise.reject(new Error("not written")),
};
const asked = { name: "everyone", count: 1 };

it.each<[string, (ctx: Writer) => Promise<unknown>]>([
  ["a call", (ctx) => consume(ctx, parseRequest({ ...asked, config: user }))],
  ["several limits at once", (ctx) => consumeAll(ctx, bundle([parseRequest({ ...asked, config: user })]))],
  ["a charge", (ctx) => adjust(ctx, adjustmentOf(parseBucket({ ...asked, config: user }), asked))],
  ["a pause", (ctx) => pause(ctx, { ...parseBucket({ ...asked, config: user }), until: NOW + 1 })],
  ["an override", (ctx) => setOverride(ctx, asked, { block: true })],
])("%s waits for its writes, and fails with them", async (_what, operation) => {
  await expect(operation({ db } as unknown as Writer)).rejects.toThrow("not written");
});
