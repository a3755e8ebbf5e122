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

/** What the old limiter has counted against a key is charged here, once: when the key has no row here yet. */
export async function carryOver(ctx: MutationCtx, name: keyof typeof definitions, key: string): Promise<void> {
  const { ts, config } = await limits.getRateLimit(ctx, { name, key });
  if (ts > 0) return;
  const stored = await official.getValue(ctx, name, { key });
  const { value } = calculateRateLimit(stored, stored.config, Date.now());
  const used = (config.capacity ?? config.rate) - value;
  if (used > 0) await limits.adjustRateLimit(ctx, { name, key, count: used });
}
