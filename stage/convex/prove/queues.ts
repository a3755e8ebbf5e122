/** Queues that a deploy changes, and queues whose worker is lost. */
import { defineRateLimits, SECOND } from "convex-rate-limits";
import { rateLimitAdmin } from "convex-rate-limits/admin";
import { defineRateLimits as defineInComponent } from "convex-rate-limits/component";
import { rateLimitQueue as rateLimitQueueInComponent } from "convex-rate-limits/component/queue";
import { rateLimitQueue, type RateLimitQueuedJob } from "convex-rate-limits/queue";
import { vRateLimitQueuedJob } from "convex-rate-limits/queue/schema";
import { v } from "convex/values";
import { components, internal } from "../_generated/api.js";
import { internalMutation, mutation, type MutationCtx, type QueryCtx } from "../_generated/server.js";
import { type Waker, WAKERS } from "./operations.js";
import { admit, secretArgs } from "./secret.js";

/** The same limit as two deploys define it. The component has no definitions: it knows what the last caller said. */
const deployed = (rate: number) =>
  rateLimitQueueInComponent(
    defineInComponent(
      { proofDeploy: { kind: "token bucket", rate, period: SECOND, capacity: 1, keyed: true, queue: {} } },
      { component: components.rateLimits },
    ),
  );
const deploys = { slow: deployed(1), fast: deployed(20) };

const limits = defineRateLimits(
  { proofLost: { kind: "token bucket", rate: 1, period: 3 * SECOND, capacity: 1, keyed: true, queue: {} } },
  { queueModule: "prove/queues" },
);
const { enqueueRateLimited, cancelQueued, exposeQueueWorker } = rateLimitQueue(limits);
const { sweepRateLimits } = rateLimitAdmin(limits);

export const { workQueue, runQueuedAction } = exposeQueueWorker();

const rowArgs = { run: v.string(), label: v.string() };
const keyArgs = { ...secretArgs, key: v.string() };

/** Enqueues jobs under one of two definitions. Each writes a row when it runs. */
export const enqueueUnder = mutation({
  args: {
    ...keyArgs,
    ...rowArgs,
    from: v.number(),
    count: v.number(),
    by: v.union(v.literal("slow"), v.literal("fast")),
  },
  returns: v.null(),
  handler: async (ctx, { secret, key, from, count, by, ...row }): Promise<null> => {
    admit(secret);
    for (let n = from; n < from + count; n++) {
      const asked = { name: "proofDeploy" as const, key, throws: true as const };
      await deploys[by].enqueueRateLimited(ctx, asked, internal.prove.rows.record, { ...row, n });
    }
    return null;
  },
});

const bucketOf = (key: string) => ({ name: "proofLost" as const, key });

const enqueueJob = (ctx: MutationCtx, key: string, row: { run: string; label: string; n: number }) =>
  enqueueRateLimited(ctx, bucketOf(key), internal.prove.rows.record, row);

/** Enqueues a job that starts at once, and two that have to wait: the worker sleeps until then. Returns the last one. */
export const enqueueThree = mutation({
  args: { ...keyArgs, ...rowArgs },
  returns: vRateLimitQueuedJob,
  handler: async (ctx, { secret, key, ...row }): Promise<RateLimitQueuedJob> => {
    admit(secret);
    const answers = [];
    for (const n of [0, 1, 2]) answers.push(await enqueueJob(ctx, key, { ...row, n }));
    const job = answers.at(-1)?.job;
    if (!job) throw new Error("A queue without maxQueued was full.");
    return job;
  },
});

/** The planned runs of a key's worker, among the newest scheduled functions. */
async function plannedRuns(ctx: QueryCtx, key: string) {
  const newest = await ctx.db.system.query("_scheduled_functions").order("desc").take(500);
  return newest.filter(({ name, args: [args], state }) => {
    const { run } = (args ?? {}) as { run?: { key?: string } };
    return name.includes("workQueue") && run?.key === key && state.kind === "pending";
  });
}

/** Cancels the planned runs of a worker, as by hand in the dashboard. Returns how many there were. */
export const lose = mutation({
  args: keyArgs,
  returns: v.number(),
  handler: async (ctx, { secret, key }) => {
    admit(secret);
    const runs = await plannedRuns(ctx, key);
    for (const { _id } of runs) await ctx.scheduler.cancel(_id);
    return runs.length;
  },
});

const vWaker = v.union(...WAKERS.map((waker) => v.literal(waker)));

interface Lost {
  readonly key: string;
  readonly run: string;
  readonly label: string;
  /** The last job that waits. */
  readonly job: RateLimitQueuedJob;
}

const wake: Record<Waker, (ctx: MutationCtx, lost: Lost) => Promise<unknown>> = {
  enqueue: (ctx, { key, run, label }) => enqueueJob(ctx, key, { run, label, n: 3 }),
  cancel: (ctx, { job }) => cancelQueued(ctx, job),
  pause: (ctx, { key }) => limits.pauseRateLimit(ctx, { ...bucketOf(key), until: Date.now() + 10 }),
  adjustment: (ctx, { key }) => limits.adjustRateLimit(ctx, { ...bucketOf(key), count: -1 }),
  reset: (ctx, { key }) => limits.resetRateLimit(ctx, bucketOf(key)),
  sweep: (ctx) => sweepRateLimits(ctx, { next: internal.prove.queues.sweep }),
};

/** Does one of what starts a lost worker. */
export const rouse = mutation({
  args: { ...keyArgs, ...rowArgs, job: vRateLimitQueuedJob, by: vWaker },
  returns: v.null(),
  handler: async (ctx, { secret, by, ...lost }): Promise<null> => {
    admit(secret);
    await wake[by](ctx, lost);
    return null;
  },
});

export const sweep = internalMutation({
  args: { cursor: v.string() },
  returns: v.null(),
  handler: async (ctx, { cursor }): Promise<null> => {
    await sweepRateLimits(ctx, { cursor, next: internal.prove.queues.sweep });
    return null;
  },
});
