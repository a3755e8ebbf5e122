import { internalMutationGeneric, makeFunctionReference } from "convex/server";
import { v } from "convex/values";
import { DAY, type RateLimitConfig, type RateLimitStatus } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { sweep as componentSweep } from "../../convex/sweep.js";
import { deleteFull, findFull } from "../../src/operations/sweep.js";
import {
  type AnyRateLimits,
  type Backend,
  type MutationCtx,
  type PlaceName,
  type StoredRow,
  defineIn,
  insertRow,
  insertRows,
  openBackend,
  placeNames,
  rowsIn,
} from "../support/places.js";
import { NOW, useClock } from "../support/jobs.js";
import { runs } from "../support/random.js";

useClock();

const SETTLED = 60_000;
const next = makeFunctionReference<"mutation", { cursor?: string }>("sweeps:sweep");
type Options = Partial<Parameters<AnyRateLimits["sweepRateLimits"]>[1]>;

/** A backend in which the sweep continues by itself, as an app's does. */
function openSwept({ sweepRateLimits }: AnyRateLimits, options: Options = {}) {
  const sweep = internalMutationGeneric({
    args: { cursor: v.optional(v.string()) },
    handler: async (ctx: MutationCtx, { cursor }) => await sweepRateLimits(ctx, { ...options, cursor, next }),
  });
  const t = openBackend({ "./sweeps.ts": () => Promise.resolve({ sweep }) });
  const start = () => t.mutation(async (ctx) => await sweepRateLimits(ctx, { ...options, next }));
  const finish = async () => {
    let batches = 0;
    while (vi.getTimerCount() > 0) {
      vi.advanceTimersByTime(0);
      await t.finishInProgressScheduledFunctions();
      batches++;
    }
    return batches;
  };
  const sweepAt = async (now: number) => {
    vi.setSystemTime(now);
    await start();
    await finish();
  };
  return { t, start, finish, sweepAt };
}

const keysOf = async (t: Backend, place: PlaceName) => (await rowsIn(place, t)).map(({ key }) => key);

describe.each(placeNames)("in the %s", (place) => {
  const send: RateLimitConfig = { kind: "token bucket", rate: 1, period: 1000, capacity: 10 };
  const limits = defineIn(place, {
    send,
    window: { kind: "fixed window", rate: 10, period: 1000, start: 0 },
    spaced: { ...send, capacity: 0 },
    hot: { kind: "token bucket", rate: 64, period: 64_000, shards: { atLeast: 4, atMost: 4 } },
  });
  const { rateLimit, adjustRateLimit, getRateLimit } = limits;
  const sending = defineIn(place, { send });
  const use = (t: Backend, name: string, key: string, count: number) =>
    t.mutation(async (ctx) => await rateLimit(ctx, { name, key, count, reserve: true }));

  it("there is nothing to do where there are no rows, or no limits", async () => {
    const { t, start, finish } = openSwept(limits);
    expect(await start()).toMatchObject({ deleted: 0 });
    await finish();
    expect(await openSwept(defineIn(place, {})).start()).toEqual({ deleted: 0, isDone: true });
    expect(await rowsIn(place, t)).toEqual([]);
  });

  it("rows that have been full for a minute go, all others stay", async () => {
    const { t, sweepAt } = openSwept(limits);
    await use(t, "send", "a", 3);
    await use(t, "send", "b", 4);
    await use(t, "send", "c", 40);
    await use(t, "window", "a", 3);
    await use(t, "spaced", "a", 2);
    await use(t, "spaced", "b", 4);
    await sweepAt(NOW + 3000 + SETTLED - 1);
    const left = (await rowsIn(place, t)).map(({ name, key }) => `${name} ${key}`);
    expect(left).toEqual(["send a", "send b", "send c", "spaced b"]);
    await sweepAt(NOW + 3000 + SETTLED);
    expect(await keysOf(t, place)).toEqual(["b", "c", "b"]);
  });

  it("rows of a limit that is defined elsewhere stay, also beside one that says its config", async () => {
    const { t, sweepAt } = openSwept(defineIn(place, {}));
    await t.mutation(async (ctx) => {
      await defineIn(place, {}).rateLimit(ctx, { name: "send", key: "a", config: send });
      await sending.rateLimit(ctx, { name: "send", key: "b" });
    });
    await sweepAt(NOW + DAY);
    expect(await keysOf(t, place)).toEqual(["b"]);
  });

  it("a row that was filled by hand goes a minute after that, not before", async () => {
    const { t, start } = openSwept(sending);
    await use(t, "send", "a", 3);
    await t.mutation(async (ctx) => await adjustRateLimit(ctx, { name: "send", key: "a", count: -3 }));
    expect(await rowsIn(place, t)).toMatchObject([{ value: 10, ts: NOW }]);
    vi.setSystemTime(NOW + SETTLED - 1);
    expect(await start()).toMatchObject({ deleted: 0 });
    vi.setSystemTime(NOW + SETTLED);
    expect(await start()).toMatchObject({ deleted: 1 });
  });

  it("a row that a clock ahead of ours has written stays until it is full by ours", async () => {
    const { t, sweepAt } = openSwept(limits);
    await insertRow(place, t, { name: "send", key: "a", value: 9, ts: NOW + 5000 });
    await sweepAt(NOW + SETTLED);
    expect(await keysOf(t, place)).toEqual(["a"]);
    await sweepAt(NOW + SETTLED + 6000);
    expect(await keysOf(t, place)).toEqual([]);
  });

  it("servers whose clocks differ by less than a minute agree with a swept bucket and an unswept one", async () => {
    const { t, start, finish } = openSwept(limits);
    await use(t, "send", "a", 5);
    vi.setSystemTime(NOW + 5000 + SETTLED);
    const checks: RateLimitStatus[] = [];
    const checkOnSlowServer = async () => {
      vi.setSystemTime(NOW + 5000 + 1);
      checks.push(
        await t.query(async (ctx) => await limits.checkRateLimit(ctx, { name: "send", key: "a", count: 10 })),
      );
      vi.setSystemTime(NOW + 5000 + SETTLED);
    };
    await checkOnSlowServer();
    await start();
    await finish();
    expect(await keysOf(t, place)).toEqual([]);
    await checkOnSlowServer();
    expect(checks[1]).toEqual(checks[0]);
    expect(checks[0]).toMatchObject({ ok: true });
  });

  it("the rows of a split bucket go together, once all of them are full", async () => {
    const { t, sweepAt } = openSwept(limits);
    const held = async () => (await t.query(async (ctx) => await getRateLimit(ctx, { name: "hot", key: "a" }))).value;
    // The first call leaves four rows, each full after a second. 4 tokens of one row come back in 16 s.
    await use(t, "hot", "a", 1);
    vi.setSystemTime(NOW + 10_000);
    vi.spyOn(Math, "random").mockReturnValue(0.9);
    await use(t, "hot", "a", 4);
    vi.restoreAllMocks();
    const rows = await rowsIn(place, t);
    expect(rows.map(({ ts }) => ts).sort()).toEqual([NOW, NOW, NOW, NOW + 10_000]);
    for (const settled of [NOW + 1000, NOW + 25_999]) {
      await sweepAt(settled + SETTLED);
      expect(await rowsIn(place, t)).toEqual(rows);
      // As of the last write: 60, and the quarter of a token that came back in each row.
      expect(await held()).toBe(60);
    }
    await sweepAt(NOW + 26_000 + SETTLED);
    expect(await rowsIn(place, t)).toEqual([]);
    expect(await held()).toBe(64);
  });

  it("rows of limits that are not defined go by the config that calls gave, and without one they stay", async () => {
    const pro: RateLimitConfig = { ...send, capacity: 100 };
    const inline: RateLimitConfig = { kind: "fixed window", rate: 5, period: 1000 };
    const { t, sweepAt } = openSwept(sending);
    await t.mutation(async (ctx) => {
      await limits.rateLimit(ctx, { name: "hot", key: "of another set" });
      await rateLimit(ctx, { name: "inline", key: "a", config: inline });
      await rateLimit(ctx, { name: "inline", key: "b", config: pro, count: 50 });
      await rateLimit(ctx, { name: "send", key: "free", count: 5 });
      await rateLimit(ctx, { name: "send", key: "pro", count: 50, config: pro });
      await limits.rateLimit(ctx, { name: "window", key: "of another set" });
      await rateLimit(ctx, { name: "zone", key: "a", config: { ...inline, period: "month", timeZone: "Asia/Tokyo" } });
    });
    const left = async (afterMs: number) => {
      await sweepAt(NOW + afterMs + SETTLED);
      const rows = await rowsIn(place, t);
      return [...new Set(rows.map(({ name, key }) => `${name} ${key}`))].filter(
        (each) => !each.endsWith("another set"),
      );
    };
    expect(await left(5000)).toEqual(["inline b", "send pro", "zone a"]);
    expect(await left(50_000)).toEqual(["zone a"]);
    // A month's row stays for one month more.
    expect(await left(63 * DAY)).toEqual([]);
    expect(await rowsIn(place, t)).toHaveLength(5);
  });

  it("rows that make no sense stay, and go on denying", async () => {
    const { t, sweepAt } = openSwept(limits);
    const bad = [
      { value: NaN, ts: NOW },
      { value: 10, ts: -1 },
      { value: 10, ts: NOW, shard: "none" },
    ];
    for (const [i, fields] of bad.entries()) await insertRow(place, t, { name: "send", key: `${i}`, ...fields });
    await sweepAt(NOW + 1e9);
    expect(await keysOf(t, place)).toEqual(["0", "1", "2"]);
    const ask = t.mutation(async (ctx) => await rateLimit(ctx, { name: "send", key: "0" }));
    await expect(ask).rejects.toThrow("nothing is let through");
  });

  it("thousands of rows go in batches of at most 512, each of which schedules the next", async () => {
    const { t, start, finish } = openSwept(sending);
    const rows: StoredRow[] = Array.from({ length: 1300 }, (_, i) => ({
      name: "send",
      key: `user ${i}`,
      value: i % 100 === 0 ? -1e6 : 1,
      ts: NOW,
    }));
    await insertRows(place, t, rows);
    await t.mutation(async (ctx) => await rateLimit(ctx, { name: "send" }));
    vi.setSystemTime(NOW + 20_000 + SETTLED);
    const first = await start();
    expect(first.isDone).toBe(false);
    expect(first.deleted).toBeGreaterThan(500);
    expect(first.deleted).toBeLessThanOrEqual(512);
    expect(await finish()).toBe(2);
    const owing = rows.flatMap(({ key, value }) => (value < 0 ? [key] : []));
    expect((await keysOf(t, place)).sort()).toEqual(owing.sort());
  });

  it("more rows than a bucket can have do not stop the sweep", async () => {
    const { t, start, finish } = openSwept(limits);
    const many = Array.from({ length: 600 }, () => ({ name: "send", key: "a", shard: "none", value: 1, ts: NOW }));
    await insertRows(place, t, [...many, { name: "send", key: "b", value: 1, ts: NOW }]);
    vi.setSystemTime(NOW + 1e6);
    await start();
    expect(await finish()).toBeLessThan(10);
    expect(new Set(await keysOf(t, place))).toEqual(new Set(["a"]));
  });

  it.each([5, true, {}, [], new Date(NOW), () => null, ""])(
    "refuses a next that is no function's reference, #%#, also where one batch would do",
    async (wrong) => {
      const { t } = openSwept(sending);
      await use(t, "send", "a", 1);
      vi.setSystemTime(NOW + 1000 + SETTLED);
      const sweeping = (ctx: MutationCtx) => sending.sweepRateLimits(ctx, { next: wrong as unknown as typeof next });
      const caught = await t.mutation((ctx) => sweeping(ctx).then(() => "nothing", String));
      expect(caught).toContain("next must be a reference to a function of yours, such as internal.upkeep.sweep, got");
      expect(await keysOf(t, place)).toEqual(["a"]);
    },
  );

  it("writes nothing but the rows that it deletes: a row in use is never in its way", async () => {
    const { t, start } = openSwept(sending);
    await use(t, "send", "old", 1);
    vi.setSystemTime(NOW + 1000 + SETTLED);
    await use(t, "send", "hot", 1);
    await t.mutation(async (ctx) => await adjustRateLimit(ctx, { name: "send", key: "hot", count: 2 }));
    const hot = (await rowsIn(place, t)).filter(({ key }) => key === "hot");
    const written = async () =>
      await t.mutation(async (ctx) => {
        const before = (await ctx.meta.getTransactionMetrics()).documentsWritten.used;
        await sending.sweepRateLimits(ctx, { next });
        return (await ctx.meta.getTransactionMetrics()).documentsWritten.used - before;
      });
    expect(await written()).toBe(1);
    expect(await rowsIn(place, t)).toEqual(hot);
    await start();
    expect(await rowsIn(place, t)).toEqual(hot);
  });

  it("is invisible: with it and without it, every answer is the same", async () => {
    const config = fc.record({
      kind: fc.constantFrom("token bucket" as const, "fixed window" as const),
      rate: fc.integer({ min: 1, max: 20 }),
      period: fc.integer({ min: 1, max: 5 }).map((seconds) => seconds * 1000),
      capacity: fc.integer({ min: 0, max: 20 }),
      maxReserved: fc.integer({ min: 20, max: 40 }),
    });
    const step = fc.record({
      key: fc.constantFrom("a", "b"),
      count: fc.integer({ min: 0, max: 20 }),
      reserve: fc.boolean(),
      waitMs: fc.oneof(fc.integer({ min: 0, max: 3000 }), fc.integer({ min: 0, max: 200_000 })),
      sweep: fc.boolean(),
    });
    let deleted = 0;
    await fc.assert(
      fc.asyncProperty(config, fc.array(step, { maxLength: 25 }), async (any, steps) => {
        vi.setSystemTime(NOW);
        const one = defineIn(place, { any: any as RateLimitConfig });
        const [swept, unswept] = [openSwept(one), openBackend()];
        for (const { waitMs, sweep, key, count, reserve } of steps) {
          vi.setSystemTime(Date.now() + waitMs);
          if (sweep) deleted += (await swept.start()).deleted;
          if (!reserve && count > any.capacity) continue;
          const ask = (t: Backend) =>
            t.mutation(async (ctx) => await one.rateLimit(ctx, { name: "any", key, count, reserve }));
          expect(await ask(swept.t)).toEqual(await ask(unswept));
        }
      }),
      { numRuns: runs(300) },
    );
    expect(deleted).toBeGreaterThan(runs(50));
  });

  it("a row that was written under the config of a call is judged by that, too", async () => {
    const { t, start } = openSwept(sending);
    const config = { ...send, capacity: 100 };
    await t.mutation(async (ctx) => await sending.rateLimit(ctx, { name: "send", key: "a", count: 90, config }));
    vi.setSystemTime(NOW + 90_000 + SETTLED - 1);
    expect(await start()).toMatchObject({ deleted: 0 });
    vi.setSystemTime(NOW + 90_000 + SETTLED);
    expect(await start()).toMatchObject({ deleted: 1 });
    await insertRow(place, t, { name: "send", key: "b", value: 10, ts: NOW, plan: { ...send, rate: -1 } });
    expect(await start()).toMatchObject({ deleted: 0 });
  });
});

describe("in the tables", () => {
  it("a cursor that no batch returned is refused", async () => {
    const limits = defineIn("tables", { send: { kind: "token bucket", rate: 1, period: 1000 } });
    await expect(openSwept(limits, { cursor: "send" }).start()).rejects.toThrow(
      "cursor must be one that the page before",
    );
  });

  it("a cursor of a limit that is gone by now goes on with the next", async () => {
    const limits = defineIn("tables", { b: { kind: "token bucket", rate: 1, period: 1000 } });
    const { t, start, finish } = openSwept(limits, { cursor: '["a","key"]' });
    await insertRow("tables", t, { name: "b", key: "a", value: 0, ts: NOW });
    vi.setSystemTime(NOW + 1000 + SETTLED);
    expect(await start()).toEqual({ deleted: 0, isDone: false });
    expect(await finish()).toBe(1);
    expect(await rowsIn("tables", t)).toEqual([]);
    const past = openSwept(limits, { cursor: '["c"]' });
    expect(await past.start()).toEqual({ deleted: 0, isDone: true });
  });
});

describe("in the component", () => {
  const targets = [{ name: "send", configs: [{ kind: "token bucket", rate: 1, period: 1000 } as const] }];

  it("a batch is looked up in the stale snapshot, so that only what it deletes can conflict", async () => {
    const asked: unknown[] = [];
    const ctx = {
      runQuery: (...call: unknown[]) => {
        asked.push(call.slice(1));
        return Promise.resolve({ buckets: [], cursor: null });
      },
    };
    const handler = (componentSweep as unknown as { _handler: (ctx: object, args: object) => Promise<unknown> })
      ._handler;
    expect(await handler(ctx, { targets })).toEqual({ deleted: 0, isDone: true });
    const stale = { useStaleSnapshot: true };
    expect(asked).toEqual([
      [{ targets }, stale],
      [{ targets, cursor: "workers " }, stale],
    ]);
  });

  it("a row that was used or deleted since that look stays as it is", async () => {
    const t = openBackend();
    const found = ["used", "gone", "full"].map((key) => ({ name: "send", key }));
    await insertRow("tables", t, { name: "send", key: "used", value: 0, ts: NOW + SETTLED });
    await insertRow("tables", t, { name: "send", key: "full", value: 0, ts: NOW });
    vi.setSystemTime(NOW + 1000 + SETTLED);
    expect(await t.mutation(async (ctx) => await deleteFull(ctx, targets, found))).toBe(1);
    expect(await keysOf(t, "tables")).toEqual(["used"]);
  });
});

it("the buckets of a batch are those of which rows go", async () => {
  const config = { kind: "token bucket", rate: 1, period: 1000, capacity: 10 } as const;
  const t = openBackend();
  const rows = ["a", "b", "c"].map((key, i) => ({ name: "send", key, value: i === 1 ? 10 : -100, ts: NOW }));
  await insertRows("tables", t, rows);
  vi.setSystemTime(NOW + SETTLED);
  const found = await t.query((ctx) => findFull(ctx, { targets: [{ name: "send", configs: [config] }] }));
  expect(found).toMatchObject({ buckets: [{ name: "send", key: "b" }], cursor: null });
});
