import { isRateLimitError, type RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Backend, defineIn, openBackend, placeNames, rowsIn } from "../support/places.js";
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

describe.each(placeNames)("in the %s", (place) => {
  const limits = defineIn(place, { user, team, everyone, queue });
  const { rateLimit, rateLimitAll, checkRateLimitAll, getRateLimit } = limits;
  type Requests = Parameters<typeof rateLimitAll>[1];
  const take = (t: Backend, requests: Requests, options?: { throws?: boolean }) =>
    t.mutation(async (ctx) => await rateLimitAll(ctx, requests, options));
  const layers = [{ name: "user", key: "a" }, { name: "team", key: "t" }, { name: "everyone" }];

  it("all of the limits let it go, and each gives its tokens", async () => {
    const t = openBackend();
    expect(await take(t, layers)).toEqual({
      ok: true,
      statuses: [
        { ok: true, remaining: 1, resetAt: NOW + 500 },
        { ok: true, remaining: 4, resetAt: NOW + 1000 },
        { ok: true, remaining: 99, resetAt: NOW + 10 },
      ],
    });
    const left = await t.query(async (ctx) => (await getRateLimit(ctx, { name: "everyone" })).value);
    expect(left).toBe(99);
  });

  it("one of them denies, and nothing is taken from any", async () => {
    const t = openBackend();
    await take(t, [
      { name: "user", key: "a", count: 2 },
      { name: "team", key: "t" },
    ]);
    const before = await rowsIn(place, t);
    expect(await take(t, layers)).toEqual({
      ok: false,
      retryAt: NOW + 500,
      statuses: [
        { ok: false, retryAt: NOW + 500, remaining: 0, resetAt: NOW + 1000 },
        { ok: true, remaining: 4, resetAt: NOW + 1000 },
        { ok: true, remaining: 100, resetAt: NOW },
      ],
    });
    expect(await rowsIn(place, t)).toEqual(before);
  });

  it("of several denials retryAt is the latest, and then all of them let it go", async () => {
    const t = openBackend();
    const requests = [
      { name: "user", key: "a", count: 2 },
      { name: "team", key: "t", count: 5 },
    ];
    expect(await take(t, requests)).toMatchObject({ ok: true });
    expect(await take(t, requests)).toMatchObject({
      ok: false,
      retryAt: NOW + 1000,
      statuses: [
        { ok: false, retryAt: NOW + 1000 },
        { ok: false, retryAt: NOW + 1000 },
      ],
    });
    expect(
      await take(t, [
        { name: "user", key: "a" },
        { name: "team", key: "t" },
      ]),
    ).toMatchObject({
      retryAt: NOW + 1000,
      statuses: [{ retryAt: NOW + 500 }, { retryAt: NOW + 1000 }],
    });
    vi.setSystemTime(NOW + 999);
    expect(await take(t, requests)).toMatchObject({ ok: false });
    vi.setSystemTime(NOW + 1000);
    expect(await take(t, requests)).toMatchObject({ ok: true });
  });

  it("the same name and key twice adds up", async () => {
    const t = openBackend();
    const twice = [
      { name: "team", key: "t", count: 3 },
      { name: "user", key: "a" },
      { name: "team", key: "t", count: 2 },
    ];
    expect(await take(t, twice)).toMatchObject({
      ok: true,
      statuses: [{ remaining: 0 }, { remaining: 1 }, { remaining: 0 }],
    });
    vi.setSystemTime(NOW + 1000);
    await take(t, [{ name: "team", key: "t" }]);
    expect(await take(t, twice)).toMatchObject({
      ok: false,
      statuses: [
        { ok: false, retryAt: NOW + 2000, remaining: 4 },
        { ok: true, remaining: 2 },
        { ok: false, retryAt: NOW + 2000, remaining: 4 },
      ],
    });
  });

  it("together they must fit, or it is misuse: no wait would ever be long enough", async () => {
    const t = openBackend();
    const tooMuch = take(t, [
      { name: "team", key: "t", count: 3 },
      { name: "team", key: "t", count: 3 },
    ]);
    await expect(tooMuch).rejects.toThrow('Rate limit "team": count 6 can never be served: it can hold at most 5');
    const reserved = take(t, [
      { name: "queue", count: 6, reserve: true },
      { name: "queue", count: 10, reserve: true },
    ]);
    await expect(reserved).rejects.toThrow(
      'Rate limit "queue": count 16 can never be served: with a reservation it can hold at most 15',
    );
    expect(await rowsIn(place, t)).toEqual([]);
  });

  it("one bucket under two configs is misuse; the same config in other words is not", async () => {
    const t = openBackend();
    const other = { name: "user", key: "a", config: { ...user, rate: 3 } };
    const problem = 'Rate limit "user": one bucket must have the same config in all the requests of a call.';
    await expect(take(t, [{ name: "user", key: "a" }, other])).rejects.toThrow(problem);
    expect(await take(t, [{ name: "user", key: "b" }, other])).toMatchObject({ ok: true });
    const reordered = {
      name: "user",
      key: "c",
      config: { period: 1000, capacity: 2, rate: 2, kind: "token bucket" },
    } as const;
    expect(await take(t, [{ name: "user", key: "c" }, reordered])).toMatchObject({ ok: true });
  });

  it("reservations wait together until the last of them is paid", async () => {
    const t = openBackend();
    await take(t, [{ name: "queue", count: 10 }]);
    const reserving = [
      { name: "queue", count: 3, reserve: true },
      { name: "user", key: "a", count: 4, reserve: true },
      { name: "team", key: "t" },
    ];
    expect(await take(t, reserving)).toEqual({
      ok: true,
      retryAt: NOW + 1000,
      statuses: [
        { ok: true, retryAt: NOW + 300, remaining: 0, resetAt: NOW + 1300 },
        { ok: true, retryAt: NOW + 1000, remaining: 0, resetAt: NOW + 2000 },
        { ok: true, remaining: 4, resetAt: NOW + 1000 },
      ],
    });
  });

  it("one bucket cannot be asked to consume and to reserve in one call, in either order", async () => {
    const t = openBackend();
    const requests = [
      { name: "queue", count: 8 },
      { name: "queue", count: 4, reserve: true },
    ];
    const problem = 'Rate limit "queue": one bucket cannot be asked both to consume and to reserve in the same call.';
    await expect(take(t, requests)).rejects.toThrow(problem);
    await expect(take(t, [...requests].reverse())).rejects.toThrow(problem);
    expect(await rowsIn(place, t)).toEqual([]);
    expect(await take(t, [{ ...requests[0], key: "a" } as never, { ...requests[1], key: "b" } as never])).toMatchObject(
      {
        ok: true,
      },
    );
  });

  it("reservations of one bucket add up, and wait together", async () => {
    const t = openBackend();
    const both = [
      { name: "queue", count: 8, reserve: true },
      { name: "queue", count: 4, reserve: true },
    ];
    const status = { ok: true, retryAt: NOW + 200, remaining: 0, resetAt: NOW + 1200 };
    expect(await take(t, both)).toEqual({ ok: true, retryAt: NOW + 200, statuses: [status, status] });
  });

  it("no requests at all are misuse", async () => {
    const t = openBackend();
    await expect(take(t, [])).rejects.toThrow("rateLimitAll needs");
    await expect(t.query(async (ctx) => await checkRateLimitAll(ctx, []))).rejects.toThrow("checkRateLimitAll needs");
  });

  it("throws: the denial that takes longest is thrown, and a reservation that waits is not", async () => {
    const t = openBackend();
    await take(t, [
      { name: "user", key: "a", count: 2 },
      { name: "team", key: "t", count: 5 },
    ]);
    const denied = await take(t, layers, { throws: true }).catch((error: unknown) => error);
    expect(isRateLimitError(denied) && denied.data).toEqual({
      kind: "RateLimited",
      name: "team",
      retryAt: NOW + 1000,
      retryAfter: 1000,
    });
    const waiting = take(t, [{ name: "user", key: "a", reserve: true }], { throws: true });
    expect(await waiting).toMatchObject({ ok: true, retryAt: NOW + 500 });
    const checked = t.query(async (ctx) => await checkRateLimitAll(ctx, layers, { throws: true }));
    await expect(checked).rejects.toThrow();
  });

  it("a throw after it gives everything back", async () => {
    const t = openBackend();
    const failing = t.mutation(async (ctx) => {
      expect(await rateLimitAll(ctx, layers)).toMatchObject({ ok: true });
      throw new Error("changed my mind");
    });
    await expect(failing).rejects.toThrow("changed my mind");
    expect(await rowsIn(place, t)).toEqual([]);
  });

  it("order does not matter, check and consume agree, retryAt is honest, and it comes to the same as one by one", async () => {
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
    await fc.assert(
      fc.asyncProperty(fc.array(request, { maxLength: 8 }), usable, async (before, requests) => {
        vi.setSystemTime(NOW);
        const [t, twin] = [openBackend(), openBackend()];
        const oneByOne = (backend: Backend, list: typeof before) =>
          backend.mutation(async (ctx) => {
            for (const one of list) await rateLimit(ctx, one);
          });
        await oneByOne(t, before);
        await oneByOne(twin, before);
        const ask = (list: Requests) => t.query(async (ctx) => await checkRateLimitAll(ctx, list));
        const rows = await rowsIn(place, t);
        const checked = await ask(requests);
        const backwards = await ask([...requests].reverse());
        expect({ ...backwards, statuses: [...backwards.statuses].reverse() }).toEqual(checked);
        if (!checked.ok) {
          expect(await take(t, requests)).toEqual(checked);
          expect(await rowsIn(place, t)).toEqual(rows);
          vi.setSystemTime(checked.retryAt - 1);
          expect(await ask(requests)).toMatchObject({ ok: false, retryAt: checked.retryAt });
          vi.setSystemTime(checked.retryAt);
        }
        const promised = await ask(requests);
        expect(await take(t, requests)).toEqual(promised);
        expect(promised.ok).toBe(true);
        await oneByOne(twin, [...requests.filter((one) => !one.reserve), ...requests.filter((one) => one.reserve)]);
        const stored = async (backend: Backend) =>
          (await rowsIn(place, backend))
            .map(({ name, key, value, ts }) => JSON.stringify([name, key, value, ts]))
            .sort();
        expect(await stored(t)).toEqual(await stored(twin));
      }),
      { numRuns: runs(150) },
    );
  });
});

/** Three requests of two at once are more than a user's limit can ever hold. */
function fits(requests: { name: string; key: string; count: number; reserve: boolean }[]): boolean {
  return ["a", "b"].every((key) => {
    const atOnce = requests.filter((one) => one.name === "user" && one.key === key && !one.reserve);
    const most = requests.filter((one) => one.name === "team" && one.key === key && !one.reserve);
    const sum = (list: typeof requests) => list.reduce((all, { count }) => all + count, 0);
    return sum(atOnce) <= 2 && sum(most) <= 5;
  });
}
