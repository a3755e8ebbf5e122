// convex/denials.ts
import { ShardedCounter } from "@convex-dev/sharded-counter";
import { defineRateLimits, HOUR } from "convex-rate-limits";
import { v } from "convex/values";
import { components } from "./_generated/api";
import { type MutationCtx, mutation, query } from "./_generated/server";

const denials = new ShardedCounter<string>(components.shardedCounter);
const counterOf = (name: string, time: number) => `${name} ${Math.floor(time / HOUR)}`;

const { rateLimit } = defineRateLimits(
  { vote: { kind: "token bucket", rate: 2, period: HOUR, keyed: true } },
  {
    // In the caller's transaction: if that throws, the denial is not counted.
    onDecision: async (ctx: MutationCtx, { name, status }) => {
      if (!status.ok) await denials.inc(ctx, counterOf(name, Date.now()));
    },
  },
);

/** The denials of a limit in the hour that `time` lies in. */
export const denialsInHour = query({
  args: { name: v.string(), time: v.number() },
  returns: v.number(),
  handler: async (ctx, { name, time }) => await denials.count(ctx, counterOf(name, time)),
});

export const vote = mutation({
  args: { voter: v.string() },
  returns: v.boolean(),
  handler: async (ctx, { voter }) => {
    const { ok } = await rateLimit(ctx, { name: "vote", key: voter });
    return ok;
  },
});
