// convex/limits.ts
import { defineRateLimits, MINUTE } from "convex-rate-limits";

export const limits = defineRateLimits({
  sendMessage: { kind: "token bucket", rate: 10, period: MINUTE, capacity: 20, keyed: true },
});
