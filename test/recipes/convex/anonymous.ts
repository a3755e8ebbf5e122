// convex/anonymous.ts
import { callerAddress } from "convex-rate-limits/http";
import { ConvexError, v } from "convex/values";
import { internal } from "./_generated/api";
import type { Id } from "./_generated/dataModel";
import { action, internalMutation, mutation, type MutationCtx } from "./_generated/server";
import { limits } from "./limits";

/** Each session costs a captcha, so a client cannot have as many as it likes. */
export const startSession = action({
  args: { captcha: v.string() },
  returns: v.id("sessions"),
  handler: async (ctx, { captcha }): Promise<Id<"sessions">> => {
    const answer = await fetch("https://challenges.cloudflare.com/turnstile/v0/siteverify", {
      method: "POST",
      body: new URLSearchParams({ secret: process.env["TURNSTILE_SECRET"] ?? "", response: captcha }),
    });
    const { success } = (await answer.json()) as { success: boolean };
    if (!success) throw new ConvexError({ kind: "NotHuman" });
    return await ctx.runMutation(internal.anonymous.addSession, {});
  },
});

export const addSession = internalMutation({
  args: {},
  returns: v.id("sessions"),
  handler: async (ctx) => {
    await limits.rateLimit(ctx, { name: "newSession", key: await addressOf(ctx), throws: true });
    return await ctx.db.insert("sessions", { startedAt: Date.now() });
  },
});

export const comment = mutation({
  args: { session: v.id("sessions"), text: v.string() },
  returns: v.null(),
  handler: async (ctx, { session, text }) => {
    if (!(await ctx.db.get("sessions", session))) throw new ConvexError({ kind: "NoSession" });
    const layers = [
      { name: "comment", key: session },
      { name: "commentsFromAddress", key: await addressOf(ctx) },
      { name: "anonymousComments" },
    ] as const;
    await limits.rateLimitAll(ctx, layers, { throws: true });
    await ctx.db.insert("comments", { session, text });
    return null;
  },
});

/** Work without an address, such as scheduled work, shares one bucket: deliberately, and visibly. */
async function addressOf(ctx: MutationCtx): Promise<string> {
  const { ip } = await ctx.meta.getRequestMetadata();
  return callerAddress(ip) ?? "no address";
}
