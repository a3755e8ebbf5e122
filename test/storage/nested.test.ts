/** A call next to a nested mutation that asks the same limit: neither sees the other's rows. A bucket never stays unusable for it. */
import { internalMutationGeneric, makeFunctionReference } from "convex/server";
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it, vi } from "vitest";
import { NOW, useClock } from "../support/clock.js";
import { draw } from "../support/draw.js";
import { useBackend } from "../support/limits.js";
import { partsOf } from "../support/parts.js";
import { defineIn, type MutationCtx } from "../support/places.js";

useClock();

const nest = makeFunctionReference<"mutation">("nested:nested");
const config = { kind: "token bucket", rate: 64, period: 64_000_000 } as const;
const four = { atLeast: 4, atMost: 4 };

describe.each(["after", "before"])("a call that begins %s a nested one", (order) => {
  let shards: RateLimitConfig["shards"];
  const call = (ctx: MutationCtx) => defineIn("tables", { hot: { ...config, shards } }).rateLimit(ctx, { name: "hot" });
  const nested = internalMutationGeneric({ args: {}, handler: async (ctx) => await call(ctx as never) });
  const { define, mutation, insert, parts } = useBackend("tables", {
    "./nested.ts": () => Promise.resolve({ nested }),
  });
  const callBoth = () => {
    draw();
    return mutation(async (ctx) => {
      const calls = [() => ctx.runMutation(nest, {}) as Promise<{ ok: boolean }>, () => call(ctx)];
      if (order === "before") calls.reverse();
      return await Promise.all(calls.map((one) => one()));
    });
  };
  const values = async () => (await parts()).map(({ value }) => value);

  it.each<[RateLimitConfig["shards"], number]>([
    [1, 2],
    [four, 8],
  ])("finds a fresh bucket: all that both have taken counts, with shards %j", async (given, rows) => {
    shards = given;
    expect(await callBoth()).toMatchObject([{ ok: true }, { ok: true }]);
    expect(await values()).toHaveLength(rows);
    const limits = define({ hot: { ...config, shards } });
    expect(await limits.getRateLimit({ name: "hot" })).toMatchObject({ value: 62 });
    // All four rows become one, since a call asks for more than any of them has.
    expect(await limits.rateLimit({ name: "hot", count: 62 })).toMatchObject({ ok: true });
    expect(await limits.getRateLimit({ name: "hot" })).toMatchObject({ value: 0 });
    expect((await values()).length).toBeLessThan(rows);
  });

  const replaced = 'Rate limit "hot": a nested ctx.runMutation has replaced rows that this call has read';
  it.each<[string, RateLimitConfig["shards"], level: number, value: number, ageMs: number]>([
    ["splits", four, 0, 64, 1],
    ["merges", 4, 2, 16, 90_000],
  ])("fails if the row %s meanwhile, and writes nothing", async (_what, given, level, value, ageMs) => {
    shards = given;
    const rows = partsOf(level).map((shard) => ({ name: "hot", value, ts: NOW - ageMs, ...(shard && { shard }) }));
    await insert(...rows);
    await expect(callBoth()).rejects.toThrow(replaced);
    expect(await values()).toEqual(rows.map((row) => row.value));
  });
});

it("a failure of the database is passed on", async () => {
  const { rateLimit } = defineIn("tables", { hot: config });
  const query = () => ({ withIndex: () => ({ collect: () => Promise.resolve([]) }) });
  const insert = vi.fn(() => Promise.reject(new Error("too many writes")));
  await expect(rateLimit({ db: { query, insert } } as never, { name: "hot" })).rejects.toThrow("too many writes");
});
