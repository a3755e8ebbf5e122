// convex/limits.ts
import { calculateRateLimit, MINUTE, RateLimiter } from "@convex-dev/rate-limiter";
import { defineRateLimits } from "convex-rate-limits/component";
import { components } from "./_generated/api";
import type { MutationCtx } from "./_generated/server";

const definitions = {
  sendMessage: { kind: "token bucket", rate: 10, period: MINUTE, capacity: 3 },
  upload: { kind: "token bucket", rate: 6, period: MINUTE },
} as const;

export const official = new RateLimiter(components.rateLimiter, definitions);
export const limits = defineRateLimits(definitions, { component: components.rateLimits });

/** What the old limiter has counted against a key is moved here when the key is asked for: charged here, and reset there. */
export async function carryOver(ctx: MutationCtx, name: keyof typeof definitions, key: string): Promise<void> {
  const { ts, config } = await limits.getRateLimit(ctx, { name, key });
  if (ts > 0) return;
  const stored = await official.getValue(ctx, name, { key });
  const { value } = calculateRateLimit(stored, stored.config, Date.now());
  const used = (config.capacity ?? config.rate) - value;
  if (used <= 0) return;
  await limits.adjustRateLimit(ctx, { name, key, count: used });
  await official.reset(ctx, name, { key });
}

/** Until the old limiter is gone: a reset here alone would carry over what was counted before the move. */
export async function reset(ctx: MutationCtx, name: keyof typeof definitions, key: string): Promise<void> {
  await official.reset(ctx, name, { key });
  await limits.resetRateLimit(ctx, { name, key });
}
