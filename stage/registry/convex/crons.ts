// convex/crons.ts
import { cronJobs } from "convex/server";
import { internal } from "./_generated/api";

const crons = cronJobs();
crons.daily("sweep rate limits", { hourUTC: 4, minuteUTC: 10 }, internal.limits.sweep, {});

export default crons;
