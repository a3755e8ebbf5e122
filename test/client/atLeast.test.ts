// @vitest-environment edge-runtime
/** `atLeast`: as much as there is, between a least and a count. */
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it, vi } from "vitest";
import { placeNames } from "../support/places.js";
import { NOW, useClock } from "../support/clock.js";
import { useBackend } from "../support/limits.js";

useClock();

const kinds: Record<string, RateLimitConfig> = {
  bucket: { kind: "token bucket", rate: 10, period: 1000 },
  window: { kind: "fixed window", rate: 10, period: 1000, start: 0 },
  sliding: { kind: "sliding window", rate: 10, period: 1000 },
};
const definitions = {
  ...kinds,
  odd: { kind: "token bucket", rate: 5, period: 1000, capacity: 2.5 },
  third: { kind: "token bucket", rate: 1 / 3, period: 1000, capacity: 5 },
  tried: { kind: "token bucket", rate: 10, period: 1000, mode: "shadow" },
} as const;

describe.each(placeNames)("in the %s", (place) => {
  const { define, mutation, rows } = useBackend(place);
  const limits = define(definitions);
  const take = (name: string, args: object) => limits.rateLimit({ name, ...args });
  const check = (name: string, args: object) => limits.checkRateLimit({ name, ...args });

  it.each(Object.keys(kinds))("a %s gives all, then what is left, then nothing", async (name) => {
    const batch = { count: 6, atLeast: 2 };
    expect(await take(name, batch)).toMatchObject({ ok: true, taken: 6, remaining: 4 });
    expect(await check(name, batch)).toMatchObject({ ok: true, taken: 4, remaining: 0 });
    expect(await take(name, batch)).toMatchObject({ ok: true, taken: 4, remaining: 0 });
    const before = await rows();
    const denied = await take(name, batch);
    expect(denied).toMatchObject({ ok: false, remaining: 0 });
    expect(denied).not.toHaveProperty("taken");
    expect(await rows()).toEqual(before);
    // The first moment at which what suffices is there.
    const { retryAt = 0 } = denied;
    vi.setSystemTime(retryAt - 1);
    expect(await take(name, batch)).toMatchObject({ ok: false, retryAt });
    vi.setSystemTime(retryAt);
    expect(await take(name, batch)).toMatchObject({ ok: true, taken: name === "bucket" ? 2 : 6 });
  });

  it("what is taken beyond the least are whole tokens", async () => {
    vi.setSystemTime(NOW);
    await take("bucket", { count: 10 });
    vi.setSystemTime(NOW + 370);
    expect(await take("bucket", { count: 9, atLeast: 1 })).toMatchObject({ taken: 3 });
    vi.setSystemTime(NOW + 460);
    // 1.6 tokens: half a one, and as many whole ones as there are.
    expect(await take("bucket", { count: 9, atLeast: 0.5 })).toMatchObject({ taken: 1.5 });
    expect(await take("odd", { count: 2.5, atLeast: 1 })).toMatchObject({ taken: 2.5, remaining: 0 });
  });

  it("what was taken is the number that it is, not a sum that was rounded", async () => {
    // 0.769 + 1 is 1.7690000000000001.
    expect(await take("odd", { count: 7, atLeast: 0.769 })).toMatchObject({ taken: 1.769 });
    expect(await take("odd", { count: 7, atLeast: 0.731 })).toMatchObject({ taken: 0.731, remaining: 0 });
  });

  it("the count may be above the capacity: what suffices must fit", async () => {
    expect(await take("bucket", { count: 25, atLeast: 1 })).toMatchObject({ ok: true, taken: 10, remaining: 0 });
    expect(await take("bucket", { count: 1e300, atLeast: 1 })).toMatchObject({ ok: false, retryAt: NOW + 100 });
    // Whole tokens of two and a half.
    expect(await take("odd", { count: 25, atLeast: 1 })).toMatchObject({ ok: true, taken: 2 });
  });

  it("a least of 0 is denied only while tokens are owed", async () => {
    await take("bucket", { count: 10 });
    const before = await rows();
    expect(await take("bucket", { count: 3, atLeast: 0 })).toMatchObject({ ok: true, taken: 0 });
    expect(await rows()).toEqual(before);
    await take("bucket", { count: 5, reserve: true });
    expect(await take("bucket", { count: 3, atLeast: 0 })).toMatchObject({ ok: false, retryAt: NOW + 500 });
  });

  it.each([...Object.keys(kinds), "odd", "third"])("what was taken from a %s can be given back whole", async (name) => {
    await take(name, { count: 0.7 });
    const { remaining } = await take(name, { count: 0 });
    const status = await take(name, { count: 50, atLeast: 0.3 });
    const taken = status.ok ? (status.taken ?? 0) : 0;
    expect(taken).toBeGreaterThan(0.3);
    expect(await limits.adjustRateLimit({ name, count: -taken })).toMatchObject({ remaining });
  });

  it("in shadow the caller has all that it asked for, and the true answer says what was taken", async () => {
    await take("tried", { count: 7 });
    const batch = { count: 5, atLeast: 1 };
    expect(await take("tried", batch)).toMatchObject({ ok: true, taken: 5, shadow: { ok: true, taken: 3 } });
    expect(await take("tried", batch)).toMatchObject({ ok: true, taken: 5, shadow: { ok: false } });
    expect(await rows()).toMatchObject([{ value: 0 }]);
  });

  it("takes part in a transaction: batches at once share what is there", async () => {
    const batch = { name: "bucket", count: 4, atLeast: 1 };
    const statuses = await mutation((ctx) => {
      const { rateLimit } = limits.within(ctx);
      return Promise.all([1, 2, 3, 4].map(() => rateLimit(batch)));
    });
    expect(statuses.map((status) => (status.ok ? status.taken : 0))).toEqual([4, 4, 2, 0]);
  });
});
