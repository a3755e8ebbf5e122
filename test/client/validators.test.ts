// @vitest-environment edge-runtime
/** The types that are written by hand, for their hover text, equal those that their validators infer. `tsc -p .` checks it. */
import type { Infer } from "convex/values";
import type { RateLimitAllStatus, RateLimitConfig, RateLimitSnapshot, RateLimitStatus } from "convex-rate-limits";
import type { RateLimitOverride } from "convex-rate-limits/admin";
import {
  vRateLimitAllStatus,
  vRateLimitConfig,
  vRateLimitOverride,
  vRateLimitSnapshot,
  vRateLimitStatus,
} from "convex-rate-limits/schema";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { FixedWindowConfig, SlidingWindowConfig, TokenBucketConfig } from "../../src/wire/configs.js";

/** The fields of T as one type, whether they were written in one interface or several. */
type Fields<T> = { [Field in keyof T]: T[Field] };
type InferredConfig<Kind> = Fields<Extract<Infer<typeof vRateLimitConfig>, { kind: Kind }>>;
type InferredStatus<Ok> = Fields<Extract<Infer<typeof vRateLimitStatus>, { ok: Ok }>>;
type InferredAll<Ok> = Fields<Extract<Infer<typeof vRateLimitAllStatus>, { ok: Ok }>>;

describe("the validator infers the type of", () => {
  it("each kind's config", () => {
    expectTypeOf<Fields<TokenBucketConfig>>().toEqualTypeOf<InferredConfig<"token bucket">>();
    expectTypeOf<Fields<FixedWindowConfig>>().toEqualTypeOf<InferredConfig<"fixed window">>();
    // The type alone has `capacity?: undefined`, so that its absence can be asked of any config.
    expectTypeOf<Fields<Omit<SlidingWindowConfig, "capacity">>>().toEqualTypeOf<InferredConfig<"sliding window">>();
    expectTypeOf<RateLimitConfig["kind"]>().toEqualTypeOf<Infer<typeof vRateLimitConfig>["kind"]>();
    expect(vRateLimitConfig.members).toHaveLength(3);
  });

  it("an override", () => {
    type Inferred = Infer<typeof vRateLimitOverride>;
    expectTypeOf<Fields<Omit<RateLimitOverride, "config">>>().toEqualTypeOf<Fields<Omit<Inferred, "config">>>();
    expectTypeOf<Inferred>().toExtend<RateLimitOverride>();
    expect(Object.keys(vRateLimitOverride.fields)).toEqual(["config", "block", "unlimited", "until", "note"]);
  });

  it("each status", () => {
    expectTypeOf<Fields<Extract<RateLimitStatus, { ok: true }>>>().toEqualTypeOf<InferredStatus<true>>();
    expectTypeOf<Fields<Extract<RateLimitStatus, { ok: false }>>>().toEqualTypeOf<InferredStatus<false>>();
    expect(vRateLimitStatus.members).toHaveLength(2);
  });

  it("the status of several limits", () => {
    type Without<T> = Omit<T, "statuses">;
    type Own<Ok> = Extract<RateLimitAllStatus, { ok: Ok }>;
    expectTypeOf<Fields<Without<Own<true>>>>().toEqualTypeOf<Fields<Without<InferredAll<true>>>>();
    expectTypeOf<Fields<Without<Own<false>>>>().toEqualTypeOf<Fields<Without<InferredAll<false>>>>();
    expectTypeOf<Own<true>["statuses"]>().toExtend<InferredAll<true>["statuses"]>();
    expectTypeOf<InferredAll<true>["statuses"]>().toExtend<Own<true>["statuses"]>();
    expect(vRateLimitAllStatus.members).toHaveLength(2);
  });

  it("a snapshot", () => {
    type Own = "config" | "override";
    expectTypeOf<Omit<RateLimitSnapshot, Own>>().toEqualTypeOf<Omit<Infer<typeof vRateLimitSnapshot>, Own>>();
    expectTypeOf<Infer<typeof vRateLimitSnapshot>>().toExtend<RateLimitSnapshot>();
    expect(Object.keys(vRateLimitSnapshot.fields)).toEqual(
      "name config value ts tokens unitsPerToken capacity maxReserved lastStart lastsMs windowsFrom restMs fullAt runs parts few mode plan override".split(
        " ",
      ),
    );
  });
});
