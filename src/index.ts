/** convex-rate-limits: rate limiting for Convex, with limits in the app's own tables. */
export type {
  RateLimitDecision,
  RateLimitDefinition,
  RateLimitDefinitions,
  RateLimitsOptions,
} from "./client/definitionTypes.js";
export { DAY, HOUR, MINUTE, SECOND, WEEK } from "./client/durations.js";
export { isRateLimitError, type RateLimitErrorData } from "./client/errors.js";
export type { ExposedRateLimit } from "./client/expose.js";
export { hashKey } from "./client/hashKey.js";
export type { InTables, MutationCtxWithRateLimitTables, QueryCtxWithRateLimitTables } from "./client/place.js";
export type { RateLimits } from "./client/rateLimits.js";
export type { CancelResult, ScheduleResult } from "./client/schedule.js";
export { defineRateLimits } from "./client/tables.js";
export { projectRateLimit } from "./browser/project.js";
export type { RateLimitAllStatus, RateLimitedJob, RateLimitStatus } from "./wire/answers.js";
export type { RateLimitConfig } from "./wire/configs.js";
export type { RateLimitSnapshot } from "./wire/snapshots.js";
