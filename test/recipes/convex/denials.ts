// convex/denials.ts
import { ShardedCounter } from "@convex-dev/sharded-counter";
import { HOUR, type RateLimitConfig, type RateLimitStatus } from "convex-rate-limits";
import { v } from "convex/values";
import { components } from "./_generated/api";
import { type MutationCtx, mutation, query } from "./_generated/server";
import { limits } from "./limits";

interface Decision {
  name: string;
  key?: string | undefined;
  count: number;
  reserve: boolean;
  status: RateLimitStatus;
  config: RateLimitConfig;
}

const denials = new ShardedCounter<string>(components.shardedCounter);
const counterOf = (name: string, time: number) => `${name} ${Math.floor(time / HOUR)}`;

/** Counts a denial in the caller's transaction: if that throws, the denial is not counted. */
export async function countDenial(ctx: MutationCtx, { name, status }: Decision): Promise<void> {
  if (!status.ok) await denials.inc(ctx, counterOf(name, Date.now()));
}

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
    const config = { kind: "token bucket", rate: 2, period: HOUR } as const;
    const status = await limits.rateLimit(ctx, { name: "vote", key: voter, config });
    await countDenial(ctx, { name: "vote", key: voter, count: 1, reserve: false, status, config });
    return status.ok;
  },
});
