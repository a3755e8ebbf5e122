/** Jobs for a language model. Each runs when its tokens are paid. */
import { defineRateLimits, SECOND } from "convex-rate-limits";
import { rateLimitJobs } from "convex-rate-limits/jobs";
import { rateLimitLive } from "convex-rate-limits/live";
import { ConvexError, type Infer, v } from "convex/values";
import { internal } from "../_generated/api.js";
import type { Doc } from "../_generated/dataModel.js";
import {
  internalAction,
  internalMutation,
  mutation,
  type MutationCtx,
  query,
  type QueryCtx,
} from "../_generated/server.js";
import { editable, forPage, roomOf } from "./rooms.js";
import { jobFields } from "./tables.js";

export const limits = {
  model: {
    kind: "token bucket",
    rate: 200,
    period: SECOND,
    capacity: 400,
    maxReserved: 4000,
    keyed: true,
  },
} as const;

const defined = defineRateLimits(limits);
const { scheduleRateLimited, cancelRateLimited } =
  rateLimitJobs(defined);
const { exposeRateLimit } = rateLimitLive(defined);
const configOf = editable(limits);

const vAnswer = v.union(
  v.object({
    ok: v.literal(true),
    runAt: v.number(),
    waits: v.boolean(),
  }),
  v.object({ ok: v.literal(false), retryAt: v.number() }),
);

/** Promises the job a time, and schedules it for that time. */
export const ask = mutation({
  args: { room: v.string(), count: v.optional(v.number()) },
  returns: vAnswer,
  handler: async (
    ctx,
    { room, count = 400 },
  ): Promise<Infer<typeof vAnswer>> => {
    const job = await insertJob(ctx, room, count);
    const config = await configOf(ctx, room, "model");
    const scheduled = await scheduleRateLimited(
      ctx,
      { name: "model", key: room, count, config },
      internal.stage.promises.run,
      { job },
    );
    if (!scheduled.ok) {
      await ctx.db.delete("stageJobs", job);
      return { ok: false, retryAt: scheduled.retryAt };
    }
    const { runAt, job: reservation } = scheduled;
    await ctx.db.patch("stageJobs", job, {
      promisedAt: runAt,
      reservation,
    });
    return { ok: true, runAt, waits: runAt > Date.now() };
  },
});

/** The tokens go back. Later jobs keep their times. */
export const cancel = mutation({
  args: { job: v.id("stageJobs") },
  returns: v.boolean(),
  handler: async (ctx, { job }) => {
    const { reservation } =
      (await ctx.db.get("stageJobs", job)) ?? {};
    if (!reservation)
      throw new ConvexError({ kind: "NoSuchJob" });
    const { canceled } = await cancelRateLimited(
      ctx,
      reservation,
    );
    if (canceled) {
      await ctx.db.patch("stageJobs", job, {
        status: "cancelled",
        endedAt: Date.now(),
      });
    }
    return canceled;
  },
});

/** The work itself: a model takes a while to answer. */
export const run = internalAction({
  args: { job: v.id("stageJobs") },
  returns: v.null(),
  handler: async (ctx, { job }): Promise<null> => {
    await ctx.runMutation(internal.stage.promises.mark, {
      job,
      status: "running",
    });
    await new Promise((resolve) =>
      setTimeout(resolve, ANSWER_MS),
    );
    await ctx.runMutation(internal.stage.promises.mark, {
      job,
      status: "done",
    });
    return null;
  },
});

// For the page.

const ANSWER_MS = 1500;
const SHOWN_JOBS = 12;

export const mark = internalMutation({
  args: {
    job: v.id("stageJobs"),
    status: v.union(v.literal("running"), v.literal("done")),
  },
  returns: v.null(),
  handler: async (ctx, { job, status }) => {
    const at = Date.now();
    await ctx.db.patch("stageJobs", job, {
      status,
      ...(status === "running"
        ? { startedAt: at }
        : { endedAt: at }),
    });
    return null;
  },
});

/** The latest jobs, oldest first. */
export const jobs = query({
  args: { room: v.string() },
  returns: v.array(
    v.object({ _id: v.id("stageJobs"), ...jobFields }),
  ),
  handler: async (ctx, { room }) => {
    const latest = await jobsOf(ctx, room)
      .order("desc")
      .take(SHOWN_JOBS);
    return latest.reverse().map(shownOf);
  },
});

/** The fields for the page. The server keeps the reservation, with which a job can be cancelled. */
function shownOf(job: Doc<"stageJobs">) {
  const { _id, room, number, tokens, status } = job;
  const { askedAt, promisedAt, startedAt, endedAt } = job;
  return {
    _id,
    room,
    number,
    tokens,
    status,
    askedAt,
    promisedAt,
    startedAt,
    endedAt,
  };
}

/** Inserts a queued job, promised for now, and deletes old jobs that have ended. */
async function insertJob(
  ctx: MutationCtx,
  room: string,
  tokens: number,
): Promise<Doc<"stageJobs">["_id"]> {
  const all = await jobsOf(ctx, roomOf(ctx, room)).collect();
  for (const { _id, status } of all.slice(
    0,
    Math.max(0, all.length - SHOWN_JOBS),
  )) {
    if (status === "done" || status === "cancelled")
      await ctx.db.delete("stageJobs", _id);
  }
  const now = Date.now();
  const number = (all.at(-1)?.number ?? 0) + 1;
  return await ctx.db.insert("stageJobs", {
    room,
    number,
    tokens,
    status: "queued",
    askedAt: now,
    promisedAt: now,
  });
}

function jobsOf(ctx: QueryCtx, room: string) {
  return ctx.db
    .query("stageJobs")
    .withIndex("by_room", (q) => q.eq("room", room));
}

export const { getRateLimit: bucket } = exposeRateLimit(
  "model",
  forPage(configOf, "model"),
);
