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
  SweepOptions,
} from "./client/args.js";
export type { OverridableIn, OverriddenArgs, OverrideArgs } from "./client/overrideArgs.js";
export type { RateLimitDecision } from "./client/decision.js";
export { defineRateLimits } from "./client/defineRateLimits.js";
export { DAY, HOUR, MINUTE, SECOND, WEEK } from "./client/durations.js";
export { isRateLimitError, type RateLimitErrorData } from "./client/errors.js";
export { hashKey } from "./client/hashKey.js";
export type { ExposeArgs, ExposedConfig, ExposedKey, ExposedRateLimit } from "./client/expose.js";
export {
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
} from "./client/freeFunctions.js";
export type {
  InComponent,
  InTables,
  MutationCtxWithRateLimitQueue,
  MutationCtxWithRateLimitTables,
  QueryCtxWithRateLimitQueue,
  QueryCtxWithRateLimitTables,
} from "./client/places.js";
export type { RateLimits, RateLimitsOptions } from "./client/rateLimits.js";
export type { CancelResult, ScheduleResult } from "./client/schedule.js";
export type { EnqueueArgs } from "./client/queueArgs.js";
export type { ExposedJob, ExposedQueue } from "./client/exposeQueue.js";
export type { RateLimitQueues } from "./client/queues.js";
export type { RegisteredQueue } from "./queue/registered.js";
export {
  type CancelQueuedResult,
  type EnqueueResult,
  type RateLimitQueuedJob,
  type RateLimitQueuePosition,
  vRateLimitQueuedJob,
  vRateLimitQueuePosition,
} from "./queue/wire.js";
export { projectRateLimit } from "./browser/project.js";
export { type RateLimitsDataModel, rateLimitTables } from "./storage/tables.js";
export {
  type FixedWindowConfig,
  type QueueConfig,
  type RateLimitConfig,
  type RateLimitOverride,
  type SlidingWindowConfig,
  type TokenBucketConfig,
  vRateLimitConfig,
  vRateLimitOverride,
} from "./configs.js";
export { type RateLimitSnapshot, vRateLimitSnapshot } from "./snapshots.js";
export {
  type ExactRateLimitStatus,
  type RateLimitAllStatus,
  type RateLimitedJob,
  type RateLimitPage,
  type RateLimitStatus,
  type SweepResult,
  vRateLimitAllStatus,
  vRateLimitedJob,
  vRateLimitPage,
  vRateLimitStatus,
  vSweepResult,
} from "./validators.js";
