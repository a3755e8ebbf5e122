import { defineSchema } from "convex/server";
import { rateLimitQueueTables } from "../src/storage/queueSchema.js";
import { rateLimitTables } from "../src/storage/schema.js";

/** Written and read by this component's functions only, through src/storage/ and src/queue/. */
export default defineSchema({ ...rateLimitTables, ...rateLimitQueueTables });
