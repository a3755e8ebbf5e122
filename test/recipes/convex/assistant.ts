// convex/assistant.ts
import { Agent, type UsageHandler } from "@convex-dev/agent";
import { gateway } from "ai";
import { v } from "convex/values";
import { components, internal } from "./_generated/api";
import { internalMutation, mutation } from "./_generated/server";
import { limits } from "./limits";

/** What a model call has used is known afterwards. It is charged without asking: the next question waits until it is paid. */
export const charge = internalMutation({
  args: { user: v.string(), tokens: v.number() },
  returns: v.null(),
  handler: async (ctx, { user, tokens }) => {
    await limits.adjustRateLimit(ctx, { name: "assistantTokens", key: user, count: tokens });
    return null;
  },
});

export const chargeUsage: UsageHandler = async (ctx, { userId, usage }) => {
  if (userId === undefined) throw new Error("A thread without a user has no budget.");
  await ctx.runMutation(internal.assistant.charge, { user: userId, tokens: usage.totalTokens ?? 0 });
};

export const assistant = new Agent(components.agent, {
  name: "assistant",
  languageModel: gateway("openai/gpt-5-mini"),
  usageHandler: chargeUsage,
});

/** Before the model is asked: a user who owes tokens waits. */
export const mayAsk = mutation({
  args: { user: v.string() },
  returns: v.null(),
  handler: async (ctx, { user }) => {
    await limits.checkRateLimit(ctx, { name: "assistantTokens", key: user, throws: true });
    return null;
  },
});
