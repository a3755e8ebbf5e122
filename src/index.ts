/** convex-rate-limits: rate limiting for Convex, with limits in the app's own tables. */
export * from "./client/entry.js";
export type { InTables, MutationCtxWithRateLimitTables, QueryCtxWithRateLimitTables } from "./client/place.js";
export { defineRateLimits } from "./client/tables.js";
