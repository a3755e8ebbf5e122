// convex/convex.config.ts
import agent from "@convex-dev/agent/convex.config.js";
import resend from "@convex-dev/resend/convex.config.js";
import shardedCounter from "@convex-dev/sharded-counter/convex.config.js";
import workflow from "@convex-dev/workflow/convex.config.js";
import workpool from "@convex-dev/workpool/convex.config.js";
import { defineApp } from "convex/server";
import rateLimits from "convex-rate-limits/convex.config";

const app = defineApp();
app.use(agent);
app.use(resend);
app.use(shardedCounter);
app.use(workflow);
app.use(workpool);
app.use(rateLimits);

export default app;
