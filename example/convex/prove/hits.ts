/** What the same call on a limit is given and answers in each place, and in the official component. */
import { type RateLimitConfig, SECOND } from "convex-rate-limits";
import { v } from "convex/values";
import { secretArgs } from "./secret.js";

export const hitArgs = {
  ...secretArgs,
  key: v.string(),
  /** Tokens a second. */
  rate: v.number(),
  capacity: v.number(),
  shards: v.union(v.number(), v.literal("auto")),
};

export const vHit = v.object({
  ok: v.boolean(),
  /** Of a denial. */
  retryAt: v.optional(v.number()),
  /** The server's clock around the call. On a deployment it stands still, so they are equal. */
  before: v.number(),
  after: v.number(),
});

export interface Asked {
  readonly rate: number;
  readonly capacity: number;
  readonly shards: number | "auto";
}

export function configOf({ rate, capacity, shards }: Asked): RateLimitConfig {
  return { kind: "token bucket", rate, period: SECOND, capacity, shards };
}

/** Runs the call between two looks at the clock. */
export async function timed(ask: () => Promise<{ ok: boolean; retryAt?: number | undefined }>) {
  const before = Date.now();
  const { ok, retryAt } = await ask();
  return { ok, ...(ok || retryAt === undefined ? {} : { retryAt }), before, after: Date.now() };
}
