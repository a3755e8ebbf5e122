/** The queues of the limits in rateLimits.ts. They have their own module, so that other functions do not load them. */
import { rateLimitQueue } from "convex-rate-limits/component/queue";
import { limits } from "./rateLimits.js";

export const { enqueueRateLimited, cancelQueued, getQueued } = rateLimitQueue(limits);
