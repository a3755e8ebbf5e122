import { v } from "convex/values";
import { MINUTE } from "convex-rate-limits";
import { defineRateLimits } from "convex-rate-limits/component";
import { components } from "./_generated/api";
import { mutation } from "./_generated/server";

const { rateLimit } = defineRateLimits(
  { letters: { kind: "fixed window", rate: 1, period: MINUTE } },
  { component: components.rateLimits },
);

export const post = mutation({
  args: { body: v.string() },
  returns: v.boolean(),
  handler: async (ctx, { body }) => {
    const { ok } = await rateLimit(ctx, { name: "letters" });
    if (ok) await ctx.db.insert("letters", { body });
    return ok;
  },
});
