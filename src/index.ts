/** convex-rate-limits: rate limiting for Convex, as a component and as plain tables. */
export type {
  AdjustArgs,
  BucketArgs,
  DemandArgs,
  ListArgs,
  RateLimitArgs,
  RateLimitDefinition,
  RateLimitDefinitions,
  ScheduleArgs,
} from "./args.js";
export { defineRateLimits } from "./client.js";
export { DAY, HOUR, MINUTE, SECOND, WEEK } from "./durations.js";
export { isRateLimitError, type RateLimitErrorData } from "./errors.js";
export type { ExposeArgs, ExposedConfig, ExposedKey, ExposedRateLimit } from "./expose.js";
export type { ComponentHome, TablesHome } from "./home.js";
export {
  adjustRateLimit,
  cancelRateLimited,
  checkRateLimit,
  checkRateLimitAll,
  exposeRateLimit,
  getRateLimit,
  listRateLimits,
  rateLimit,
  rateLimitAll,
  resetRateLimit,
  scheduleRateLimited,
} from "./inline.js";
export type { RateLimits, SweepOptions } from "./rateLimits.js";
export type { CancelResult, ScheduleResult } from "./schedule.js";
export { projectRateLimit } from "./snapshot.js";
export { type RateLimitsDataModel, rateLimitTables } from "./tables.js";
export {
  type FixedWindowConfig,
  type RateLimitAllStatus,
  type RateLimitConfig,
  type RateLimitedJob,
  type RateLimitPage,
  type RateLimitSnapshot,
  type RateLimitStatus,
  type SweepResult,
  type TokenBucketConfig,
  vRateLimitAllStatus,
  vRateLimitConfig,
  vRateLimitedJob,
  vRateLimitPage,
  vRateLimitSnapshot,
  vRateLimitStatus,
  vSweepResult,
} from "./validators.js";
