import { defineApp } from "convex/server";
import rateLimits from "convex-rate-limits/convex.config.js";

const app = defineApp();
app.use(rateLimits);

export default app;
