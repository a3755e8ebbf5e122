// convex/gate.ts
import { defineRateLimits } from "convex-rate-limits";
import { vRateLimitStatus } from "convex-rate-limits/schema";
import { v } from "convex/values";
import { mutation } from "./_generated/server";
import { apiLimit } from "./apiLimit";

const { rateLimit } = defineRateLimits({ api: apiLimit });

/** Without the secret any client could use up the tokens of others. */
export const enter = mutation({
  args: { secret: v.string(), key: v.string() },
  returns: vRateLimitStatus,
  handler: async (ctx, { secret, key }) => {
    if (secret !== process.env["GATE_SECRET"]) throw new Error("Only our own server may ask.");
    return await rateLimit(ctx, { name: "api", key });
  },
});
