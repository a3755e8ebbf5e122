/** A backend whose jobs record when they start, on a clock that only the test moves. */
import { internalActionGeneric, internalMutationGeneric, makeFunctionReference } from "convex/server";
import { type ObjectType, v } from "convex/values";
import { beforeEach } from "vitest";
import { runJobs } from "./clock.js";
import { useBackend } from "./limits.js";
import type { MutationCtx, PlaceName } from "./places.js";

const jobArgs = { label: v.string(), tokens: v.number() };
type JobArgs = ObjectType<typeof jobArgs>;

/** Records its start. */
export const run = makeFunctionReference<"mutation", JobArgs, null>("jobs:run");
/** Records its start, and fails. */
export const fail = makeFunctionReference<"action", JobArgs, null>("jobs:fail");

/** Within a describe: a fresh backend for each test, whose jobs record their starts. */
export function useJobs(
  place: PlaceName,
  whileRunning: (ctx: MutationCtx) => Promise<unknown> = () => Promise.resolve(),
) {
  const starts: (JobArgs & { at: number })[] = [];
  const note = (args: JobArgs) => starts.push({ ...args, at: Date.now() });
  const jobs = {
    run: internalMutationGeneric({
      args: jobArgs,
      handler: async (ctx: MutationCtx, args) => {
        note(args);
        await whileRunning(ctx);
      },
    }),
    fail: internalActionGeneric({
      args: jobArgs,
      handler: (_ctx, args) => {
        note(args);
        return Promise.reject(new Error("The provider is down."));
      },
    }),
  };
  const backend = useBackend(place, { "./jobs.ts": () => Promise.resolve(jobs) });
  beforeEach(() => {
    starts.length = 0;
  });
  return { ...backend, starts, runAll: () => runJobs(backend.backend()) };
}
