/** A message that may fail. Its limit is in the mutation, or outside of it. */
import { defineRateLimits, MINUTE } from "convex-rate-limits";
import { rateLimitLive } from "convex-rate-limits/live";
import { ConvexError, v } from "convex/values";
import { internal } from "../_generated/api.js";
import {
  action,
  internalMutation,
  mutation,
  type MutationCtx,
  query,
} from "../_generated/server.js";
import { callerOf, editable, forPage, roomOf } from "./rooms.js";

const limits = {
  message: {
    kind: "token bucket",
    rate: 30,
    period: MINUTE,
    capacity: 10,
    keyed: true,
  },
} as const;

const defined = defineRateLimits(limits);
const { rateLimit } = defined;
const { exposeRateLimit } = rateLimitLive(defined);
const configOf = editable(limits);

/** In the mutation: the token is part of the write. */
export const send = mutation({
  args: { room: v.string(), fails: v.boolean() },
  returns: v.object({
    sent: v.boolean(),
    read: v.number(),
    written: v.number(),
  }),
  handler: async (ctx, { room, fails }) => {
    const config = await configOf(ctx, room, "message");
    const rows = await rowsOf(ctx);
    // The server finds the user: the page could send any key.
    const author = callerOf(ctx, room);
    const { ok } = await rateLimit(ctx, {
      name: "message",
      key: author,
      config,
      throws: false,
    });
    // A denial has written nothing.
    if (!ok) return { sent: false, ...(await rows()) };
    await ctx.db.insert("stageMessages", { room, to: "inside" });
    // Undoes the message, and the token with it.
    if (fails) throw new ConvexError(await rows());
    return { sent: true, ...(await rows()) };
  },
});

/** Outside: an action takes the token, then a mutation writes. */
export const sendOutside = action({
  args: { room: v.string(), fails: v.boolean() },
  returns: v.boolean(),
  handler: async (ctx, { room, fails }): Promise<boolean> => {
    const { take, write } = internal.stage.rollback;
    if (!(await ctx.runMutation(take, { room }))) return false;
    // The token is committed: no throw brings it back.
    await ctx.runMutation(write, { room, fails });
    return true;
  },
});

export const take = internalMutation({
  args: { room: v.string() },
  returns: v.boolean(),
  handler: async (ctx, { room }) => {
    const config = await configOf(ctx, room, "message");
    const { ok } = await rateLimit(ctx, {
      name: "message",
      key: `${callerOf(ctx, room)} outside`,
      config,
      throws: false,
    });
    return ok;
  },
});

export const write = internalMutation({
  args: { room: v.string(), fails: v.boolean() },
  returns: v.null(),
  handler: async (ctx, { room, fails }) => {
    await ctx.db.insert("stageMessages", { room, to: "outside" });
    if (fails) throw new ConvexError({ kind: "NoSuchUser" });
    return null;
  },
});

// For the page.

/** Counts the rows that the transaction reads and writes from here on, by the platform's metrics. */
async function rowsOf(ctx: MutationCtx) {
  const count = async () => {
    const metrics = await ctx.meta.getTransactionMetrics();
    return {
      read: metrics.documentsRead.used,
      written: metrics.documentsWritten.used,
    };
  };
  const before = await count();
  return async () => {
    const { read, written } = await count();
    return {
      read: read - before.read,
      written: written - before.written,
    };
  };
}

export const delivered = query({
  args: { room: v.string() },
  returns: v.array(v.string()),
  handler: async (ctx, { room }) => {
    const messages = await ctx.db
      .query("stageMessages")
      .withIndex("by_room", (q) => q.eq("room", room))
      .order("desc")
      .take(100);
    return messages.map(({ to }) => to);
  },
});

/** The key of the bucket outside is the room, a space and "outside". */
function keyOf(ctx: unknown, key = "") {
  const [room, side] = key.split(" ");
  const inside = roomOf(ctx, room);
  return side === "outside" ? `${inside} outside` : inside;
}

export const { getRateLimit: bucket } = exposeRateLimit(
  "message",
  forPage(
    configOf,
    "message",
    keyOf,
    (key) => key.split(" ")[0] ?? "",
  ),
);
