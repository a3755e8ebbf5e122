/** The functions without definitions: the config comes with the call, and the limits live in the app's own tables. */
import { defineRateLimits } from "./defineRateLimits.js";

export const {
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
} = defineRateLimits({});
