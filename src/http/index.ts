/** convex-rate-limits/http: limits that HTTP clients can see and obey. */
export { tooManyRequests } from "./answers.js";
export type { BreakerOptions } from "./breaker.js";
export { type Consume, inComponent, type LimitRequest, vLimitRequest } from "./consume.js";
export { type CostBounds, fixed, fromHeader, fromQuery, type HttpCost } from "./costs.js";
export type { HttpCtx } from "./ctx.js";
export { digestOf } from "./digest.js";
export type { RateLimitFormat } from "./formats.js";
export { rateLimitHeaders, type RateLimitHeadersOptions } from "./headers.js";
export { deny, denyWith, everyone, firstOf, type KeyChoice, type KeyEnd, sharedBucket } from "./keyChoice.js";
export {
  byAddress,
  byApiKey,
  byBearer,
  byHeader,
  byIdentity,
  byValue,
  type KeySource,
  type SecretOptions,
} from "./keys.js";
export { limitHttp, type LimitHttpOptions } from "./limitHttp.js";
export type { HttpLimit } from "./plan.js";
export type { LimitedBy, QuotaUnit } from "./quota.js";
