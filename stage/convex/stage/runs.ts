/** At most two runs of an agent at once. A run holds a slot until it ends, or its lease does. */
import { defineRateLimits, SECOND } from "convex-rate-limits";
import { rateLimitJobs } from "convex-rate-limits/jobs";
import { v } from "convex/values";
import {
  mutation,
  type QueryCtx,
  query,
} from "../_generated/server.js";
import { roomOf } from "./rooms.js";
import { runFields } from "./tables.js";

const limits = defineRateLimits({
  agentRuns: {
    kind: "concurrency",
    slots: 2,
    lease: 20 * SECOND,
    keyed: true,
  },
});
const { releaseRateLimit } = rateLimitJobs(limits);

/** Takes a slot, or says when the first lease ends. */
export const begin = mutation({
  args: { room: v.string() },
  returns: v.object({
    ok: v.boolean(),
    retryAt: v.optional(v.number()),
  }),
  handler: async (ctx, { room }) => {
    const status = await limits.rateLimit(ctx, {
      name: "agentRuns",
      key: roomOf(ctx, room),
    });
    if (!status.ok) return { ok: false, retryAt: status.retryAt };
    const before = await runsIn(ctx, room);
    const number = (before.at(-1)?.number ?? 0) + 1;
    const { lease } = status;
    await ctx.db.insert("stageRuns", { room, number, lease });
    return { ok: true };
  },
});

/** Frees the slot. A second end frees nothing. */
export const end = mutation({
  args: { run: v.id("stageRuns") },
  returns: v.null(),
  handler: async (ctx, { run }) => {
    const ended = await ctx.db.get("stageRuns", run);
    if (!ended) return null;
    await releaseRateLimit(ctx, ended.lease);
    await ctx.db.patch("stageRuns", run, { state: "ended" });
    return null;
  },
});

// For the page.

/** The process dies: its slot is free only when the lease ends. */
export const kill = mutation({
  args: { run: v.id("stageRuns") },
  returns: v.null(),
  handler: async (ctx, { run }) => {
    await ctx.db.patch("stageRuns", run, { state: "killed" });
    return null;
  },
});

/** The latest runs, oldest first. */
export const runs = query({
  args: { room: v.string() },
  returns: v.array(
    v.object({
      _id: v.id("stageRuns"),
      _creationTime: v.number(),
      ...runFields,
    }),
  ),
  handler: (ctx, { room }) => runsIn(ctx, room),
});

async function runsIn(ctx: QueryCtx, room: string) {
  const latest = await ctx.db
    .query("stageRuns")
    .withIndex("by_room", (q) => q.eq("room", room))
    .order("desc")
    .take(20);
  return latest.reverse();
}
