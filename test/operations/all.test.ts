/**
 * Several limits at once, each asked once. test/client/throws.test.ts checks what is thrown.
 */
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it, vi } from "vitest";
import { adjustmentOf } from "../../src/engine/adjustment.js";
import { bucketOf, requestOf } from "../../src/engine/request.js";
import { adjust, pause } from "../../src/operations/adjust.js";
import { consume, consumeAll } from "../../src/operations/consume.js";
import { setOverride } from "../../src/operations/override.js";
import type { Writer } from "../../src/storage/rows.js";
import { NOW, useClock } from "../support/clock.js";
import { useBackend } from "../support/limits.js";
import { placeNames } from "../support/places.js";

useClock();

const user: RateLimitConfig = { kind: "token bucket", rate: 2, period: 1000 };
const team: RateLimitConfig = { kind: "fixed window", rate: 5, period: 1000, start: 0 };
const everyone: RateLimitConfig = { kind: "token bucket", rate: 100, period: 1000, shards: 8 };
const queue: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000, maxReserved: 5 };

const jobs: RateLimitConfig = { kind: "fixed window", rate: 5, period: 1000, start: 0, maxReserved: 5 };

const ofUser = (more: object = {}) => ({ name: "user", key: "a", ...more });
const ofTeam = (more: object = {}) => ({ name: "team", key: "t", ...more });
const layers = [ofUser(), ofTeam(), { name: "everyone" }];
const allowed = (remaining: number, resetMs: number) => ({ ok: true, remaining, resetAt: NOW + resetMs });

describe.each(placeNames)("in the %s", (place) => {
  const { define, rows } = useBackend(place);
  const limits = define({ user, team, everyone, queue, jobs });
  const { rateLimit, rateLimitAll, checkRateLimitAll, getRateLimit } = limits;

  it("a call takes tokens from every limit if all allow it, and from none if one denies", async () => {
    const others = [allowed(4, 1000), allowed(99, 10)];
    expect(await rateLimitAll(layers)).toEqual({ ok: true, statuses: [allowed(1, 500), ...others] });
    await rateLimit(ofUser());
    const before = await rows();
    const denied = { ok: false, retryAt: NOW + 500, remaining: 0, resetAt: NOW + 1000 };
    const statuses = [denied, ...others];
    expect(await rateLimitAll(layers)).toEqual({ ok: false, retryAt: NOW + 500, statuses });
    expect(await rows()).toEqual(before);
    expect((await getRateLimit({ name: "everyone" })).value).toBe(99);
  });

  it("several denials last until the latest one ends", async () => {
    await rateLimit(ofUser({ count: 2 }));
    await rateLimit(ofTeam({ count: 5 }));
    expect(await rateLimitAll(layers)).toMatchObject({ ok: false, retryAt: NOW + 1000 });
    expect(await rateLimitAll(layers.toReversed())).toMatchObject({ ok: false, retryAt: NOW + 1000 });
  });

  it("a denial lasts until a limit serves whose override has ended by then", async () => {
    await limits.overrideRateLimit({ name: "user", key: "a", unlimited: true, until: NOW + 500 });
    await rateLimit(ofUser({ count: 6 }));
    await rateLimit(ofTeam({ count: 5 }));
    expect(await rateLimitAll(layers)).toMatchObject({ ok: false, retryAt: NOW + 2500 });
    const throwing = rateLimitAll(layers, { throws: true });
    await expect(throwing).rejects.toMatchObject({ data: { name: "team", retryAt: NOW + 2500, retryAfter: 2500 } });
    vi.setSystemTime(NOW + 2499);
    expect(await rateLimitAll(layers)).toMatchObject({ ok: false, retryAt: NOW + 2500 });
    vi.setSystemTime(NOW + 2500);
    expect(await rateLimitAll(layers)).toMatchObject({ ok: true });
  });

  it("a denial lasts until all serve, however many overrides end one after another", async () => {
    // Each is empty until 150 ms after its override ends. By then that of the next one has ended.
    const requests = Array.from({ length: 25 }, (_, i) => {
      const config = { kind: "token bucket", rate: 1, period: 100 * i + 150 };
      return { name: `chain ${i}`, config, until: NOW + 100 * i };
    });
    const asked = requests.map(({ name, config }) => ({ name, config }));
    await rateLimitAll(asked);
    const own = define(Object.fromEntries(requests.map(({ name, config }) => [name, config as RateLimitConfig])));
    for (const { name, until } of requests.slice(1)) await own.overrideRateLimit({ name, unlimited: true, until });
    expect(await rateLimitAll(asked)).toMatchObject({ ok: false, retryAt: NOW + 2550 });
    vi.setSystemTime(NOW + 2549);
    expect(await rateLimitAll(asked)).toMatchObject({ ok: false, retryAt: NOW + 2550 });
    vi.setSystemTime(NOW + 2550);
    expect(await rateLimitAll(asked)).toMatchObject({ ok: true });
  });

  it("a denial lasts until a reservation of more than a window holds starts soon enough again", async () => {
    const large = { name: "jobs", count: 7, reserve: { within: 100 } };
    await rateLimit(ofUser({ count: 2 }));
    vi.setSystemTime(NOW + 100);
    await rateLimit({ name: "queue", count: 10, reserve: true });
    vi.setSystemTime(NOW + 900);
    expect(await checkRateLimitAll([large])).toMatchObject({ ok: true });
    const requests = [large, { name: "queue", count: 10 }];
    expect(await rateLimitAll(requests)).toMatchObject({ ok: false, retryAt: NOW + 1900 });
    vi.setSystemTime(NOW + 1900);
    expect(await rateLimitAll(requests)).toMatchObject({ ok: true, retryAt: NOW + 2000 });
  });

  it("one bucket twice is misuse, and takes nothing", async () => {
    for (const call of [rateLimitAll, checkRateLimitAll]) {
      await expect(call([ofUser(), ofTeam(), ofUser({ count: 3 })])).rejects.toThrow(
        'Rate limit "user": one bucket may be asked once in a call: add the counts.',
      );
    }
    expect(await rows()).toEqual([]);
    expect(await rateLimitAll([ofUser(), ofUser({ key: "b" })])).toMatchObject({ ok: true });
  });

  it("a count that is too large denies none if its limit is in shadow", async () => {
    expect(await rateLimitAll([ofUser(), ofTeam({ count: 6, mode: "shadow" })])).toMatchObject({ ok: true });
    expect(await rows()).toHaveLength(1);
  });

  it("reservations wait together for the latest one", async () => {
    await rateLimit({ name: "queue", count: 10 });
    const requests = [{ name: "queue", count: 3, reserve: true }, ofUser({ count: 4, reserve: true }), ofTeam()];
    const reserved = (ms: number) => ({ ...allowed(0, ms + 1000), retryAt: NOW + ms });
    const statuses = [reserved(300), reserved(1000), allowed(4, 1000)];
    expect(await rateLimitAll(requests)).toEqual({ ok: true, retryAt: NOW + 1000, statuses });
  });
});

/** A database without rows, in which no write succeeds. */
const db = {
  query: () => ({ withIndex: () => ({ collect: () => Promise.resolve([]), first: () => Promise.resolve(null) }) }),
  insert: () => Promise.reject(new Error("not written")),
};
const given = { name: "everyone", config: user };
const request = requestOf({ ...given, count: 1 });

it.each<[string, (ctx: Writer) => Promise<unknown>]>([
  ["a call", (ctx) => consume(ctx, request)],
  ["several limits at once", (ctx) => consumeAll(ctx, [request])],
  ["a charge", (ctx) => adjust(ctx, adjustmentOf(bucketOf(given), { count: 1 }))],
  ["a pause", (ctx) => pause(ctx, { ...given, until: NOW + 1 })],
  ["an override", (ctx) => setOverride(ctx, given, { block: true })],
])("%s waits for its writes, and fails if they fail", async (_what, operation) => {
  await expect(operation({ db } as unknown as Writer)).rejects.toThrow("not written");
});
