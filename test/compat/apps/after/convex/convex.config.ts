import rateLimiter from "convex-rate-limits/convex.config.js";
import { defineApp } from "convex/server";

const app = defineApp();
app.use(rateLimiter);

export default app;
