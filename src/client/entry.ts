/** What the entries of both places export. */
export { projectRateLimit } from "../browser/project.js";
export type { RateLimitAllStatus, RateLimitedJob, RateLimitStatus } from "../wire/answers.js";
export type { RateLimitConfig } from "../wire/configs.js";
export type { RateLimitSnapshot } from "../wire/snapshots.js";
export type { RateLimitDefinition, RateLimitDefinitions, RateLimitsOptions } from "./definitionTypes.js";
export { DAY, HOUR, MINUTE, SECOND, WEEK } from "./durations.js";
export { isRateLimitError, type RateLimitErrorData } from "./errors.js";
export type { ExposedRateLimit } from "./expose.js";
export { hashKey } from "./hashKey.js";
export type { RateLimits } from "./rateLimits.js";
export type { CancelResult, ScheduleResult } from "./schedule.js";
