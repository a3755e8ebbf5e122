import rateLimits from "convex-rate-limits/convex.config.js";
import { defineApp } from "convex/server";

const app = defineApp();
app.use(rateLimits);

export default app;
