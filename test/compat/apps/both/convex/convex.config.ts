// convex/convex.config.ts
import rateLimiter from "@convex-dev/rate-limiter/convex.config.js";
import rateLimits from "convex-rate-limits/convex.config.js";
import { defineApp } from "convex/server";

const app = defineApp();
app.use(rateLimiter);
app.use(rateLimits);

export default app;
