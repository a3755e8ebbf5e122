/** The rows that a run writes for its driver, and the function that deletes all that a run has written. */
import { RateLimiter } from "@convex-dev/rate-limiter";
import { defineRateLimits, SECOND } from "convex-rate-limits";
import { defineRateLimits as defineInComponent } from "convex-rate-limits/component";
import { v } from "convex/values";
import { components } from "../_generated/api.js";
import { internalMutation, internalQuery, mutation, query, type QueryCtx } from "../_generated/server.js";
import { rowFields } from "./schema.js";
import { admit, secretArgs } from "./secret.js";

/** A reset needs a limit's name, but not its numbers. These are arbitrary. */
const anything = { kind: "token bucket", rate: 1, period: SECOND, keyed: true } as const;
const inTables = defineRateLimits({
  proof: anything,
  proofQueue: anything,
  proofLost: anything,
  proofHot: anything,
  proofQuota: anything,
});
const inComponent = defineInComponent(
  { proof: anything, proofRequests: anything, proofDeploy: anything },
  { component: components.rateLimits },
);
const official = new RateLimiter(components.rateLimiter, {});

/** Scheduled work: it writes a row with the time at which it ran. */
export const record = internalMutation({
  args: rowFields,
  returns: v.null(),
  handler: async (ctx, row) => {
    await ctx.db.insert("proofRows", { ...row, at: Date.now() });
    return null;
  },
});

/** The rows of one label: up to 1000, which is more than a run writes. */
function rowsOf(ctx: QueryCtx, run: string, label: string) {
  return ctx.db
    .query("proofRows")
    .withIndex("by_run_label_n", (q) => q.eq("run", run).eq("label", label))
    .take(1000);
}

export const count = internalQuery({
  args: { run: v.string(), label: v.string() },
  returns: v.number(),
  handler: async (ctx, { run, label }) => (await rowsOf(ctx, run, label)).length,
});

/** The rows of one label, in the order in which they were written. */
export const list = query({
  args: { ...secretArgs, run: v.string(), label: v.string() },
  returns: v.array(v.object({ n: v.number(), dueAt: v.number(), at: v.number(), writtenAt: v.number() })),
  handler: async (ctx, { secret, run, label }) => {
    admit(secret);
    const rows = await rowsOf(ctx, run, label);
    return rows
      .map(({ n = 0, dueAt = 0, at = 0, _creationTime: writtenAt }) => ({ n, dueAt, at, writtenAt }))
      .sort((a, b) => a.writtenAt - b.writtenAt);
  },
});

const vBucket = v.object({
  place: v.union(v.literal("tables"), v.literal("component"), v.literal("official")),
  name: v.string(),
  key: v.string(),
});

/** Deletes what a run has written: its buckets, and 500 of its rows at a time. Returns true until no row is left. */
export const clear = mutation({
  args: { ...secretArgs, run: v.string(), buckets: v.array(vBucket) },
  returns: v.boolean(),
  handler: async (ctx, { secret, run, buckets }) => {
    admit(secret);
    for (const { place, name, key } of buckets) {
      if (place === "official") await official.reset(ctx, name as never, { key });
      else if (place === "tables") await inTables.resetRateLimit(ctx, { name, key } as never);
      else await inComponent.resetRateLimit(ctx, { name, key } as never);
    }
    const rows = await ctx.db
      .query("proofRows")
      .withIndex("by_run_label_n", (q) => q.eq("run", run))
      .take(500);
    for (const { _id } of rows) await ctx.db.delete("proofRows", _id);
    return rows.length > 0;
  },
});
