/** A backend with a queue in either place, whose jobs record when they start, on a clock that only the test moves. */
import { internalActionGeneric, internalMutationGeneric, makeFunctionReference } from "convex/server";
import { type ObjectType, v } from "convex/values";
import { defineRateLimits, type RateLimitDefinitions } from "convex-rate-limits";
import { defineRateLimits as defineInComponent } from "convex-rate-limits/component";
import { httpMutation } from "convex-rate-limits/http";
import type { RateLimitQueuedJob, RegisteredQueue } from "convex-rate-limits/queue";
import { vi } from "vitest";
import { NOW } from "./clock.js";
import type { AnyRateLimits, Backend, MutationCtx, PlaceName, QueryCtx } from "./places.js";
import { component, openBackend, withAll } from "./places.js";

const jobArgs = {
  label: v.string(),
  used: v.optional(v.number()),
  returns: v.optional(v.array(v.any())),
  attempt: v.optional(v.number()),
};
type JobArgs = ObjectType<typeof jobArgs>;

/** Jobs that record their starts. They return `{ used }` if they get `used`, or in each run the next of `returns`. */
export const run = makeFunctionReference<"mutation", JobArgs>("jobs:run");
export const act = makeFunctionReference<"action", JobArgs>("jobs:act");
export const fail = makeFunctionReference<"mutation", JobArgs>("jobs:fail");
type Job = typeof run | typeof act;

/**
 * @param exported - the part of its worker that the app exports, in your tables.
 * @param exposed - finds the job that a client may see, for the app's public query.
 */
export function openQueues(
  place: PlaceName,
  limits: RateLimitDefinitions,
  exported: (worker: RegisteredQueue) => object = (worker) => worker,
  exposed: (ctx: QueryCtx, requested: string) => unknown = () => null,
  more: Parameters<typeof openBackend>[0] = {},
) {
  const define = (defined: RateLimitDefinitions): AnyRateLimits =>
    place === "tables"
      ? withAll(defineRateLimits(defined, { queueModule: "limits" }))
      : withAll(defineInComponent(defined, { component }));
  let functions = define(limits);
  /** Deploys the app with other limits. */
  const deploy = (defined: RateLimitDefinitions): AnyRateLimits => (functions = define(defined));
  const starts: { label: string; at: number; attempt?: number }[] = [];
  const note = ({ label, used, returns, attempt }: JobArgs): unknown => {
    const before = starts.filter((start) => start.label === label);
    starts.push({ label, at: Date.now(), ...(attempt !== undefined && { attempt }) });
    if (returns) return returns[before.length] ?? null;
    return used === undefined ? null : { used };
  };
  const jobs = {
    run: internalMutationGeneric({ args: jobArgs, handler: async (_ctx, args) => await Promise.resolve(note(args)) }),
    act: internalActionGeneric({ args: jobArgs, handler: async (_ctx, args) => await Promise.resolve(note(args)) }),
    fail: internalMutationGeneric({
      args: jobArgs,
      handler: (_ctx, args) => {
        note(args);
        return Promise.reject(new Error("The job has failed."));
      },
    }),
  };
  const t = openBackend({
    "./jobs.ts": () => Promise.resolve(jobs),
    ...(place === "tables" && {
      "./limits.ts": () =>
        Promise.resolve({ ...exported(functions.exposeQueueWorker()), askLimits: httpMutation(functions as never) }),
    }),
    "./exposed.ts": () => Promise.resolve(functions.exposeQueue({ job: exposed as never })),
    ...more,
    "./sweeps.ts": () => Promise.resolve({ sweep: sweepIn(() => functions) }),
  });
  return { t, starts, deploy, ...functions };
}

/**
 * The same backend with the calls that tests make, each in a mutation or query of its own, under the limits deployed last. Calls are for
 * the limit "llm" unless their arguments name another.
 * @param joining - arguments that every job is enqueued with.
 */
export function useQueues(
  place: PlaceName,
  limits: RateLimitDefinitions,
  joining: object = {},
  exposed?: Parameters<typeof openQueues>[3],
  more?: Parameters<typeof openQueues>[4],
) {
  const { t, starts, deploy, ...first } = openQueues(place, limits, undefined, exposed, more);
  let functions: AnyRateLimits = first;
  const llm = { name: "llm" };
  const enqueue = async (label: string, args: object = {}, returned: Partial<JobArgs> = {}, fn: Job = run) =>
    await t.mutation(
      async (ctx) =>
        await functions.enqueueRateLimited(ctx, { ...llm, ...joining, ...args }, fn, { label, ...returned }),
    );
  const jobOf = async (...job: Parameters<typeof enqueue>): Promise<RateLimitQueuedJob> => {
    const result = await enqueue(...job);
    if (!result.ok) throw new Error("There was no room for the job.");
    return result.job;
  };
  return {
    t,
    starts,
    functions: () => functions,
    deploy: (next: RateLimitDefinitions) => {
      functions = deploy(next);
    },
    enqueue,
    jobOf,
    enqueueAll: async (labels: readonly string[], args: object = {}) => {
      for (const label of labels) await jobOf(label, args);
    },
    /** Enqueues as many jobs in one mutation, whether there is room or not. */
    enqueueAtOnce: async (jobs: number, label: string, args: object = {}) => {
      await t.mutation(async (ctx) => {
        const asked = { ...llm, ...joining, ...args };
        for (let i = 0; i < jobs; i++) await functions.enqueueRateLimited(ctx, asked, run, { label });
      });
    },
    cancel: async (job: RateLimitQueuedJob) => {
      const { canceled } = await t.mutation(async (ctx) => await functions.cancelQueued(ctx, job));
      return canceled;
    },
    position: async (job: RateLimitQueuedJob) => await t.query(async (ctx) => await functions.getQueued(ctx, job)),
    snapshot: async (args: object = {}) =>
      await t.query(async (ctx) => await functions.getRateLimit(ctx, { ...llm, ...args })),
    override: async (args: object) =>
      await t.mutation(async (ctx) => await functions.overrideRateLimit(ctx, { ...llm, ...args } as never)),
    reset: async () => await t.mutation(async (ctx) => await functions.resetRateLimit(ctx, llm)),
    adjust: async (args: { count: number; takenAt?: number }) =>
      await t.mutation(async (ctx) => await functions.adjustRateLimit(ctx, { ...llm, ...args })),
    pauseFor: async (ms: number) =>
      await t.mutation(async (ctx) => await functions.pauseRateLimit(ctx, { ...llm, until: Date.now() + ms })),
    pass: async (ms: number) => {
      await pass(t, ms);
    },
    until: async (ms: number) => {
      await runUntil(t, NOW + ms);
    },
    order: () => starts.map(({ label }) => label),
    /** Each start as "label ms", in ms since NOW. */
    log: () => starts.map(({ label, at }) => `${label} ${at - NOW}`),
  };
}

/** The function that continues a sweep in the tables. */
export const continueSweep = makeFunctionReference<"mutation", { cursor?: string }>("sweeps:sweep");
const sweepIn = (functions: () => AnyRateLimits) =>
  internalMutationGeneric({
    args: { cursor: v.optional(v.string()) },
    handler: async (ctx: MutationCtx, { cursor }) =>
      await functions().sweepRateLimits(ctx, { cursor, next: continueSweep }),
  });

/** Moves the clock from one scheduled function to the next, and runs each at its time, until none is left. None may be due after `until`. */
export async function runUntil(t: Backend, until: number): Promise<void> {
  while (vi.getTimerCount() > 0) {
    const before = Date.now();
    vi.advanceTimersToNextTimer();
    if (Date.now() > until)
      throw new Error(`A timer was due at ${Date.now()}, after ${before}: pass a later time to runUntil.`);
    await t.finishInProgressScheduledFunctions();
  }
  vi.setSystemTime(until);
}

/** Lets time pass, and runs what is due meanwhile. Later functions stay scheduled. */
export async function pass(t: Backend, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    vi.advanceTimersByTime(STEP_MS);
    await t.finishInProgressScheduledFunctions();
  }
}

const STEP_MS = 10;
