// convex/keys.ts
import { hashKey } from "convex-rate-limits";
import { address, apiKey } from "convex-rate-limits/http";
import { internal } from "./_generated/api";
import { internalQuery } from "./_generated/server";
import { v } from "convex/values";

const issued: Record<string, "free" | "pro"> = {}; // in an app, a table

export const planOf = internalQuery({
  args: { hash: v.string() },
  returns: v.union(v.literal("free"), v.literal("pro"), v.null()),
  handler: async (_ctx, { hash }) => issued[hash] ?? null,
});

export const byCaller = {
  by: [
    apiKey({
      known: async (ctx, hash): Promise<boolean> => (await ctx.runQuery(internal.keys.planOf, { hash })) !== null,
    }),
    address({ trustedProxies: 1 }),
  ],
  without: "deny",
} as const;

export async function issue(): Promise<{ key: string; hash: string }> {
  const key = crypto.randomUUID();
  return { key, hash: await hashKey(key) }; // store the hash, show the key once
}
