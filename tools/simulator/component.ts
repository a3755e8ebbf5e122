/** The component as it is deployed: its tables and its functions. */
import * as publicFunctions from "../../convex/public.js";
import * as queue from "../../convex/queue.js";
import schema from "../../convex/schema.js";
import * as snapshots from "../../convex/snapshots.js";
import * as sweep from "../../convex/sweep.js";
import * as upkeep from "../../convex/upkeep.js";
import * as worker from "../../convex/worker.js";

export const rateLimits = { schema, modules: { public: publicFunctions, queue, snapshots, sweep, upkeep, worker } };
