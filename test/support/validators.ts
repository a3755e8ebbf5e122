/**
 * convex-test asks a function for its validators at each call, and Convex makes their JSON anew each time: a tenth of the time of all
 * tests. The component's functions remember it here. Convex itself asks once, when a function is deployed.
 */
import * as calls from "../../convex/public.js";
import * as queue from "../../convex/queue.js";
import * as sweep from "../../convex/sweep.js";

for (const registered of Object.values<object>({ ...calls, ...queue, ...sweep })) {
  const functions = registered as Record<string, () => string>;
  for (const name of ["exportArgs", "exportReturns"]) {
    const json = functions[name]?.();
    if (json !== undefined) functions[name] = () => json;
  }
}
