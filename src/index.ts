/** convex-rate-limits: rate limiting for Convex, as a component and as plain tables. */
export {
  type BucketArgs,
  defineRateLimits,
  type RateLimitArgs,
  type RateLimitDefinition,
  type RateLimitDefinitions,
  type RateLimits,
} from "./client.js";
export { DAY, HOUR, MINUTE, SECOND, WEEK } from "./durations.js";
export { isRateLimitError, type RateLimitErrorData } from "./errors.js";
export type { ExposeArgs, ExposedConfig, ExposedKey, ExposedRateLimit } from "./expose.js";
export type { ComponentHome, TablesHome } from "./home.js";
export { checkRateLimit, exposeRateLimit, getRateLimit, rateLimit, resetRateLimit } from "./inline.js";
export { projectRateLimit } from "./snapshot.js";
export { type RateLimitsDataModel, rateLimitTables } from "./tables.js";
export {
  type FixedWindowConfig,
  type RateLimitConfig,
  type RateLimitSnapshot,
  type RateLimitStatus,
  type TokenBucketConfig,
  vRateLimitConfig,
  vRateLimitSnapshot,
  vRateLimitStatus,
} from "./validators.js";
