/** What the entries of both places export. */
export type { RateLimitAllStatus, RateLimitStatus } from "../wire/answers.js";
export type { RateLimitConfig } from "../wire/configs.js";
export type { RateLimitDefinition, RateLimitDefinitions, RateLimitsOptions } from "./definitionTypes.js";
export { DAY, HOUR, MINUTE, SECOND, WEEK } from "./durations.js";
export { isRateLimitError, type RateLimitErrorData } from "./errors.js";
export { hashKey } from "./hashKey.js";
export type { RateLimits } from "./rateLimits.js";
