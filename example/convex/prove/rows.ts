/** The rows that a run leaves for its driver, and how all that it has written goes again. */
import { RateLimiter } from "@convex-dev/rate-limiter";
import { defineRateLimits, SECOND } from "convex-rate-limits";
import { defineRateLimits as defineInComponent } from "convex-rate-limits/component";
import { v } from "convex/values";
import { components } from "../_generated/api.js";
import { internalMutation, internalQuery, mutation, query, type QueryCtx } from "../_generated/server.js";
import { rowFields } from "./schema.js";
import { admit, secretArgs } from "./secret.js";

/** A reset does not ask what is allowed, only under which name it is kept. */
const anything = { kind: "token bucket", rate: 1, period: SECOND, keyed: true } as const;
const inTables = defineRateLimits({ proof: anything, proofQueue: anything });
const inComponent = defineInComponent(
  { proof: anything, proofRequests: anything },
  { component: components.rateLimits },
);
const official = new RateLimiter(components.rateLimiter, {});

/** Scheduled work: it says when it ran. */
export const record = internalMutation({
  args: rowFields,
  returns: v.null(),
  handler: async (ctx, row) => {
    await ctx.db.insert("proofRows", { ...row, at: Date.now() });
    return null;
  },
});

/** More than a run writes under one label. */
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

/** In the order in which they were written. */
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

/** Deletes what a run has written: its rows, some at a time, and its buckets. True until nothing is left. */
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
