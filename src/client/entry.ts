/** What the entries of both places export. */
export type { RateLimitAllStatus, RateLimitStatus } from "../wire/answers.js";
export type { RateLimitConfig } from "../wire/configs.js";
export type { RateLimitDefinition, RateLimitDefinitions, RateLimitsOptions } from "./definitionTypes.js";
export { isRateLimitError, type RateLimitErrorData } from "./decision.js";
export { hashKey } from "./hashKey.js";
export type { RateLimits } from "./rateLimits.js";

/** Durations in milliseconds, for `period`. */
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const WEEK = 7 * DAY;
