/** A backend whose jobs note when they start, on a clock that only the test moves. */
import { internalActionGeneric, internalMutationGeneric, makeFunctionReference } from "convex/server";
import { type GenericId, type ObjectType, v } from "convex/values";
import { beforeEach, vi } from "vitest";
import { useBackend } from "./limits.js";
import { type Backend, type MutationCtx, type PlaceName } from "./places.js";

interface Start {
  label: string;
  tokens: number;
  at: number;
}

const jobArgs = { label: v.string(), tokens: v.number() };
type JobArgs = ObjectType<typeof jobArgs>;

/** Notes its start. */
export const run = makeFunctionReference<"mutation", JobArgs, null>("jobs:run");
/** Notes its start, and fails. */
export const fail = makeFunctionReference<"action", JobArgs, null>("jobs:fail");

/** Within a describe: a fresh backend for each test, whose jobs note their starts. */
export function useJobs(place: PlaceName, whileRunning?: (ctx: MutationCtx) => Promise<unknown>) {
  const { starts, modules } = jobsModule(whileRunning);
  const { backend, ...rest } = useBackend(place, modules);
  beforeEach(() => {
    starts.length = 0;
  });
  return {
    ...rest,
    backend,
    starts,
    pending: () => pendingJobs(backend()),
    runAll: () => runAll(backend()),
    runUntil: (moment: number) => runUntil(backend(), moment),
    forget: (id: GenericId<"_scheduled_functions">) => forget(backend(), id),
  };
}

function jobsModule(whileRunning: (ctx: MutationCtx) => Promise<unknown> = () => Promise.resolve()) {
  const starts: Start[] = [];
  const note = (args: JobArgs) => starts.push({ ...args, at: Date.now() });
  const module = {
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
  return { starts, modules: { "./jobs.ts": () => Promise.resolve(module) } };
}

/** Moves the clock to a moment and runs the jobs that are due then; none may be due before. */
async function runAt(t: Backend, moment: number): Promise<void> {
  vi.advanceTimersByTime(Math.max(0, moment - Date.now()));
  await t.finishInProgressScheduledFunctions();
}

/** Moves the clock to a moment, and runs each job on the way at its time. */
async function runUntil(t: Backend, moment: number): Promise<void> {
  const due = (await pendingJobs(t)).map(({ scheduledTime }) => scheduledTime).filter((time) => time <= moment);
  for (const time of due.sort((a, b) => a - b)) await runAt(t, time);
  await runAt(t, moment);
}

/** Runs all that is scheduled, each job at its time. */
async function runAll(t: Backend): Promise<void> {
  const times = (await pendingJobs(t)).map(({ scheduledTime }) => scheduledTime);
  await runUntil(t, Math.max(Date.now(), ...times));
}

async function pendingJobs(t: Backend) {
  const jobs = await t.query(async (ctx) => await ctx.db.system.query("_scheduled_functions").collect());
  return jobs.filter(({ state }) => state.kind === "pending");
}

/** What Convex does some days after a job has ended. */
async function forget(t: Backend, id: GenericId<"_scheduled_functions">): Promise<void> {
  await t.run(async (ctx) => {
    await (ctx.db as unknown as { delete: (id: string) => Promise<void> }).delete(id);
  });
}
