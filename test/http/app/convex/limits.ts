// convex/limits.ts
import { defineRateLimits, HOUR, MINUTE } from "convex-rate-limits/component";
import { address } from "convex-rate-limits/http";
import { components } from "./_generated/api";

export const limits = defineRateLimits(
  {
    api: { kind: "token bucket", rate: 60, period: MINUTE, capacity: 3, overrides: true },
    llmTokens: { kind: "token bucket", rate: 100_000, period: HOUR, capacity: 10_000 },
  },
  { component: components.rateLimits },
);

export const caller = address({ trustedProxies: 1 });
