/** Once a day, at a time with few calls, two sweeps delete the rows that are full again: one in the component, one in the app's tables. */
import { cronJobs } from "convex/server";
import { internal } from "./_generated/api.js";

const crons = cronJobs();

crons.daily("sweep the component's limits", { hourUTC: 4, minuteUTC: 10 }, internal.upkeep.sweep, {});
crons.daily("sweep the app's own limits", { hourUTC: 4, minuteUTC: 40 }, internal.feedback.sweep, {});

export default crons;
