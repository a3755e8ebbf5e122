/**
 * Lets the component's functions remember the JSON of their validators. convex-test asks for it at each call, and Convex makes it anew each
 * time, which would take a tenth of the time of all tests. A deployment asks once, when a function is deployed.
 */
import * as calls from "../../convex/public.js";
import * as queue from "../../convex/queue.js";
import * as snapshots from "../../convex/snapshots.js";
import * as sweep from "../../convex/sweep.js";
import * as upkeep from "../../convex/upkeep.js";
import * as worker from "../../convex/worker.js";

for (const registered of Object.values<object>({ ...calls, ...queue, ...snapshots, ...sweep, ...upkeep, ...worker })) {
  const functions = registered as Record<string, () => string>;
  for (const name of ["exportArgs", "exportReturns"]) {
    const json = functions[name]?.();
    if (json !== undefined) functions[name] = () => json;
  }
}
