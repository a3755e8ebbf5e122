/** The admin functions of the limits in rateLimits.ts. They have their own module, so that other functions do not load them. */
import { rateLimitAdmin } from "convex-rate-limits/admin";
import { limits } from "./rateLimits.js";

export const { listRateLimits, sweepRateLimits, overrideRateLimit, clearRateLimitOverride } = rateLimitAdmin(limits);
