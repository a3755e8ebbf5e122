/** What a call costs, held as a contract: range reads, documents, hops. Measured with the transaction's own metrics. */
import { makeFunctionReference } from "convex/server";
import type { RateLimitedJob } from "convex-rate-limits";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type AnyRateLimits,
  defineIn,
  placeNames,
  type MutationCtx,
  openBackend,
  type QueryCtx,
} from "../support/places.js";

const NOW = 1_700_000_000_000;

interface Cost {
  /** Index ranges read: what is billed, and what a concurrent write can conflict with. */
  ranges: number;
  documentsRead: number;
  documentsWritten: number;
  /** Calls across the component's boundary. */
  hops: number;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

describe.each(placeNames)("in the %s", (place) => {
  const hops = place === "tables" ? 0 : 1;
  const limits = defineIn(place, {
    bucket: { kind: "token bucket", rate: 2, period: 1000, maxReserved: 1 },
    window: { kind: "fixed window", rate: 2, period: 1000, maxReserved: 1 },
  });
  const names = ["bucket", "window"] as const;

  it.each(names)("%s: the first call reads one range and inserts one document", async (name) => {
    const t = openBackend();
    const cost = await t.mutation(async (ctx) => await costOf(ctx, (c) => limits.rateLimit(c, { name })));
    expect(cost).toEqual({ ranges: 1, documentsRead: 0, documentsWritten: 1, hops });
  });

  it.each(names)("%s: a later call reads one range and patches one document", async (name) => {
    const t = openBackend();
    await t.mutation(async (ctx) => await limits.rateLimit(ctx, { name }));
    const cost = await t.mutation(async (ctx) => await costOf(ctx, (c) => limits.rateLimit(c, { name })));
    // A patch reads the document again, by its id: the platform's doing.
    expect(cost).toEqual({ ranges: 1, documentsRead: 2, documentsWritten: 1, hops });
  });

  it.each(names)("%s: a reservation costs what a call costs", async (name) => {
    const t = await used(limits, name);
    const reserve = (c: MutationCtx) => limits.rateLimit(c, { name, reserve: true });
    const cost = await t.mutation(async (ctx) => await costOf(ctx, reserve));
    expect(cost).toEqual({ ranges: 1, documentsRead: 2, documentsWritten: 1, hops });
  });

  it.each(names)("%s: a denial reads one range and writes nothing", async (name) => {
    const t = await used(limits, name);
    const deny = (c: MutationCtx) => limits.rateLimit(c, { name });
    expect(await t.mutation(deny)).toMatchObject({ ok: false });
    const cost = await t.mutation(async (ctx) => await costOf(ctx, deny));
    expect(cost).toEqual({ ranges: 1, documentsRead: 1, documentsWritten: 0, hops });
  });

  it.each(names)("%s: a denial that throws costs no more", async (name) => {
    const t = await used(limits, name);
    const deny = async (c: MutationCtx) => {
      await expect(limits.rateLimit(c, { name, throws: true })).rejects.toThrow();
    };
    const cost = await t.mutation(async (ctx) => await costOf(ctx, deny));
    expect(cost).toEqual({ ranges: 1, documentsRead: 1, documentsWritten: 0, hops });
  });

  it.each(names)("%s: a count of 0 writes nothing", async (name) => {
    const t = await used(limits, name);
    const ask = (c: MutationCtx) => limits.rateLimit(c, { name, count: 0 });
    const cost = await t.mutation(async (ctx) => await costOf(ctx, ask));
    expect(cost).toEqual({ ranges: 1, documentsRead: 1, documentsWritten: 0, hops });
  });

  it.each(names)("%s: check and get read one range, in a query and in a mutation", async (name) => {
    const t = await used(limits, name);
    const calls = [
      (c: QueryCtx) => limits.checkRateLimit(c, { name }),
      (c: QueryCtx) => limits.getRateLimit(c, { name }),
    ];
    for (const call of calls) {
      const expected = { ranges: 1, documentsRead: 1, documentsWritten: 0, hops };
      expect(await t.query(async (ctx) => await costOf(ctx, call))).toEqual(expected);
      expect(await t.mutation(async (ctx) => await costOf(ctx, call))).toEqual(expected);
    }
  });

  it.each(names)("%s: a reset reads one range and deletes what is there", async (name) => {
    const t = await used(limits, name);
    const reset = (c: MutationCtx) => limits.resetRateLimit(c, { name });
    // A delete reads the document again, as a patch does.
    const expected = { ranges: 1, documentsRead: 2, documentsWritten: 1, hops };
    expect(await t.mutation(async (ctx) => await costOf(ctx, reset))).toEqual(expected);
    const again = { ranges: 1, documentsRead: 0, documentsWritten: 0, hops };
    expect(await t.mutation(async (ctx) => await costOf(ctx, reset))).toEqual(again);
  });

  it("several limits at once read one range each, in one hop, and a bucket that is named twice is read once", async () => {
    const t = openBackend();
    const requests = [{ name: "bucket" }, { name: "window", key: "a" }, { name: "bucket" }];
    const take = (c: MutationCtx) => limits.rateLimitAll(c, requests);
    const check = (c: QueryCtx) => limits.checkRateLimitAll(c, requests);
    const first = await t.mutation(async (ctx) => await costOf(ctx, take));
    expect(first).toEqual({ ranges: 2, documentsRead: 0, documentsWritten: 2, hops });
    const denied = { ranges: 2, documentsRead: 2, documentsWritten: 0, hops };
    expect(await t.mutation(async (ctx) => await costOf(ctx, take))).toEqual(denied);
    expect(await t.query(async (ctx) => await costOf(ctx, check))).toEqual(denied);
  });

  it("of one bucket, what is wanted now and what is reserved cost one read together", async () => {
    const t = openBackend();
    const both = [
      { name: "bucket", count: 2 },
      { name: "bucket", reserve: true },
    ];
    const take = (c: MutationCtx) => limits.rateLimitAll(c, both);
    const cost = await t.mutation(async (ctx) => await costOf(ctx, take));
    expect(cost).toEqual({ ranges: 1, documentsRead: 0, documentsWritten: 1, hops });
  });

  it.each(names)(
    "%s: an adjustment costs what a call costs, and nothing is written where there is nothing to do",
    async (name) => {
      const t = await used(limits, name);
      for (const count of [3, -1]) {
        const adjust = (c: MutationCtx) => limits.adjustRateLimit(c, { name, count });
        const cost = await t.mutation(async (ctx) => await costOf(ctx, adjust));
        expect(cost).toEqual({ ranges: 1, documentsRead: 2, documentsWritten: 1, hops });
      }
      const full = (c: MutationCtx) => limits.adjustRateLimit(c, { name, key: "full", count: -1 });
      const cost = await t.mutation(async (ctx) => await costOf(ctx, full));
      expect(cost).toEqual({ ranges: 1, documentsRead: 0, documentsWritten: 0, hops });
    },
  );

  it("what comes back to a sharded limit is given to one of two shards", async () => {
    const t = openBackend();
    const wide = defineIn(place, { wide: { kind: "token bucket", rate: 64, period: 64_000, shards: 16 } });
    await t.mutation(async (ctx) => await wide.rateLimit(ctx, { name: "wide", count: 64 }));
    const adjust = (c: MutationCtx) => wide.adjustRateLimit(c, { name: "wide", count: -1 });
    const cost = await t.mutation(async (ctx) => await costOf(ctx, adjust));
    // Two shards are read, and the one that is patched once more, by its id.
    expect(cost).toEqual({ ranges: 2, documentsRead: 3, documentsWritten: 1, hops });
  });

  it("a scheduled job costs a call, and its cancelling an adjustment", async () => {
    const t = openBackend();
    const run = makeFunctionReference<"mutation">("jobs:run");
    const cost = await t.mutation(async (ctx) => {
      let job: RateLimitedJob | undefined;
      const scheduled = await costOf(ctx, async (c) => {
        const result = await limits.scheduleRateLimited(c, { name: "bucket", count: 3 }, run, {});
        if (result.ok) job = result.job;
      });
      const canceled = await costOf(ctx, async (c) => job && (await limits.cancelRateLimited(c, job)));
      return { scheduled, canceled };
    });
    expect(cost.scheduled).toEqual({ ranges: 1, documentsRead: 0, documentsWritten: 1, hops });
    // The row, twice as ever, and the job's state, which is looked up by its id.
    expect(cost.canceled).toEqual({ ranges: 2, documentsRead: 3, documentsWritten: 1, hops });
  });

  it("a page of a list reads one range", async () => {
    const t = await used(limits, "bucket");
    const list = (c: QueryCtx) => limits.listRateLimits(c, { name: "bucket" });
    const cost = await t.query(async (ctx) => await costOf(ctx, list));
    expect(cost).toEqual({ ranges: 1, documentsRead: 1, documentsWritten: 0, hops });
  });

  it("other keys and other limits cost nothing", async () => {
    const t = openBackend();
    await t.mutation(async (ctx) => {
      for (let i = 0; i < 50; i++) await limits.rateLimit(ctx, { name: "bucket", key: `user ${i}` });
      for (let i = 0; i < 50; i++) await limits.rateLimit(ctx, { name: "window", key: `user ${i}` });
    });
    const call = (c: MutationCtx) => limits.rateLimit(c, { name: "bucket", key: "user 7" });
    const cost = await t.mutation(async (ctx) => await costOf(ctx, call));
    expect(cost).toEqual({ ranges: 1, documentsRead: 2, documentsWritten: 1, hops });
  });

  it("misuse costs nothing at all", async () => {
    const t = openBackend();
    const misuse = async (c: MutationCtx) => {
      await expect(limits.rateLimit(c, { name: "bucket", count: 3 })).rejects.toThrow("never");
    };
    const cost = await t.mutation(async (ctx) => await costOf(ctx, misuse));
    expect(cost).toEqual({ ranges: 0, documentsRead: 0, documentsWritten: 0, hops: 0 });
  });
});

/** A backend in which the limit's two tokens are gone. */
async function used({ rateLimit }: AnyRateLimits, name: string) {
  const t = openBackend();
  await t.mutation(async (ctx) => await rateLimit(ctx, { name, count: 2 }));
  return t;
}

/** What `call` costs, with a ctx whose hops are counted. */
async function costOf<Ctx extends QueryCtx | MutationCtx>(
  ctx: Ctx,
  call: (ctx: Ctx) => Promise<unknown>,
): Promise<Cost> {
  let hops = 0;
  const counting = new Proxy(ctx, {
    get: (target, property, receiver) => {
      if (property === "runQuery" || property === "runMutation") hops++;
      return Reflect.get(target, property, receiver) as unknown;
    },
  });
  const before = await ctx.meta.getTransactionMetrics();
  await call(counting);
  const after = await ctx.meta.getTransactionMetrics();
  return {
    ranges: after.databaseQueries.used - before.databaseQueries.used,
    documentsRead: after.documentsRead.used - before.documentsRead.used,
    documentsWritten: after.documentsWritten.used - before.documentsWritten.used,
    hops,
  };
}
