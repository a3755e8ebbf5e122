/** A backend whose jobs record when they start, on a clock that only the test moves. */
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

/** Records its start. */
export const run = makeFunctionReference<"mutation", JobArgs, null>("jobs:run");
/** Records its start, and fails. */
export const fail = makeFunctionReference<"action", JobArgs, null>("jobs:fail");

/** Within a describe: a fresh backend for each test, whose jobs record their starts. */
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
    runUntil: (time: number) => runUntil(backend(), time),
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

/** Moves the clock to a time and runs the jobs that are due then. No job may be due earlier. */
async function runAt(t: Backend, time: number): Promise<void> {
  vi.advanceTimersByTime(Math.max(0, time - Date.now()));
  await t.finishInProgressScheduledFunctions();
}

/** Moves the clock to a time, and runs each job that is due before it at its own time. */
async function runUntil(t: Backend, until: number): Promise<void> {
  const due = (await pendingJobs(t)).map(({ scheduledTime }) => scheduledTime).filter((time) => time <= until);
  for (const time of due.sort((a, b) => a - b)) await runAt(t, time);
  await runAt(t, until);
}

/** Runs the jobs that are scheduled now, each at its time. */
async function runAll(t: Backend): Promise<void> {
  const times = (await pendingJobs(t)).map(({ scheduledTime }) => scheduledTime);
  await runUntil(t, Math.max(Date.now(), ...times));
}

async function pendingJobs(t: Backend) {
  const jobs = await t.query(async (ctx) => await ctx.db.system.query("_scheduled_functions").collect());
  return jobs.filter(({ state }) => state.kind === "pending");
}

/** Deletes an ended job, as Convex does some days later. */
async function forget(t: Backend, id: GenericId<"_scheduled_functions">): Promise<void> {
  await t.run(async (ctx) => {
    await (ctx.db as unknown as { delete: (id: string) => Promise<void> }).delete(id);
  });
}
