/** The same limits in both places, and in a second instance of the component. */
import { defineRateLimits, MINUTE } from "convex-rate-limits";
import { RateLimiter } from "convex-rate-limits/compat";
import { defineRateLimits as defineInComponent } from "convex-rate-limits/component";
import { rateLimitLive } from "convex-rate-limits/live";
import { components } from "./_generated/api";

const limits = {
  send: { kind: "token bucket", rate: 2, period: MINUTE, keyed: true },
  signUp: { kind: "fixed window", rate: 1, period: MINUTE },
} as const;

export const inTables = defineRateLimits(limits);
export const inComponent = defineInComponent(limits, { component: components.rateLimits });
export const inOther = defineInComponent(limits, { component: components.others });

export const moved = new RateLimiter(components.rateLimits, {
  note: { kind: "token bucket", rate: 2, period: MINUTE },
});

export const liveInTables = rateLimitLive(inTables);
export const liveInComponent = rateLimitLive(inComponent);
