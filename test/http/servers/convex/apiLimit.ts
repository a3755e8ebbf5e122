// convex/apiLimit.ts
import { MINUTE, type RateLimitConfig } from "convex-rate-limits";

/** The server in front also needs it: it says what the header fields say. */
export const apiLimit: RateLimitConfig = { kind: "token bucket", rate: 60, period: MINUTE, capacity: 10 };
