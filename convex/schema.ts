import { defineSchema } from "convex/server";
import { rateLimitTables } from "../src/storage/tables.js";

/** Written and read by public.ts only, through src/storage/rows.ts. */
export default defineSchema(rateLimitTables);
