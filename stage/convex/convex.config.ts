import rateLimiter from "@convex-dev/rate-limiter/convex.config.js";
import rateLimits from "convex-rate-limits/convex.config.js";
import { defineApp } from "convex/server";

const app = defineApp();
app.use(rateLimits);
// Only prove/ uses the official component: it measures both on one deployment.
app.use(rateLimiter);

export default app;
