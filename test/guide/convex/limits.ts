// convex/limits.ts
import { defineRateLimits, MINUTE } from "convex-rate-limits";

export const { rateLimit, checkRateLimit, exposeRateLimit } = defineRateLimits(
  {
    // 10 messages a minute for each user, and up to 20 at once after a pause.
    sendMessage: { kind: "token bucket", rate: 10, period: MINUTE, capacity: 20, keyed: true },
    // 100 sign-ups for each day in Berlin, of all people together.
    signUp: { kind: "fixed window", rate: 100, period: "day", timeZone: "Europe/Berlin", keyed: false },
    // A partner's rule: at most 5 calls in any minute.
    partnerApi: { kind: "sliding window", rate: 5, period: MINUTE, keyed: false },
  },
  // Nobody can forget to look at an answer: a denial is an error.
  { throws: true },
);
