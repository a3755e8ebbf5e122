/** Once a day, when few people are about, the rows that are full again go: one sweep of your tables, one of the component. */
import { cronJobs } from "convex/server";
import { internal } from "./_generated/api.js";

const crons = cronJobs();

crons.daily("sweep the component's limits", { hourUTC: 4, minuteUTC: 10 }, internal.upkeep.sweep, {});
crons.daily("sweep the app's own limits", { hourUTC: 4, minuteUTC: 40 }, internal.feedback.sweep, {});

export default crons;
