/** Uploads: for each user, for each team, for everyone. All or none. */
import { defineRateLimits, MINUTE } from "convex-rate-limits";
import { rateLimitLive } from "convex-rate-limits/live";
import { vRateLimitAllStatus } from "convex-rate-limits/schema";
import { v } from "convex/values";
import { mutation } from "../_generated/server.js";
import { editable, forPage, roomOf } from "./rooms.js";

const limits = {
  byUser: {
    kind: "token bucket",
    rate: 3,
    period: MINUTE,
    keyed: true,
  },
  byTeam: {
    kind: "token bucket",
    rate: 5,
    period: MINUTE,
    keyed: true,
  },
  everyone: {
    kind: "token bucket",
    rate: 3,
    period: MINUTE,
    capacity: 6,
    keyed: true,
  },
} as const;

const defined = defineRateLimits(limits);
const { rateLimitAll } = defined;
const { exposeRateLimit } = rateLimitLive(defined);
const configOf = editable(limits);

export const upload = mutation({
  args: { room: v.string(), user: v.string() },
  returns: vRateLimitAllStatus,
  handler: async (ctx, { room, user }) => {
    const status = await rateLimitAll(
      ctx,
      [
        {
          name: "byUser",
          key: `${room} ${user}`,
          config: await configOf(ctx, room, "byUser"),
        },
        {
          name: "byTeam",
          key: room,
          config: await configOf(ctx, room, "byTeam"),
        },
        {
          name: "everyone",
          key: room,
          config: await configOf(ctx, room, "everyone"),
        },
      ],
      { throws: false },
    );
    // One limit denied, so none was charged.
    if (!status.ok) return status;
    await ctx.db.insert("stageMessages", { room, to: user });
    return status;
  },
});

// For the page.

/** The key of a user's bucket is the room, a space and the user. */
function userOf(ctx: unknown, key = "") {
  const [room, user = ""] = key.split(" ");
  return `${roomOf(ctx, room)} ${user.slice(0, 20)}`;
}

export const { getRateLimit: user } = exposeRateLimit(
  "byUser",
  forPage(
    configOf,
    "byUser",
    userOf,
    (key) => key.split(" ")[0] ?? "",
  ),
);
export const { getRateLimit: team } = exposeRateLimit(
  "byTeam",
  forPage(configOf, "byTeam"),
);
export const { getRateLimit: everyone } = exposeRateLimit(
  "everyone",
  forPage(configOf, "everyone"),
);
