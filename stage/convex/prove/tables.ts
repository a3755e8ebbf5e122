/** One call on a limit in the app's tables. */
import { defineRateLimits, SECOND } from "convex-rate-limits";
import { timedCall } from "./hits.js";

const { rateLimit, checkRateLimit } = defineRateLimits({
  proof: { kind: "token bucket", rate: 1, period: SECOND, keyed: true },
});

export const hit = timedCall(rateLimit);

/** The same without taking a token. It is a mutation, because a query may be answered from a cache. */
export const look = timedCall(checkRateLimit);
