import { describe, expect, it, vi, beforeEach, afterEach } from "vitest";
import { defineIn, placeNames, openBackend } from "../support/places.js";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(1_700_000_000_000);
});
afterEach(() => {
  vi.useRealTimers();
});

describe.each(placeNames)("a sharded limit in the %s", (place) => {
  it("admits all of a small limit that is spread over many shards", async () => {
    const t = openBackend();
    const { rateLimit } = defineIn(place, { send: { kind: "token bucket", rate: 5, period: 1000, shards: 10 } });
    const answers = await t.mutation(async (ctx) => {
      const oks: boolean[] = [];
      for (let i = 0; i < 6; i++) oks.push((await rateLimit(ctx, { name: "send" })).ok);
      return oks;
    });
    expect(answers).toEqual([true, true, true, true, true, false]);
  });

  it("serves a count that is larger than a shard", async () => {
    const t = openBackend();
    const { rateLimit } = defineIn(place, { send: { kind: "token bucket", rate: 10, period: 1000, shards: 2 } });
    const status = await t.mutation(async (ctx) => await rateLimit(ctx, { name: "send", count: 8 }));
    expect(status).toMatchObject({ ok: true, remaining: 2 });
  });

  it("grants a reservation of everything at once, and waits for the next", async () => {
    const t = openBackend();
    const { rateLimit } = defineIn(place, { send: { kind: "token bucket", rate: 60, period: 1000, shards: 16 } });
    const statuses = await t.mutation(async (ctx) => [
      await rateLimit(ctx, { name: "send", count: 60, reserve: true }),
      await rateLimit(ctx, { name: "send", count: 60, reserve: true }),
    ]);
    expect(statuses[0]).toMatchObject({ ok: true, remaining: 0 });
    expect(statuses[0]?.retryAt).toBeUndefined();
    expect(statuses[1]).toMatchObject({ ok: true, retryAt: Date.now() + 1000 });
  });

  it("changes its number of shards without losing or making a token", async () => {
    const t = openBackend();
    const config = (shards: number) => ({ kind: "token bucket" as const, rate: 64, period: 3_600_000, shards });
    const { rateLimit } = defineIn(place, {});
    for (let taken = 0, shards = 1; taken < 64; taken++, shards = (shards * 4) % 63) {
      const status = await t.mutation(async (ctx) => await rateLimit(ctx, { name: "send", config: config(shards) }));
      expect({ taken, shards, ok: status.ok }).toEqual({ taken, shards, ok: true });
    }
    for (const shards of [1, 2, 16, 64]) {
      const status = await t.mutation(async (ctx) => await rateLimit(ctx, { name: "send", config: config(shards) }));
      expect({ shards, ok: status.ok }).toEqual({ shards, ok: false });
    }
  });
});
