/** convex-rate-limits: rate limiting for Convex, as a component and as plain tables. */
import { defineRateLimits } from "./client/defineRateLimits.js";

export type {
  AdjustArgs,
  BucketArgs,
  DemandArgs,
  ListArgs,
  RateLimitArgs,
  RateLimitDefinition,
  RateLimitDefinitions,
  ScheduleArgs,
  SweepOptions,
} from "./client/args.js";
export { defineRateLimits, type RateLimitsOptions } from "./client/defineRateLimits.js";
export { DAY, HOUR, MINUTE, SECOND, WEEK } from "./client/durations.js";
export { isRateLimitError, type RateLimitErrorData } from "./client/errors.js";
export type { ExposeArgs, ExposedConfig, ExposedKey, ExposedRateLimit } from "./client/expose.js";
export type { InComponent, InTables } from "./client/places.js";
export type { RateLimits } from "./client/rateLimits.js";
export type { CancelResult, ScheduleResult } from "./client/schedule.js";
export { projectRateLimit } from "./engine/snapshot.js";
export { type RateLimitsDataModel, rateLimitTables } from "./storage/tables.js";
export {
  type ExactRateLimitStatus,
  type FixedWindowConfig,
  type RateLimitAllStatus,
  type RateLimitConfig,
  type RateLimitedJob,
  type RateLimitPage,
  type RateLimitSnapshot,
  type RateLimitStatus,
  type SlidingWindowConfig,
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

/** The functions without definitions: the config comes with the call, and the limits live in the app's own tables. */
export const {
  adjustRateLimit,
  cancelRateLimited,
  checkRateLimit,
  checkRateLimitAll,
  exposeRateLimit,
  getRateLimit,
  rateLimit,
  rateLimitAll,
  resetRateLimit,
  scheduleRateLimited,
} = defineRateLimits({});
