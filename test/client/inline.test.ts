// @vitest-environment edge-runtime
/** The functions without definitions, those of `defineRateLimits({})`: the config comes with the call. The laws are tried on them. */
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import { NOW, useClock } from "../support/clock.js";
import { useBackend } from "../support/limits.js";
import { placeNames, rowsIn } from "../support/places.js";

useClock();

const config: RateLimitConfig = { kind: "token bucket", rate: 2, period: 1000 };
const bucket = { name: "send", key: "a" };
const args = { ...bucket, config };

describe.each(placeNames)("in the %s", (place) => {
  const { define, rows, backend } = useBackend(place);
  const limits = define({});
  const defined = define({ send: config });
  const { rateLimit, getRateLimit, resetRateLimit } = limits;
  const rowsElsewhere = () => rowsIn(place === "component" ? "tables" : "component", backend());

  it("they share their bucket with a defined limit of the same name, and leave the other place alone", async () => {
    expect(await rateLimit(args)).toEqual({ ok: true, remaining: 1, resetAt: NOW + 500 });
    expect(await defined.checkRateLimit(bucket)).toMatchObject({ ok: true, remaining: 0 });
    expect(await defined.rateLimit(bucket)).toMatchObject({ ok: true });
    expect(await limits.checkRateLimit(args)).toMatchObject({ ok: false, retryAt: NOW + 500 });
    const held = { value: 0, ts: NOW };
    const snapshot = { name: "send", ...held, config: { ...config, capacity: 2 }, parts: [held] };
    expect(await getRateLimit(args)).toMatchObject(snapshot);
    expect(await rows()).toHaveLength(1);
    expect(await rowsElsewhere()).toEqual([]);
    expect(await resetRateLimit(args)).toBeNull();
    expect(await limits.checkRateLimit(args)).toMatchObject({ ok: true, remaining: 1 });
    expect(await rows()).toEqual([]);
  });

  it.each(["rateLimit", "checkRateLimit", "getRateLimit", "resetRateLimit"] as const)(
    "without a config the message of %s says so",
    async (call) => {
      const known = "is not one of your limits (none is defined); give its config to use it without a definition.";
      await expect(limits[call](bucket)).rejects.toThrow(`Rate limit "send": ${known}`);
    },
  );
});
