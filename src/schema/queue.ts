/** convex-rate-limits/queue/schema: the tables of queues, and validators of what apps store or return. */
import { queuedJobValidator, queuePositionValidator } from "../wire/queue.js";

export { rateLimitQueueTables } from "../storage/queueTables.js";

/** The validator of a `RateLimitQueuedJob`, to store one in a document. */
export const vRateLimitQueuedJob = /* @__PURE__ */ queuedJobValidator();
/** The validator of a `RateLimitQueuePosition`: what `getQueued` returns. */
export const vRateLimitQueuePosition = /* @__PURE__ */ queuePositionValidator();
