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
} from "./client/args.js";
export { defineRateLimits } from "./client/defineRateLimits.js";
export { DAY, HOUR, MINUTE, SECOND, WEEK } from "./client/durations.js";
export { isRateLimitError, type RateLimitErrorData } from "./client/errors.js";
export type { ExposeArgs, ExposedConfig, ExposedKey, ExposedRateLimit } from "./client/expose.js";
export { hashKey } from "./client/hashKey.js";
export type { ComponentHome, TablesHome } from "./client/places.js";
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
} from "./client/inline.js";
export type { RateLimits, SweepOptions } from "./client/rateLimits.js";
export type { CancelResult, ScheduleResult } from "./client/schedule.js";
export { projectRateLimit } from "./engine/snapshot.js";
export { type RateLimitsDataModel, rateLimitTables } from "./storage/tables.js";
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
