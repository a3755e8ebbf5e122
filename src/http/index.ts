/** convex-rate-limits/http: limits that HTTP clients can see and obey. */
export { callerAddress, type Ipv6Prefix } from "./address.js";
export { tooManyRequests } from "./answers.js";
export { type Consume, inComponent, inTables, type LimitRequest, vLimitRequest } from "./consume.js";
export { type CostBounds, fixed, fromHeader, fromQuery, type HttpCost } from "./costs.js";
export type { HttpCtx } from "./ctx.js";
export type { DenialAnswer, HttpDenial } from "./denial.js";
export type { RateLimitFormat } from "./formats.js";
export { rateLimitHeaders, type RateLimitHeadersOptions } from "./headers.js";
export type { Caller, HttpLimit } from "./httpLimit.js";
export { deny, denyWith, everyone, firstOf, type KeyChoice, type KeyEnd, sharedBucket } from "./keyChoice.js";
export {
  type AddressOptions,
  byAddress,
  byApiKey,
  byBearer,
  byHeader,
  byIdentity,
  byValue,
  type KeySource,
  type SecretOptions,
} from "./keys.js";
export { limitHttp } from "./limitHttp.js";
export type { LimitHttpOptions } from "./options.js";
export type { HttpStatus, LimitedBy, QuotaUnit } from "./quota.js";
