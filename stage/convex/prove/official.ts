/** One call on a limit of @convex-dev/rate-limiter, which is installed only for the comparison. */
import { RateLimiter } from "@convex-dev/rate-limiter";
import { components } from "../_generated/api.js";
import { SECOND, timedMutation } from "./hits.js";

const limiter = new RateLimiter(components.rateLimiter, {});

export const hit = timedMutation(async (ctx, { key, rate, capacity, shards }) => {
  const rows = shards === "auto" ? {} : { shards };
  const config = { kind: "token bucket" as const, rate, period: SECOND, capacity, ...rows };
  const { ok, retryAfter } = await limiter.limit(ctx, "proof", { key, config });
  // `retryAfter` has fractions; a caller can only wait for whole milliseconds.
  return { ok, retryAt: retryAfter === undefined ? undefined : Math.ceil(Date.now() + retryAfter) };
});
