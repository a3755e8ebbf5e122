// @vitest-environment edge-runtime
/**
 * `atLeast`: a call takes the tokens that are there, from a least number to a count. test/model checks how many, and test/operations checks
 * it on several rows.
 */
import { describe, expect, it } from "vitest";
import { placeNames } from "../support/places.js";
import { useClock } from "../support/clock.js";
import { useBackend } from "../support/limits.js";

useClock();

const definitions = {
  bucket: { kind: "token bucket", rate: 10, period: 1000 },
  odd: { kind: "token bucket", rate: 5, period: 1000, capacity: 2.5 },
  third: { kind: "token bucket", rate: 1 / 3, period: 1000, capacity: 5 },
  tried: { kind: "token bucket", rate: 10, period: 1000, mode: "shadow" },
} as const;

describe.each(placeNames)("in the %s", (place) => {
  const { define, mutation, rows } = useBackend(place);
  const limits = define(definitions);
  const take = (name: string, args: object) => limits.rateLimit({ name, ...args });

  it("taken is the exact number, not a rounded sum", async () => {
    // 0.769 + 1 is 1.7690000000000001.
    expect(await take("odd", { count: 7, atLeast: 0.769 })).toMatchObject({ taken: 1.769 });
    expect(await take("odd", { count: 7, atLeast: 0.731 })).toMatchObject({ taken: 0.731, remaining: 0 });
  });

  it.each(["bucket", "odd", "third"])("the tokens taken from a %s can be refunded in full", async (name) => {
    await take(name, { count: 0.7 });
    const { remaining } = await take(name, { count: 0 });
    const status = await take(name, { count: 50, atLeast: 0.3 });
    const taken = status.ok ? (status.taken ?? 0) : 0;
    expect(taken).toBeGreaterThan(0.3);
    expect(await limits.adjustRateLimit({ name, count: -taken })).toMatchObject({ remaining });
  });

  it("in shadow, the caller has all that it asked for, and the true answer says how many tokens were taken", async () => {
    await take("tried", { count: 7 });
    const batch = { count: 5, atLeast: 1 };
    expect(await take("tried", batch)).toMatchObject({ ok: true, taken: 5, shadow: { ok: true, taken: 3 } });
    const denied = await take("tried", batch);
    expect(denied).toMatchObject({ ok: true, taken: 5, shadow: { ok: false } });
    expect(denied.ok && denied.shadow).not.toHaveProperty("taken");
    expect(await rows()).toMatchObject([{ value: 0 }]);
  });

  it("concurrent batches in one transaction share the tokens", async () => {
    const batch = { name: "bucket", count: 4, atLeast: 1 };
    const statuses = await mutation((ctx) => {
      const { rateLimit } = limits.within(ctx);
      return Promise.all([1, 2, 3, 4].map(() => rateLimit(batch)));
    });
    expect(statuses.map((status) => (status.ok ? status.taken : 0))).toEqual([4, 4, 2, 0]);
  });
});
