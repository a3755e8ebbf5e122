// convex/transcripts.ts
import { Workpool } from "@convex-dev/workpool";
import { v } from "convex/values";
import { components, internal } from "./_generated/api";
import { internalAction, mutation } from "./_generated/server";
import { limits } from "./limits";

const pool = new Workpool(components.workpool, { maxParallelism: 2 });

/** The limit says from when on the call may run, the pool how many run at once. */
export const transcribe = mutation({
  args: { url: v.string() },
  returns: v.union(v.object({ runAt: v.number() }), v.object({ retryAt: v.number() })),
  handler: async (ctx, { url }): Promise<{ runAt: number } | { retryAt: number }> => {
    const { ok, retryAt } = await limits.rateLimit(ctx, { name: "transcript", reserve: true });
    if (!ok) return { retryAt };
    const runAt = retryAt ?? Date.now();
    await pool.enqueueAction(ctx, internal.transcripts.call, { url }, { runAt });
    return { runAt };
  },
});

export const call = internalAction({
  args: { url: v.string() },
  returns: v.null(),
  handler: async (_ctx, { url }) => {
    await fetch("https://transcripts.example/", { method: "POST", body: url });
    return null;
  },
});
