import rateLimits from "convex-rate-limits/convex.config.js";
import { defineApp } from "convex/server";
import { v } from "convex/values";

const app = defineApp({
  env: {
    /** For a first look, before the app has a sign-in: everybody is this user (callers.ts). */
    DEMO_USER: v.optional(v.string()),
    /** Where the language model answers (model.ts). */
    MODEL_URL: v.optional(v.string()),
  },
});
app.use(rateLimits);

export default app;
