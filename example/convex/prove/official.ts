/** One call on a limit of @convex-dev/rate-limiter, which is installed beside ours for the comparison only. */
import { RateLimiter, SECOND } from "@convex-dev/rate-limiter";
import { components } from "../_generated/api.js";
import { mutation } from "../_generated/server.js";
import { hitArgs, timed, vHit } from "./hits.js";
import { admit } from "./secret.js";

const limiter = new RateLimiter(components.rateLimiter, {});

export const hit = mutation({
  args: hitArgs,
  returns: vHit,
  handler: (ctx, { secret, key, rate, capacity, shards }) => {
    admit(secret);
    const rows = shards === "auto" ? {} : { shards };
    const config = { kind: "token bucket" as const, rate, period: SECOND, capacity, ...rows };
    return timed(async () => {
      const { ok, retryAfter } = await limiter.limit(ctx, "proof", { key, config });
      // Its waits have fractions; a caller can only wait for whole milliseconds.
      return { ok, retryAt: retryAfter === undefined ? undefined : Math.ceil(Date.now() + retryAfter) };
    });
  },
});
