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

interface Parts {
  /** The part of its worker that the app exports, in your tables. */
  exported?: (worker: RegisteredQueue) => object;
  /** Finds the job that a client may see, for the app's public query. */
  exposed?: (ctx: QueryCtx, requested: string) => unknown;
  /** Further modules of the app. */
  more?: Parameters<typeof openBackend>[0];
}

/**
 * Opens the backend, with the calls that tests make, each in a mutation or query of its own, under the limits deployed last. Calls are for
 * the limit "llm" unless their arguments name another.
 * @param joining - arguments that every job is enqueued with.
 */
export function useQueues(
  place: PlaceName,
  limits: RateLimitDefinitions,
  joining: object = {},
  { exported = (worker) => worker, exposed = () => null, more = {} }: Parts = {},
) {
  const define = (defined: RateLimitDefinitions): AnyRateLimits =>
    place === "tables"
      ? withAll(defineRateLimits(defined, { queueModule: "limits" }))
      : withAll(defineInComponent(defined, { component }));
  let functions = define(limits);
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
  const llm = { name: "llm" };
  const write = async <T>(call: (ctx: MutationCtx, functions: AnyRateLimits) => Promise<T>) =>
    await t.mutation(async (ctx) => await call(ctx, functions));
  const enqueue = async (label: string, args: object = {}, returned: Partial<JobArgs> = {}, fn: Job = run) =>
    await write((ctx, own) => own.enqueueRateLimited(ctx, { ...llm, ...joining, ...args }, fn, { label, ...returned }));
  const jobOf = async (...job: Parameters<typeof enqueue>): Promise<RateLimitQueuedJob> => {
    const result = await enqueue(...job);
    if (!result.ok) throw new Error("There was no room for the job.");
    return result.job;
  };
  const snapshot = async (args: object = {}) =>
    await t.query(async (ctx) => await functions.getRateLimit(ctx, { ...llm, ...args }));
  return {
    t,
    starts,
    functions: () => functions,
    /** Deploys the app with other limits. */
    deploy: (next: RateLimitDefinitions) => {
      functions = define(next);
    },
    write,
    enqueue,
    jobOf,
    enqueueAll: async (labels: readonly string[], args: object = {}) => {
      for (const label of labels) await jobOf(label, args);
    },
    /** Enqueues as many jobs in one mutation, whether there is room or not. */
    enqueueAtOnce: async (jobs: number, label: string, args: object = {}) => {
      await write(async (ctx, own) => {
        const asked = { ...llm, ...joining, ...args };
        for (let i = 0; i < jobs; i++) await own.enqueueRateLimited(ctx, asked, run, { label });
      });
    },
    cancel: async (job: RateLimitQueuedJob) => (await write((ctx, own) => own.cancelQueued(ctx, job))).canceled,
    position: async (job: RateLimitQueuedJob) => await t.query(async (ctx) => await functions.getQueued(ctx, job)),
    snapshot,
    value: async (args?: object) => (await snapshot(args)).value,
    take: (args: object = {}) => write((ctx, own) => own.rateLimit(ctx, { ...llm, ...args })),
    override: (args: object) => write((ctx, own) => own.overrideRateLimit(ctx, { ...llm, ...args } as never)),
    reset: (args: object = {}) => write((ctx, own) => own.resetRateLimit(ctx, { ...llm, ...args })),
    adjust: (args: { count: number; [field: string]: unknown }) =>
      write((ctx, own) => own.adjustRateLimit(ctx, { ...llm, ...args })),
    pauseFor: (ms: number, args: object = {}) =>
      write((ctx, own) => own.pauseRateLimit(ctx, { ...llm, ...args, until: Date.now() + ms })),
    sweep: () => write((ctx, own) => own.sweepRateLimits(ctx, { next: continueSweep })),
    pass: async (ms: number) => {
      await pass(t, ms);
    },
    until: async (ms: number) => {
      await runUntil(t, NOW + ms);
    },
    order: () => starts.map(({ label }) => label),
    /** Each start as "label ms", in ms since NOW. */
    log: () => starts.map(({ label, at }) => `${label} ${at - NOW}`),
    /** Each start as "label s", in seconds since NOW, rounded down. */
    seconds: () => starts.map(({ label, at }) => `${label} ${Math.floor((at - NOW) / 1000)}`),
  };
}

/** The function that continues a sweep in the tables. */
const continueSweep = makeFunctionReference<"mutation", { cursor?: string }>("sweeps:sweep");
const sweepIn = (functions: () => AnyRateLimits) =>
  internalMutationGeneric({
    args: { cursor: v.optional(v.string()) },
    handler: async (ctx: MutationCtx, { cursor }) =>
      await functions().sweepRateLimits(ctx, { cursor, next: continueSweep }),
  });

/** Moves the clock from one scheduled function to the next, and runs each at its time, until none is left. None may be due after `until`. */
async function runUntil(t: Backend, until: number): Promise<void> {
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
async function pass(t: Backend, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    vi.advanceTimersByTime(STEP_MS);
    await t.finishInProgressScheduledFunctions();
  }
}

const STEP_MS = 10;
