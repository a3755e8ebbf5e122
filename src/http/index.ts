/** convex-rate-limits/http: limits that HTTP clients can see and obey. */
export { callerAddress, type Ipv6Prefix } from "./address.js";
export { type DenialAnswer, type HttpDenial, tooManyRequests } from "./answers.js";
export { type HttpMutation, httpMutation } from "./ask.js";
export { type RateLimitFormat, rateLimitHeaders, type RateLimitHeadersOptions } from "./headers.js";
export { address, type AddressOptions, apiKey, bearer, custom, httpKey, identity, type SecretOptions } from "./keys.js";
export { limitHttp } from "./limitHttp.js";
export type { Caller, HttpLimit, Keyless, LimitHttpOptions } from "./options.js";
export type { HttpStatus, LimitedBy } from "./quota.js";
export { type CostBounds, fromHeader, fromQuery, type HttpCost, type HttpCtx, type KeySource } from "./request.js";
export { retryAfterOf } from "./retryAfter.js";
