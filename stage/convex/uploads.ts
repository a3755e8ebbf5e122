/**
 * Uploads, limited in three layers at once: for each user, for each team, and for the whole app. All three are charged, or none
 * is, so a user whom the team's limit denies keeps their own token.
 */
import { v } from "convex/values";
import { mutation } from "./_generated/server.js";
import { rateLimitAll } from "./rateLimits.js";

const LAYERS = ["user", "team", "everyone"] as const;

export const upload = mutation({
  args: { user: v.id("users"), team: v.string(), file: v.string() },
  returns: v.union(
    v.object({ ok: v.literal(true), left: v.array(v.number()) }),
    v.object({ ok: v.literal(false), retryAt: v.number(), full: v.array(v.string()) }),
  ),
  handler: async (ctx, { user, team, file }) => {
    const { ok, retryAt, statuses } = await rateLimitAll(ctx, [
      { name: "uploadsByUser", key: user },
      { name: "uploadsByTeam", key: team },
      { name: "uploads" },
    ]);
    // The statuses are in the order of the requests.
    if (!ok) return { ok, retryAt, full: LAYERS.filter((_, layer) => !statuses[layer]?.ok) };
    await ctx.db.insert("uploads", { user, team, file });
    return { ok, left: statuses.map(({ remaining }) => remaining) };
  },
});
