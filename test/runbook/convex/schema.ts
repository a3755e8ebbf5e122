// convex/schema.ts
import { defineSchema } from "convex/server";
import { rateLimitTables } from "convex-rate-limits/schema";

export default defineSchema({ ...rateLimitTables });
