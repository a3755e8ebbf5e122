import rateLimiter from "@convex-dev/rate-limiter/convex.config.js";
import rateLimits from "convex-rate-limits/convex.config";
import { defineApp } from "convex/server";

const app = defineApp();
app.use(rateLimits);
// For prove/ only, which measures both on one deployment.
app.use(rateLimiter);

export default app;
