// convex/auth.ts
import { betterAuth, type BetterAuthRateLimitStorage } from "better-auth";
import { SECOND } from "convex-rate-limits";
import { v } from "convex/values";
import { internal } from "./_generated/api";
import { type ActionCtx, internalMutation } from "./_generated/server";
import { limits } from "./limits";

/** One request of Better Auth's: its key has the address and the path, its rule comes from Better Auth's own options. */
export const consume = internalMutation({
  args: { key: v.string(), window: v.number(), max: v.number() },
  returns: v.object({ allowed: v.boolean(), retryAfter: v.union(v.number(), v.null()) }),
  handler: async (ctx, { key, window, max }) => {
    const config = { kind: "fixed window", rate: max, period: Math.ceil(window * SECOND) } as const;
    const { ok, retryAt } = await limits.rateLimit(ctx, { name: "auth", key, config });
    return { allowed: ok, retryAfter: ok ? null : Math.ceil((retryAt - Date.now()) / SECOND) };
  },
});

export function createAuth(ctx: ActionCtx) {
  const customStorage: BetterAuthRateLimitStorage = {
    consume: (key, rule) => ctx.runMutation(internal.auth.consume, { key, ...rule }),
  };
  return betterAuth({
    baseURL: "https://app.example",
    secret: process.env["BETTER_AUTH_SECRET"] ?? "",
    emailAndPassword: { enabled: true },
    // Add the database that your app keeps its users in.
    rateLimit: { enabled: true, window: 60, max: 100, customStorage },
  });
}
