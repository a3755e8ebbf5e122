/** One call on a limit in the component. */
import { defineRateLimits, SECOND } from "convex-rate-limits/component";
import { components } from "../_generated/api.js";
import { timedCall } from "./hits.js";

const { rateLimit, checkRateLimit } = defineRateLimits(
  { proof: { kind: "token bucket", rate: 1, period: SECOND, keyed: true } },
  { component: components.rateLimits },
);

export const hit = timedCall(rateLimit);

export const look = timedCall(checkRateLimit);
