/** Functions that test what the package relies on and only a deployment shows. Each does one thing, and returns what it saw. */
import { defineRateLimits } from "convex-rate-limits";
import { projectRateLimit } from "convex-rate-limits/client";
import { rateLimitLive } from "convex-rate-limits/live";
import { v } from "convex/values";
import { internal } from "../_generated/api.js";
import { internalMutation, mutation, type MutationCtx, query } from "../_generated/server.js";
import { admit, secretArgs } from "./secret.js";

const { getRateLimit } = rateLimitLive(defineRateLimits({}));

const rowArgs = { ...secretArgs, run: v.string(), label: v.string() };

export const now = internalMutation({ args: {}, returns: v.number(), handler: () => Date.now() });

/** Reads the clock at the start, after work of some milliseconds, in a nested call, and after a read. */
export const clock = mutation({
  args: rowArgs,
  returns: v.array(v.number()),
  handler: async (ctx, { secret, run, label }): Promise<number[]> => {
    admit(secret);
    const start = Date.now();
    let sum = 0;
    for (let i = 0; i < 500_000; i++) sum += Math.sqrt(i);
    const worked = Date.now() + (sum > 0 ? 0 : 1);
    const nested: number = await ctx.runMutation(internal.prove.facts.now, {});
    await countRows(ctx, run, label);
    return [start, worked, nested, Date.now()];
  },
});

/** Runs two sequences at once, which read and then write. Returns how many rows each has read. */
export const batches = mutation({
  args: rowArgs,
  returns: v.array(v.number()),
  handler: async (ctx, { secret, run, label }) => {
    admit(secret);
    const sequence = async (n: number) => {
      const seen = await countRows(ctx, run, label);
      await ctx.db.insert("proofRows", { run, label, n });
      return seen;
    };
    return await Promise.all([sequence(1), sequence(2)]);
  },
});

/** Inserts rows with positive numbers, a negative one and none. Returns those up to 5 in the order of the index. */
export const undefinedFirst = mutation({
  args: rowArgs,
  returns: v.array(v.union(v.number(), v.null())),
  handler: async (ctx, { secret, run, label }) => {
    admit(secret);
    for (const n of [1, -1, undefined, 9]) {
      await ctx.db.insert("proofRows", { run, label, ...(n === undefined ? {} : { n }) });
    }
    const rows = await ctx.db
      .query("proofRows")
      .withIndex("by_run_label_n", (q) => q.eq("run", run).eq("label", label).lte("n", 5))
      .take(10);
    return rows.map(({ n }) => n ?? null);
  },
});

/** Schedules a start `delayMs` ahead and cancels it. Returns the error if it is refused. */
export const farAway = mutation({
  args: { ...secretArgs, delayMs: v.number() },
  returns: v.union(v.string(), v.null()),
  handler: (ctx, { secret, delayMs }) => {
    admit(secret);
    return errorOf(async () => {
      await ctx.scheduler.cancel(await ctx.scheduler.runAfter(delayMs, internal.prove.facts.now, {}));
    });
  },
});

/** Writes half of a character (a lone surrogate). Returns the error if it is refused. */
export const surrogate = mutation({
  args: rowArgs,
  returns: v.union(v.string(), v.null()),
  handler: (ctx, { secret, run, label }) => {
    admit(secret);
    return errorOf(() => ctx.db.insert("proofRows", { run, label, text: String.fromCharCode(0xd800) }));
  },
});

/** Writes a document of a little more than `bytes` bytes. Returns the error if it is refused. */
export const document = mutation({
  args: { ...rowArgs, bytes: v.number() },
  returns: v.union(v.string(), v.null()),
  handler: (ctx, { secret, run, label, bytes }) => {
    admit(secret);
    return errorOf(() => ctx.db.insert("proofRows", { run, label, text: "x".repeat(bytes) }));
  },
});

/** Reads `count` ranges of an index. Throws if that is more than a transaction may read. */
export const ranges = query({
  args: { ...rowArgs, count: v.number() },
  returns: v.null(),
  handler: async (ctx, { secret, run, label, count }) => {
    admit(secret);
    const reads = Array.from({ length: count }, (_, n) =>
      ctx.db
        .query("proofRows")
        .withIndex("by_run_label_n", (q) => q.eq("run", run).eq("label", label).eq("n", n))
        .first(),
    );
    await Promise.all(reads);
    return null;
  },
});

/** The starts of the next three days, weeks and months in each zone, from this platform's `Intl`; null for a zone that it does not know. */
export const zones = query({
  args: { ...secretArgs, names: v.array(v.string()), from: v.number() },
  returns: v.array(v.union(v.array(v.number()), v.null())),
  handler: async (ctx, { secret, names, from }) => {
    admit(secret);
    const startsOf = async (timeZone: string, period: "day" | "week" | "month") => {
      const config = { kind: "fixed window", rate: 1, period, timeZone } as const;
      const snapshot = await getRateLimit(ctx, { name: "proofWindows", config });
      const starts: number[] = [];
      for (let now = from; starts.length < 3; starts.push(now)) {
        now = projectRateLimit(snapshot, { now, count: 0 }).resetAt ?? NaN;
      }
      return starts;
    };
    const startsIn = async (zone: string) =>
      (await Promise.all((["day", "week", "month"] as const).map((period) => startsOf(zone, period)))).flat();
    return await Promise.all(names.map((name) => startsIn(name).catch(() => null)));
  },
});

async function countRows(ctx: MutationCtx, run: string, label: string): Promise<number> {
  const rows = await ctx.db
    .query("proofRows")
    .withIndex("by_run_label_n", (q) => q.eq("run", run).eq("label", label))
    .take(100);
  return rows.length;
}

async function errorOf(act: () => Promise<unknown>): Promise<string | null> {
  try {
    await act();
    return null;
  } catch (error) {
    return String(error);
  }
}
