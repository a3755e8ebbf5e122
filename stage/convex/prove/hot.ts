/** A hot key on several rows: its plain calls, and what an app does beside them. */
import { DAY, defineRateLimits, SECOND } from "convex-rate-limits";
import { rateLimitAdmin } from "convex-rate-limits/admin";
import { rateLimitJobs } from "convex-rate-limits/jobs";
import { rateLimitLive } from "convex-rate-limits/live";
import { v } from "convex/values";
import { internal } from "../_generated/api.js";
import { mutation, type MutationCtx, query } from "../_generated/server.js";
import { CHARGE, type Operation, OPERATIONS } from "./operations.js";
import { admit, secretArgs } from "./secret.js";

const limits = defineRateLimits({
  proofHot: {
    kind: "token bucket",
    period: SECOND,
    capacity: 400,
    shards: "auto",
    keyed: true,
    plans: { base: { rate: 200 }, more: { rate: 300 } },
  },
  /** Nothing comes back during a run, so that the sum of what was taken is exact. */
  proofQuota: { kind: "fixed window", rate: 100_000, period: 90 * DAY, shards: "auto", keyed: true },
});
const { rateLimit, checkRateLimit, adjustRateLimit, pauseRateLimit, resetRateLimit } = limits;
const { scheduleRateLimited, cancelRateLimited } = rateLimitJobs(limits);
const { overrideRateLimit, clearRateLimitOverride } = rateLimitAdmin(limits);
const { getRateLimit } = rateLimitLive(limits);

const hotArgs = { ...secretArgs, key: v.string() };
const bucketOf = (key: string) => ({ name: "proofHot" as const, key });
const baseOf = (key: string) => ({ ...bucketOf(key), plan: "base" as const });

/** A plain call, with the server's clock. */
export const hit = mutation({
  args: hotArgs,
  returns: v.object({ ok: v.boolean(), at: v.number() }),
  handler: async (ctx, { secret, key }) => {
    admit(secret);
    const { ok } = await rateLimit(ctx, baseOf(key));
    return { ok, at: Date.now() };
  },
});

/** Nothing starts for `forMs`. Returns the end. */
export const pause = mutation({
  args: { ...hotArgs, forMs: v.number() },
  returns: v.number(),
  handler: async (ctx, { secret, key, forMs }) => {
    admit(secret);
    const until = Date.now() + forMs;
    await pauseRateLimit(ctx, { ...bucketOf(key), until });
    return until;
  },
});

/** A block or a pause ends this soon: the calls beside it are denied until then. */
const BRIEF_MS = 50;

const run: Record<Operation, (ctx: MutationCtx, key: string) => Promise<unknown>> = {
  charge: (ctx, key) => adjustRateLimit(ctx, { ...bucketOf(key), count: 5 }),
  refund: (ctx, key) => adjustRateLimit(ctx, { ...bucketOf(key), count: -1, takenAt: Date.now() - SECOND }),
  reserve: (ctx, key) => rateLimit(ctx, { ...baseOf(key), reserve: { within: SECOND } }),
  cancel: async (ctx, key) => {
    const row = { run: "", label: "", n: 0 };
    const { job } = await scheduleRateLimited(ctx, baseOf(key), internal.prove.rows.record, row);
    if (job) await cancelRateLimited(ctx, job);
  },
  // Beside a call, as an app asks that decides by the answer.
  check: async (ctx, key) => {
    const { ok } = await checkRateLimit(ctx, baseOf(key));
    return ok && (await rateLimit(ctx, baseOf(key)));
  },
  get: (ctx, key) => getRateLimit(ctx, baseOf(key)),
  "other plan": (ctx, key) => rateLimit(ctx, { ...bucketOf(key), plan: "more" }),
  override: (ctx, key) => overrideRateLimit(ctx, { ...bucketOf(key), more: 10, until: Date.now() + SECOND }),
  block: (ctx, key) => overrideRateLimit(ctx, { ...bucketOf(key), block: true, until: Date.now() + BRIEF_MS }),
  unblock: (ctx, key) => clearRateLimitOverride(ctx, bucketOf(key)),
  pause: (ctx, key) => pauseRateLimit(ctx, { ...bucketOf(key), until: Date.now() + BRIEF_MS }),
  reset: (ctx, key) => resetRateLimit(ctx, bucketOf(key)),
};

export const operate = mutation({
  args: { ...hotArgs, operation: v.union(...OPERATIONS.map((operation) => v.literal(operation))) },
  returns: v.null(),
  handler: async (ctx, { secret, key, operation }) => {
    admit(secret);
    await run[operation](ctx, key);
    return null;
  },
});

/** Takes a token of the quota, or charges some. Returns how many were taken. */
export const spend = mutation({
  args: { ...hotArgs, isCharge: v.boolean() },
  returns: v.number(),
  handler: async (ctx, { secret, key, isCharge }) => {
    admit(secret);
    const bucket = { name: "proofQuota" as const, key };
    if (!isCharge) return (await rateLimit(ctx, bucket)).ok ? 1 : 0;
    await adjustRateLimit(ctx, { ...bucket, count: CHARGE });
    return CHARGE;
  },
});

/** The tokens of the quota that are gone, by all of its rows. */
export const spent = query({
  args: hotArgs,
  returns: v.number(),
  handler: async (ctx, { secret, key }) => {
    admit(secret);
    const { tokens, value } = await getRateLimit(ctx, { name: "proofQuota", key });
    return tokens - value;
  },
});
