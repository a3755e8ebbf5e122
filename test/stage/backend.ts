/** The example's backend on convex-test, on a clock that only the test moves, and three of its users. */
import { convexTest } from "convex-test";
import { register } from "convex-rate-limits/test";
import schema from "../../stage/convex/schema.js";
import type { Backend } from "../../stage/demo/backend.js";
import { signUp } from "../../stage/demo/people.js";
import { START, useClock as useClockAt } from "../support/clock.js";

export { runJobs, START } from "../support/clock.js";

const modules = import.meta.glob(["../../stage/convex/**/*.{ts,js}", "!**/*.d.ts", "!**/convex.config.ts"]);

/** At a whole second, because the geocoder's windows start on whole seconds. */
export const useClock = () => {
  useClockAt(START);
};

export function openBackend(): Backend {
  const backend = convexTest({ schema, modules });
  register(backend);
  return backend;
}

export async function openTown() {
  const t = openBackend();
  return { t, ada: await signUp(t, "Ada"), bob: await signUp(t, "Bob"), cem: await signUp(t, "Cem") };
}

/** The functions that an app's crons run, with their schedules. */
export function scheduleOf(crons: object): [name: string, type: string][] {
  // The CLI calls `export`; the types do not show it.
  const exported = (crons as { export: () => string }).export();
  const jobs = JSON.parse(exported) as Record<string, { name: string; schedule: { type: string } }>;
  return Object.values(jobs).map(({ name, schedule }) => [name, schedule.type]);
}

/** Sends requests until one is denied. Returns how many were served, and the denial. */
export async function servedUntilDenied(send: () => Promise<Response>) {
  for (let served = 0; ; served++) {
    const response = await send();
    if (response.status !== 200) return { served, denied: response };
  }
}
