// convex/messages.ts
import { v } from "convex/values";
import { mutation } from "./_generated/server";
import { carryOver, limits, official } from "./limits";

/** Both limiters in one mutation: a denial of either takes the other one's tokens back. */
export const send = mutation({
  args: { author: v.string() },
  returns: v.null(),
  handler: async (ctx, { author }) => {
    await official.limit(ctx, "sendMessage", { key: author, throws: true });
    await limits.rateLimit(ctx, { name: "sendMessage", key: author, throws: true });
    return null;
  },
});

/** Only the new limiter decides, from where the old one stopped. */
export const upload = mutation({
  args: { user: v.string() },
  returns: v.null(),
  handler: async (ctx, { user }) => {
    await carryOver(ctx, "upload", user);
    await limits.rateLimit(ctx, { name: "upload", key: user, throws: true });
    return null;
  },
});
