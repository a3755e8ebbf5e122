/** Once a day, at a time with few calls, the rows of full buckets are deleted. */
import { cronJobs } from "convex/server";
import { internal } from "./_generated/api";

const crons = cronJobs();

crons.daily("sweep the limits", { hourUTC: 4, minuteUTC: 10 }, internal.admin.sweep, {});

export default crons;
