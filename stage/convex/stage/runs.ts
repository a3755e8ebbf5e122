/** At most two runs of an agent at once. A token is a place, and the period is its lease. */
import { defineRateLimits, SECOND } from "convex-rate-limits";
import { v } from "convex/values";
import {
  mutation,
  type MutationCtx,
  query,
} from "../_generated/server.js";
import { roomOf } from "./rooms.js";
import { runFields } from "./tables.js";

const LEASE_MS = 20 * SECOND;

const { rateLimit, adjustRateLimit } = defineRateLimits({
  agentRuns: {
    kind: "sliding window",
    rate: 2,
    period: LEASE_MS,
    keyed: true,
  },
});

/** Takes a place, or says when the first lease ends. */
export const begin = mutation({
  args: { room: v.string() },
  returns: v.object({
    ok: v.boolean(),
    retryAt: v.optional(v.number()),
  }),
  handler: async (ctx, { room }) => {
    const status = await rateLimit(ctx, {
      name: "agentRuns",
      key: roomOf(ctx, room),
      refundable: true,
    });
    if (!status.ok) return { ok: false, retryAt: status.retryAt };
    const { takenAt = Date.now() } = status;
    await insertRun(ctx, room, takenAt);
    return { ok: true };
  },
});

/** Gives the place back, with the time at which it was taken. */
export const end = mutation({
  args: { run: v.id("stageRuns") },
  returns: v.null(),
  handler: async (ctx, { run }) => {
    const ended = await ctx.db.get("stageRuns", run);
    if (!ended) return null;
    // A second end finds no run, and gives nothing back.
    await ctx.db.delete("stageRuns", run);
    await adjustRateLimit(ctx, {
      name: "agentRuns",
      key: ended.room,
      count: -1,
      takenAt: ended.takenAt,
    });
    return null;
  },
});

// For the page.

/** The process dies: the place is free only when its lease ends. */
export const kill = mutation({
  args: { run: v.id("stageRuns") },
  returns: v.null(),
  handler: async (ctx, { run }) => {
    const killed = await ctx.db.get("stageRuns", run);
    if (killed)
      await ctx.db.patch("stageRuns", run, { isKilled: true });
    return null;
  },
});

/** The runs whose lease may not have ended yet, oldest first. */
export const runs = query({
  args: { room: v.string() },
  returns: v.array(
    v.object({
      _id: v.id("stageRuns"),
      ...runFields,
      leasedUntil: v.number(),
    }),
  ),
  handler: async (ctx, { room }) => {
    const all = await ctx.db
      .query("stageRuns")
      .withIndex("by_room", (q) => q.eq("room", room))
      .collect();
    return all.map(({ _id, number, takenAt, isKilled }) => ({
      _id,
      room,
      number,
      takenAt,
      isKilled,
      leasedUntil: takenAt + LEASE_MS,
    }));
  },
});

async function insertRun(
  ctx: MutationCtx,
  room: string,
  takenAt: number,
) {
  const before = await ctx.db
    .query("stageRuns")
    .withIndex("by_room", (q) => q.eq("room", room))
    .collect();
  for (const { _id, takenAt: at } of before) {
    if (at <= takenAt - LEASE_MS)
      await ctx.db.delete("stageRuns", _id);
  }
  const number = (before.at(-1)?.number ?? 0) + 1;
  await ctx.db.insert("stageRuns", { room, number, takenAt });
}
