/** One call on a limit in the app's tables. */
import { defineRateLimits, SECOND } from "convex-rate-limits";
import { mutation } from "../_generated/server.js";
import { configOf, hitArgs, timed, vHit } from "./hits.js";
import { admit } from "./secret.js";

const { rateLimit, checkRateLimit } = defineRateLimits({
  proof: { kind: "token bucket", rate: 1, period: SECOND, keyed: true },
});

export const hit = mutation({
  args: hitArgs,
  returns: vHit,
  handler: (ctx, { secret, key, ...asked }) => {
    admit(secret);
    return timed(() => rateLimit(ctx, { name: "proof", key, config: configOf(asked) }));
  },
});

/** The same without taking a token. A mutation, since a query may be answered from a cache. */
export const look = mutation({
  args: hitArgs,
  returns: vHit,
  handler: (ctx, { secret, key, ...asked }) => {
    admit(secret);
    return timed(() => checkRateLimit(ctx, { name: "proof", key, config: configOf(asked) }));
  },
});
