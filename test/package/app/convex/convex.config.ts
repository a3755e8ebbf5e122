/** The component twice, inside another component, and next to the official one. */
import officialRateLimiter from "@convex-dev/rate-limiter/convex.config.js";
import { defineApp } from "convex/server";
import rateLimits from "convex-rate-limits/convex.config.js";
import inner from "./inner/convex.config";

const app = defineApp();
app.use(rateLimits);
app.use(rateLimits, { name: "others" });
app.use(officialRateLimiter);
app.use(inner);

export default app;
