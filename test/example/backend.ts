/** The example's backend on convex-test, on a clock that only the test moves. */
import { convexTest } from "convex-test";
import { register } from "convex-rate-limits/test";
import { afterEach, beforeEach, vi } from "vitest";
import schema from "../../example/convex/schema.js";
import type { Backend } from "../../example/demo/backend.js";

const modules = import.meta.glob(["../../example/convex/**/*.{ts,js}", "!**/*.d.ts", "!**/convex.config.ts"]);

/** Any whole second will do: the geocoder's windows start on those. */
export const START = Date.UTC(2026, 0, 1);

export function useClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({ now: START });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
}

export function openBackend(): Backend {
  const backend = convexTest({ schema, modules });
  register(backend);
  return backend;
}

/** Moves the clock to the next scheduled job, and runs it to its end. */
export async function runNextJob(backend: Backend): Promise<void> {
  vi.advanceTimersToNextTimer();
  await backend.finishInProgressScheduledFunctions();
}

/** Runs what is scheduled, each job at its moment, until nothing is left. */
export async function runJobs(backend: Backend): Promise<void> {
  while (vi.getTimerCount() > 0) await runNextJob(backend);
}

/** What a promise was rejected with. */
export async function thrownBy(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => {
      throw new Error("Nothing was thrown.");
    },
    (error: unknown) => error,
  );
}
