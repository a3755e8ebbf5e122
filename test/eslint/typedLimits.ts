/** Limits with typed answers, for the tests of the rule. */
import { defineRateLimits } from "../../src/index.js";
import { rateLimitLive } from "../../src/client/live.js";

const limits = defineRateLimits(
  {
    loud: { kind: "token bucket", rate: 1, period: 1000 },
    hot: { kind: "token bucket", rate: 1, period: 1000, shards: "auto" },
    quiet: { kind: "token bucket", rate: 1, period: 1000, throws: false },
  },
  { throws: true },
);

export const { adjustRateLimit, rateLimit, resetRateLimit } = limits;
export const { getRateLimit } = rateLimitLive(limits);
