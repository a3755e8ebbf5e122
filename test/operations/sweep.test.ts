import { internalMutationGeneric, makeFunctionReference } from "convex/server";
import { v } from "convex/values";
import fc from "fast-check";
import { DAY, type RateLimitConfig, type RateLimitDefinitions } from "convex-rate-limits";
import { afterEach, describe, expect, it, vi } from "vitest";
import { sweep as componentSweep } from "../../convex/sweep.js";
import { OVERRIDE_SHARD } from "../../src/engine/sharding/interval.js";
import { deleteFull, findFull } from "../../src/operations/sweep.js";
import { capacityOf } from "../laws/capacity.js";
import { NOW, useClock } from "../support/jobs.js";
import { useBackend } from "../support/limits.js";
import { defineIn, type MutationCtx, placeNames, type PlaceName, type StoredRow } from "../support/places.js";
import { runs } from "../support/random.js";

useClock();
afterEach(() => {
  vi.restoreAllMocks();
});

const SETTLED = 60_000;
const next = makeFunctionReference<"mutation", { cursor?: string }>("sweeps:sweep");
const send: RateLimitConfig = { kind: "token bucket", rate: 1, period: 1000, capacity: 10 };
const row = (key: string, more: Partial<StoredRow> = {}): StoredRow => ({
  name: "send",
  key,
  value: 1,
  ts: NOW,
  ...more,
});

/** A backend in which the sweep of the limits that were swept last continues by itself, as an app's does. */
function useSweeps(place: PlaceName) {
  let swept: RateLimitDefinitions = {};
  const sweepIn = (ctx: MutationCtx, cursor?: string) => defineIn(place, swept).sweepRateLimits(ctx, { cursor, next });
  const sweep = internalMutationGeneric({
    args: { cursor: v.optional(v.string()) },
    handler: async (ctx: MutationCtx, { cursor }) => await sweepIn(ctx, cursor),
  });
  const backend = useBackend(place, { "./sweeps.ts": () => Promise.resolve({ sweep }) });
  /** The first batch. */
  const start = (limits: RateLimitDefinitions, cursor?: string) => {
    swept = limits;
    return backend.mutation((ctx) => sweepIn(ctx, cursor));
  };
  /** The number of batches that followed. */
  const finish = async () => {
    let batches = 0;
    for (; vi.getTimerCount() > 0; batches++) {
      vi.advanceTimersByTime(0);
      await backend.backend().finishInProgressScheduledFunctions();
    }
    return batches;
  };
  const sweepAt = async (now: number, limits: RateLimitDefinitions) => {
    vi.setSystemTime(now);
    await start(limits);
    await finish();
  };
  /** The names and keys of the rows, each once. */
  const left = async () => [...new Set((await backend.rows()).map(({ name, key }) => `${name} ${key}`))];
  return { ...backend, start, finish, sweepAt, left };
}

describe.each(placeNames)("in the %s", (place) => {
  const { define, mutation, cost, insert, rows, start, finish, sweepAt, left } = useSweeps(place);
  const all: RateLimitDefinitions = {
    send,
    window: { kind: "fixed window", rate: 10, period: 1000, start: 0 },
    spaced: { ...send, capacity: 0 },
    hot: { kind: "token bucket", rate: 64, period: 64_000, shards: { atLeast: 4, atMost: 4 } },
  };
  const limits = define(all);
  const { rateLimit, checkRateLimit, getRateLimit } = limits;
  const use = (name: string, key: string, count: number) => rateLimit({ name, key, count, reserve: true });

  it.each([{}, all])("there is nothing to do where there are no rows, or no limits: %#", async (none) => {
    expect(await start(none)).toMatchObject({ deleted: 0 });
    await finish();
    expect(await rows()).toEqual([]);
  });

  it("rows that have been full for a minute go, all others stay", async () => {
    await use("send", "a", 3);
    await use("send", "b", 4);
    await use("send", "c", 40);
    await use("window", "a", 3);
    await use("spaced", "a", 2);
    await use("spaced", "b", 4);
    await sweepAt(NOW + 3000 + SETTLED - 1, all);
    expect(await left()).toEqual(["send a", "send b", "send c", "spaced b"]);
    await sweepAt(NOW + 3000 + SETTLED, all);
    expect(await left()).toEqual(["send b", "send c", "spaced b"]);
  });

  it("rows of a limit that is defined elsewhere stay, also beside one that says its config", async () => {
    await define({}).rateLimit({ name: "send", key: "a", config: send });
    await use("send", "b", 1);
    await sweepAt(NOW + DAY, {});
    expect(await left()).toEqual(["send b"]);
  });

  it.each([
    ["was filled by hand", row("a", { value: 10 }), 0],
    ["a clock ahead of ours has written", row("a", { value: 9, ts: NOW + 5000 }), 6000],
  ])("a row that %s goes a minute after it is full by our clock, not before", async (_what, stored, fullMs) => {
    await insert(stored);
    await sweepAt(NOW + fullMs + SETTLED - 1, all);
    expect(await left()).toEqual(["send a"]);
    await sweepAt(NOW + fullMs + SETTLED, all);
    expect(await left()).toEqual([]);
  });

  it("servers whose clocks differ by less than a minute agree with a swept bucket and an unswept one", async () => {
    await use("send", "a", 5);
    const checkOnSlowServer = () => {
      vi.setSystemTime(NOW + 5000 + 1);
      return checkRateLimit({ name: "send", key: "a", count: 10 });
    };
    const before = await checkOnSlowServer();
    await sweepAt(NOW + 5000 + SETTLED, all);
    expect(await left()).toEqual([]);
    expect(await checkOnSlowServer()).toEqual(before);
    expect(before).toMatchObject({ ok: true });
  });

  it("the rows of a split bucket go together, once all of them are full", async () => {
    const hot = { name: "hot", key: "a" };
    // The first call leaves four rows, each full after a second. 4 tokens of one row come back in 16 s.
    await rateLimit(hot);
    vi.setSystemTime(NOW + 10_000);
    vi.spyOn(Math, "random").mockReturnValue(0.9);
    await rateLimit({ ...hot, count: 4 });
    const stored = await rows();
    expect(stored.map(({ ts }) => ts).sort()).toEqual([NOW, NOW, NOW, NOW + 10_000]);
    for (const settled of [NOW + 1000, NOW + 25_999]) {
      await sweepAt(settled + SETTLED, all);
      expect(await rows()).toEqual(stored);
      // As of the last write: 60, and the quarter of a token that came back in each row.
      expect((await getRateLimit(hot)).value).toBe(60);
    }
    await sweepAt(NOW + 26_000 + SETTLED, all);
    expect(await rows()).toEqual([]);
    expect((await getRateLimit(hot)).value).toBe(64);
  });

  it("rows of limits that are not defined go by the config that calls gave, and without one they stay", async () => {
    const pro: RateLimitConfig = { ...send, capacity: 100 };
    const inline: RateLimitConfig = { kind: "fixed window", rate: 5, period: 1000 };
    await rateLimit({ name: "hot", key: "of another set" });
    await rateLimit({ name: "inline", key: "a", config: inline });
    await rateLimit({ name: "inline", key: "b", config: pro, count: 50 });
    await rateLimit({ name: "send", key: "free", count: 5 });
    await rateLimit({ name: "send", key: "pro", count: 50, config: pro });
    await rateLimit({ name: "window", key: "of another set" });
    await rateLimit({ name: "zone", key: "a", config: { ...inline, period: "month", timeZone: "Asia/Tokyo" } });
    const others = ["hot of another set", "window of another set"];
    for (const [afterMs, stay] of [
      [5000, ["inline b", "send pro", "zone a"]],
      [50_000, ["zone a"]],
      // A month's row stays for one month more.
      [40 * DAY, ["zone a"]],
      [63 * DAY, []],
    ] as const) {
      await sweepAt(NOW + afterMs + SETTLED, { send });
      expect((await left()).sort()).toEqual([...others, ...stay].sort());
    }
  });

  it("an override that has ended goes with its bucket's rows, whatever its config would hold", async () => {
    const override = { config: { ...send, capacity: 1000 }, until: NOW + 1 };
    await insert(row("a", { value: 10 }), row("a", { shard: OVERRIDE_SHARD, value: 0, override }));
    await sweepAt(NOW + SETTLED, { send });
    expect(await rows()).toHaveLength(2);
    await sweepAt(NOW + 1 + SETTLED, { send });
    expect(await rows()).toEqual([]);
  });

  it("a row that was written under the config of a call is judged by that, too", async () => {
    const config = { ...send, capacity: 100 };
    await rateLimit({ name: "send", key: "a", count: 90, config });
    await sweepAt(NOW + 90_000 + SETTLED - 1, { send });
    expect(await left()).toEqual(["send a"]);
    await sweepAt(NOW + 90_000 + SETTLED, { send });
    expect(await left()).toEqual([]);
    await insert(row("c", { value: 5, plan: { ...send, rate: 1000 }, ts: NOW + 90_000 }));
    await sweepAt(NOW + 95_000 + SETTLED - 1, { send });
    expect(await left()).toEqual(["send c"]);
    await sweepAt(NOW + 95_000 + SETTLED, { send });
    expect(await left()).toEqual([]);
    await insert(row("b", { value: 10, plan: { ...send, rate: -1 } }));
    await sweepAt(NOW + 90_000 + SETTLED, { send });
    expect(await left()).toEqual(["send b"]);
  });

  it("rows that make no sense stay, and go on denying", async () => {
    await insert(row("0", { value: NaN }), row("1", { ts: -1 }), row("2", { shard: "none" }));
    await sweepAt(NOW + 1e9, all);
    expect(await left()).toEqual(["send 0", "send 1", "send 2"]);
    await expect(rateLimit({ name: "send", key: "0" })).rejects.toThrow("nothing is let through");
  });

  it("thousands of rows go in batches of at most 512, each of which schedules the next", async () => {
    const many = Array.from({ length: 1300 }, (_, i) => row(`user ${i}`, { value: i % 100 === 0 ? -1e6 : 1 }));
    await insert(...many);
    await rateLimit({ name: "send" });
    vi.setSystemTime(NOW + 20_000 + SETTLED);
    const first = await start({ send });
    expect(first.isDone).toBe(false);
    expect(first.deleted).toBeGreaterThan(500);
    expect(first.deleted).toBeLessThanOrEqual(512);
    expect(await finish()).toBe(2);
    const owing = many.flatMap(({ key, value }) => (value < 0 ? [`send ${key}`] : []));
    expect((await left()).sort()).toEqual(owing.sort());
  });

  it("more rows than a bucket can have do not stop the sweep", async () => {
    await insert(...Array.from({ length: 600 }, () => row("a", { shard: "none" })), row("b"));
    vi.setSystemTime(NOW + 1e6);
    await start(all);
    expect(await finish()).toBeLessThan(10);
    expect(await left()).toEqual(["send a"]);
  });

  it.each([5, true, {}, [], new Date(NOW), () => null, ""])(
    "refuses a next that is no function's reference, #%#, also where one batch would do",
    async (wrong) => {
      await use("send", "a", 1);
      vi.setSystemTime(NOW + 1000 + SETTLED);
      const caught = await mutation((ctx) => limits.within(ctx).sweepRateLimits({ next: wrong }).catch(String));
      expect(caught).toContain("next must be a reference to a function of yours, such as internal.upkeep.sweep, got");
      expect(await left()).toEqual(["send a"]);
    },
  );

  it("writes nothing but the rows that it deletes: a row in use is never in its way", async () => {
    await use("send", "old", 1);
    vi.setSystemTime(NOW + 1000 + SETTLED);
    await use("send", "hot", 1);
    const hot = (await rows()).filter(({ key }) => key === "hot");
    const sweep = () => cost(define({ send }), (calls) => calls.sweepRateLimits({ next }));
    expect(await sweep()).toMatchObject({ documentsWritten: 1 });
    expect(await rows()).toEqual(hot);
    expect(await sweep()).toMatchObject({ documentsWritten: 0 });
    expect(await rows()).toEqual(hot);
  });

  it("is invisible: a limit that is swept answers like one that is not", async () => {
    const config = fc.record({
      kind: fc.constantFrom("token bucket", "fixed window"),
      rate: fc.integer({ min: 1, max: 20 }),
      // A row may still fill up in the minute for which a sweep waits, and after it.
      period: fc.integer({ min: 1, max: 60 }).map((seconds) => seconds * 1000),
      capacity: fc.integer({ min: 0, max: 20 }),
      maxReserved: fc.integer({ min: 20, max: 40 }),
    });
    const step = fc.record({
      key: fc.constantFrom("a", "b"),
      count: fc.integer({ min: 0, max: 20 }),
      reserve: fc.boolean(),
      waitMs: fc.oneof(fc.integer({ min: 0, max: 3000 }), fc.integer({ min: 0, max: 1_000_000 })),
      sweeps: fc.boolean(),
    });
    let [world, deleted] = [0, 0];
    await fc.assert(
      fc.asyncProperty(
        config as fc.Arbitrary<RateLimitConfig>,
        fc.array(step, { maxLength: 25 }),
        async (any, steps) => {
          world++;
          const calls = define({ swept: any, kept: any });
          for (const { waitMs, sweeps, key, ...asked } of steps) {
            vi.setSystemTime(Date.now() + waitMs);
            if (sweeps) deleted += (await start({ swept: any })).deleted;
            await finish();
            if (!asked.reserve && asked.count > capacityOf(any)) continue;
            // The key decides when windows start, so both limits have the same ones.
            const ask = (name: string) => calls.rateLimit({ ...asked, name, key: `${key}${world}` });
            expect(await ask("swept")).toEqual(await ask("kept"));
          }
        },
      ),
      { numRuns: runs(300) },
    );
    expect(deleted).toBeGreaterThan(runs(50));
  });
});

describe("in the tables", () => {
  const { insert, start, finish, rows } = useSweeps("tables");
  const b: RateLimitConfig = { kind: "token bucket", rate: 1, period: 1000 };

  it("a cursor that no batch returned is refused", async () => {
    await expect(start({ b }, "send")).rejects.toThrow("cursor must be one that the page before");
  });

  it("a cursor of a limit that is gone by now goes on with the next", async () => {
    await insert(row("a", { name: "b", value: 0 }));
    vi.setSystemTime(NOW + 1000 + SETTLED);
    expect(await start({ b }, '["c"]')).toEqual({ deleted: 0, isDone: true });
    expect(await start({ b }, '["a","key"]')).toEqual({ deleted: 0, isDone: false });
    expect(await finish()).toBe(1);
    expect(await rows()).toEqual([]);
  });
});

describe("in the component", () => {
  // The functions behind it run in the tables here.
  const { mutation, query, insert, left } = useSweeps("tables");
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
    const found = ["used", "gone", "full"].map((key) => ({ name: "send", key }));
    await insert(row("used", { value: 0, ts: NOW + SETTLED }), row("full", { value: 0 }));
    vi.setSystemTime(NOW + 1000 + SETTLED);
    expect(await mutation((ctx) => deleteFull(ctx, targets, found))).toBe(1);
    expect(await left()).toEqual(["send used"]);
  });

  it("the buckets of a batch are those of which rows go", async () => {
    await insert(...["a", "b", "c"].map((key) => row(key, { value: key === "b" ? 10 : -100 })));
    vi.setSystemTime(NOW + SETTLED);
    const found = await query((ctx) => findFull(ctx, { targets }));
    expect(found).toMatchObject({ buckets: [{ name: "send", key: "b" }], cursor: null });
  });
});
