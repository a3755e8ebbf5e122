/** This package exports everything that the official component exports. `tsc -p .` checks the types. */
import * as Official from "@convex-dev/rate-limiter";
import * as OfficialReact from "@convex-dev/rate-limiter/react";
import * as Ours from "convex-rate-limits/compat";
import * as OursReact from "convex-rate-limits/compat/react";
import { expect, it } from "vitest";

/** The types that the official component exports, and ours of the same names, so that only an import line changes. */
type Pairs = [
  [Omit<Official.RateLimitArgs, "config">, Omit<Ours.RateLimitArgs, "config">],
  [keyof Official.RateLimitArgs, keyof Ours.RateLimitArgs],
  [Ours.GetValueReturns["config"]["start"], number | null | undefined],
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

it("values with the official types are accepted here, and every official value is exported", () => {
  const taken: TakesAll<Pairs> = [true, true, true, true, true, true, true, true, true, true, true];
  expect(taken).not.toContain(false);
  expect(Object.keys(Ours).sort()).toEqual(Object.keys(Official).sort());
  expect(Object.keys(OursReact).sort()).toEqual(Object.keys(OfficialReact).sort());
});
