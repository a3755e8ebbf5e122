/** convex-rate-limits/http: limits that HTTP clients can see and obey. */
export { callerAddress } from "./address.js";
export { tooManyRequests } from "./answers.js";
export { type HttpMutation, httpMutation } from "./ask.js";
export { type LimitedBy, rateLimitHeaders } from "./headers.js";
export { address, apiKey, bearer, custom, httpKey, identity } from "./keys.js";
export { limitHttp } from "./limitHttp.js";
export type { Caller, HttpDenial, HttpLimit, LimitHttpOptions } from "./options.js";
export { fromHeader, fromQuery, type HttpCtx, type KeySource } from "./request.js";
export { retryAfterOf } from "./retryAfter.js";
