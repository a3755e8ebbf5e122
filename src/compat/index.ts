/** convex-rate-limits/compat: the calls and answers of `@convex-dev/rate-limiter`, on this package's component. */
export { DAY, HOUR, MINUTE, SECOND, WEEK } from "../client/entry.js";
export type { HookApi, HookArgs, HookOptions, HookValue } from "./hookApi.js";
export { RateLimiter, RateLimiter as default } from "./rateLimiter.js";
export type { ActionCtx, MutationCtx, QueryCtx, RateLimitArgs, RateLimitReturns } from "./rateLimiter.js";
export { calculateRateLimit, isRateLimitError } from "./official.js";
export type { CalculatedRateLimit, GetValueReturns, RateLimitConfig, RateLimitError } from "./official.js";
