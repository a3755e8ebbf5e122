// convex/gateway.ts
import { defineRateLimits, MINUTE } from "convex-rate-limits";
import { httpMutation } from "convex-rate-limits/http";

export const limits = defineRateLimits({
  service: { kind: "token bucket", rate: 100_000, period: MINUTE, shards: 10 },
  address: { kind: "token bucket", rate: 120, period: MINUTE },
});

export const askLimits = httpMutation(limits);
