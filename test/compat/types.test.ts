/** What must not compile does not compile. `tsc -p .` is the judge; at run time these calls are misuse. */
import type * as Official from "@convex-dev/rate-limiter";
import * as official from "@convex-dev/rate-limiter";
import type * as OfficialReact from "@convex-dev/rate-limiter/react";
import * as officialReact from "@convex-dev/rate-limiter/react";
import type * as Ours from "convex-rate-limits/compat";
import * as ours from "convex-rate-limits/compat";
import { RateLimiter } from "convex-rate-limits/compat";
import type * as OursReact from "convex-rate-limits/compat/react";
import * as oursReact from "convex-rate-limits/compat/react";
import { expect, it } from "vitest";
import { component, openBackend } from "../support/places.js";

const bucket = { kind: "token bucket", rate: 2, period: 1000 } as const;
const limiter = new RateLimiter(component, { send: bucket });

it("a name that is not defined needs a config", async () => {
  const t = openBackend();
  await t.mutation(async (ctx) => {
    expect(await limiter.limit(ctx, "other", { config: bucket })).toEqual({ ok: true });
    // @ts-expect-error -- No config.
    await expect(limiter.limit(ctx, "sned")).rejects.toThrow('Rate limit "sned": is not one of your limits ("send")');
    // @ts-expect-error -- No config.
    await expect(limiter.check(ctx, "sned", { key: "ada" })).rejects.toThrow(
      "give its config to use it without a definition",
    );
    // @ts-expect-error -- No config.
    await expect(limiter.getValue(ctx, "sned")).rejects.toThrow("give its config to use it without a definition");
  });
});

it("a call that asks for nothing known is refused by the compiler", async () => {
  const t = openBackend();
  await t.mutation(async (ctx) => {
    // @ts-expect-error -- It is spelt `reserve`.
    await expect(limiter.limit(ctx, "send", { reserved: true })).rejects.toThrow(
      '"reserved" is not a field of the options',
    );
  });
});

/** The types that the official component exports, and ours of the same names: an import line is all that changes. */
type Pairs = [
  [Official.RateLimitArgs, Ours.RateLimitArgs],
  [Official.RateLimitConfig, Ours.RateLimitConfig],
  [Official.RateLimitError, Ours.RateLimitError],
  [Official.RateLimitReturns, Ours.RateLimitReturns],
  [Official.QueryCtx, Ours.QueryCtx],
  [Official.MutationCtx, Ours.MutationCtx],
  [Official.ActionCtx, Ours.ActionCtx],
  [OfficialReact.UseRateLimitOptions["sampleShards"], OursReact.UseRateLimitOptions["sampleShards"]],
  [OfficialReact.GetServerTimeMutation, OursReact.GetServerTimeMutation],
];
type TakesAll<List extends readonly [unknown, unknown][]> = {
  [I in keyof List]: List[I][0] extends List[I][1] ? true : [List[I], "is not taken"];
};

it("what is typed with the official names is taken here, and every value is there", () => {
  const taken: TakesAll<Pairs> = [true, true, true, true, true, true, true, true, true];
  expect(taken).not.toContain(false);
  expect(Object.keys(ours).sort()).toEqual(Object.keys(official).sort());
  expect(Object.keys(oursReact).sort()).toEqual(Object.keys(officialReact).sort());
});
