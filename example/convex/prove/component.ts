/** One call on a limit in the component. */
import { defineRateLimits, SECOND } from "convex-rate-limits/component";
import { components } from "../_generated/api.js";
import { mutation } from "../_generated/server.js";
import { configOf, hitArgs, timed, vHit } from "./hits.js";
import { admit } from "./secret.js";

const { rateLimit, checkRateLimit } = defineRateLimits(
  { proof: { kind: "token bucket", rate: 1, period: SECOND, keyed: true } },
  { component: components.rateLimits },
);

export const hit = mutation({
  args: hitArgs,
  returns: vHit,
  handler: (ctx, { secret, key, ...asked }) => {
    admit(secret);
    return timed(() => rateLimit(ctx, { name: "proof", key, config: configOf(asked) }));
  },
});

export const look = mutation({
  args: hitArgs,
  returns: vHit,
  handler: (ctx, { secret, key, ...asked }) => {
    admit(secret);
    return timed(() => checkRateLimit(ctx, { name: "proof", key, config: configOf(asked) }));
  },
});
