// convex/limits.ts
import { DAY, defineRateLimits, HOUR, MINUTE, SECOND } from "convex-rate-limits";

export const limits = defineRateLimits({
  write: { kind: "token bucket", rate: 30, period: MINUTE, capacity: 5, keyed: true },
  newSession: { kind: "token bucket", rate: 10, period: HOUR, keyed: true },
  comment: { kind: "token bucket", rate: 5, period: MINUTE, keyed: true },
  commentsFromAddress: { kind: "token bucket", rate: 20, period: MINUTE, keyed: true },
  anonymousComments: { kind: "token bucket", rate: 100, period: MINUTE, keyed: false },
  image: { kind: "token bucket", rate: 3, period: DAY, keyed: true },
  failedLogin: { kind: "token bucket", rate: 5, period: HOUR, keyed: true },
  // Counts the failures of a day; what locks is an override.
  failedSignIn: { kind: "sliding window", rate: 50, period: DAY, keyed: true, overrides: true },
  // At most 50 calls in any minute, whenever it starts: capacity + rate = 50.
  geocoder: { kind: "token bucket", rate: 40, period: MINUTE, capacity: 10, maxReserved: 400, keyed: false },
  // At most one call a second, perfectly spaced.
  partner: { kind: "token bucket", rate: 1, period: SECOND, capacity: 0, maxReserved: 60, keyed: false },
  // A provider's own limit: 60 calls a minute, two of them at once.
  transcript: { kind: "token bucket", rate: 60, period: MINUTE, capacity: 2, maxReserved: 100, keyed: false },
  assistantTokens: { kind: "token bucket", rate: 50_000, period: DAY, keyed: true },
  mail: { kind: "fixed window", rate: 3, period: DAY, keyed: true },
  report: { kind: "token bucket", period: DAY, keyed: true, plans: { free: { rate: 3 }, pro: { rate: 100 } } },
});
