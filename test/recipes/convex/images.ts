// convex/images.ts
import { v } from "convex/values";
import { mutation } from "./_generated/server";
import { limits } from "./limits";

const FORBIDDEN = /\b(weapon|passport)s?\b/i;

/** A user who has nothing left is told so first; a prompt that is refused costs nothing; only the image itself does. */
export const draw = mutation({
  args: { user: v.id("users"), prompt: v.string() },
  returns: v.union(v.literal("drawn"), v.literal("refused"), v.literal("no image left today")),
  handler: async (ctx, { user, prompt }) => {
    const image = { name: "image", key: user } as const;
    if (!(await limits.checkRateLimit(ctx, image)).ok) return "no image left today";
    if (FORBIDDEN.test(prompt)) return "refused";
    // The same transaction as the check: nobody can have taken the token in between.
    await limits.rateLimit(ctx, { ...image, throws: true });
    await ctx.db.insert("images", { user, prompt });
    return "drawn";
  },
});
