import { defineSchema } from "convex/server";
import { rateLimitTables } from "../src/tables.js";

/** Written and read by public.ts only, through src/store.ts. */
export default defineSchema(rateLimitTables);
