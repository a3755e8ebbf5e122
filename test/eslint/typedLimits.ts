/** Limits with typed answers, for the tests of the rule. */
import { defineRateLimits } from "../../src/index.js";

export const { rateLimit } = defineRateLimits(
  {
    loud: { kind: "token bucket", rate: 1, period: 1000 },
    quiet: { kind: "token bucket", rate: 1, period: 1000, throws: false },
  },
  { throws: true },
);
