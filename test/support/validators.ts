/**
 * Lets the component's functions remember the JSON of their validators. convex-test asks for it at each call, and Convex makes it anew each
 * time, which would take a tenth of the time of all tests. A deployment asks once, when a function is deployed.
 */
import { rateLimits } from "../../tools/simulator/component.js";

for (const registered of Object.values(rateLimits.modules).flatMap((module) => Object.values<object>(module))) {
  const functions = registered as Record<string, () => string>;
  for (const name of ["exportArgs", "exportReturns"]) {
    const json = functions[name]?.();
    if (json !== undefined) functions[name] = () => json;
  }
}
