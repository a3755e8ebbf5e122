import { internalMutationGeneric, makeFunctionReference } from "convex/server";
import { v } from "convex/values";
import { DAY, type RateLimitConfig, type RateLimitDefinitions } from "convex-rate-limits";
import type { RateLimitOverride } from "convex-rate-limits/admin";
import { describe, expect, it, vi } from "vitest";
import { sweep as componentSweep } from "../../convex/sweep.js";
import { OVERRIDE_SHARD } from "../../src/engine/sharding/interval.js";
import { hashedStart } from "../../src/engine/phase.js";
import { deleteFull, findFull } from "../../src/operations/sweep.js";
import { NOW, useClock } from "../support/clock.js";
import { useBackend } from "../support/limits.js";
import { defineIn, type MutationCtx, placeNames, type PlaceName, type StoredRow } from "../support/places.js";

useClock();

const SETTLED = 60_000;
const next = makeFunctionReference<"mutation", { cursor?: string }>("sweeps:sweep");
const send: RateLimitConfig = { kind: "token bucket", rate: 1, period: 1000, capacity: 10 };
const row = (more: Partial<StoredRow> = {}): StoredRow => ({ name: "send", key: "a", value: 1, ts: NOW, ...more });
const overridden = (override: RateLimitOverride) => row({ shard: OVERRIDE_SHARD, value: 0, override });
const all: RateLimitDefinitions = {
  send,
  window: { kind: "fixed window", rate: 10, period: 1000, start: 0 },
  hashed: { kind: "fixed window", rate: 10, period: 64_000 },
  spaced: { ...send, capacity: 0 },
  hot: { kind: "token bucket", rate: 64, period: 64_000, shards: { atLeast: 4, atMost: 4 } },
};
/** The end of the window that key "a" is in, and one window more. NOW is a multiple of the period. */
const hashedEnd = hashedStart("a", 64_000) + 64_000;
const ample = { ...send, capacity: 100 };

/** Rows that go a minute after this many ms, all at once and no sooner; or never. */
const rows: [what: string, afterMs: number, ...stored: StoredRow[]][] = [
  ["a row goes when it is full", 9000, row()],
  ["also one that owes", 40_000, row({ value: -30 })],
  ["also one that was filled by hand", 0, row({ value: 10 })],
  ["one that a clock ahead has written, when it is full by ours", 6000, row({ value: 9, ts: NOW + 5000 })],
  ["one of a limit without capacity, when it owes nothing", 2000, row({ name: "spaced", value: -2 })],
  // It says when its windows began.
  ["one of a window, after one window more", 2000, row({ name: "window", value: 7 })],
  ["one of a window of the key's own", hashedEnd, row({ name: "hashed", value: 7 })],
  ["one of the config of a call, when it is full by that", 90_000, row({ value: 10, plan: ample })],
  ["and by the definition's", 5000, row({ value: 5, plan: { ...send, rate: 1000 } })],
  ["an override goes when it ends", 1000, overridden({ block: true, until: NOW + 1000 })],
  ["a bucket's rows go with it", 1, row({ value: 10 }), overridden({ config: ample, until: NOW + 1 })],
  [
    "a bucket that is not full under its override stays",
    Infinity,
    row(),
    overridden({ config: { ...send, rate: 1e-6 } }),
  ],
  ["an override without an end stays", Infinity, overridden({ unlimited: true })],
  ["a value that is none stays", Infinity, row({ value: NaN })],
  ["a time that is none stays", Infinity, row({ ts: -1 })],
  ["a part that is none stays", Infinity, row({ shard: "none" })],
  ["a config that cannot be used stays", Infinity, row({ value: 10, plan: { ...send, rate: -1 } })],
];

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
  const { define, mutation, insert, rows: stored, start, finish, sweepAt, left } = useSweeps(place);
  const limits = define(all);
  const { rateLimit, getRateLimit } = limits;

  it.each([{}, all])("there is nothing to do where there are no rows, or no limits: %#", async (none) => {
    expect(await start(none)).toMatchObject({ deleted: 0 });
    await finish();
    expect(await stored()).toEqual([]);
  });

  it.each(rows)("%s: a minute after %d ms", async (_what, afterMs, ...inserted) => {
    await insert(...inserted);
    const before = await stored();
    await sweepAt(NOW + Math.min(1e9, afterMs + SETTLED - 1), all);
    expect(await stored()).toEqual(before);
    await sweepAt(NOW + Math.min(1e9, afterMs + SETTLED), all);
    expect(await stored()).toEqual(afterMs === Infinity ? before : []);
  });

  it("the rows of a split bucket go together, once all of them are full", async () => {
    const hot = { name: "hot", key: "a" };
    // The first call leaves four rows, each full after a second. 4 tokens of one row come back in 16 s.
    await rateLimit(hot);
    vi.setSystemTime(NOW + 10_000);
    vi.spyOn(Math, "random").mockReturnValue(0.9);
    await rateLimit({ ...hot, count: 4 });
    const before = await stored();
    expect(before.map(({ ts }) => ts).sort()).toEqual([NOW, NOW, NOW, NOW + 10_000]);
    for (const settled of [NOW + 1000, NOW + 25_999]) {
      await sweepAt(settled + SETTLED, all);
      expect(await stored()).toEqual(before);
      // As of the last write: 60, and the quarter of a token that came back in each row.
      expect((await getRateLimit(hot)).value).toBe(60);
    }
    await sweepAt(NOW + 26_000 + SETTLED, all);
    expect(await stored()).toEqual([]);
    expect((await getRateLimit(hot)).value).toBe(64);
  });

  it("rows of limits that are not defined go by the config that calls gave, and without one they stay", async () => {
    const window: RateLimitConfig = { kind: "fixed window", rate: 5, period: 1000 };
    await rateLimit({ name: "hot", key: "of another set" });
    await rateLimit({ name: "inline", key: "a", config: window });
    await rateLimit({ name: "inline", key: "b", config: ample, count: 50 });
    await insert(row({ name: "inline", key: "c" }));
    await rateLimit({ name: "zone", key: "a", config: { ...window, period: "month", timeZone: "Asia/Tokyo" } });
    const others = ["hot of another set", "inline c"];
    // A month's row stays for one month more.
    for (const [afterMs, ...stay] of [[5000, "inline b", "zone a"], [40 * DAY, "zone a"], [63 * DAY]] as const) {
      await sweepAt(NOW + afterMs + SETTLED, { send });
      expect((await left()).sort()).toEqual([...others, ...stay].sort());
    }
  });

  it("thousands of rows go in batches of at most 512, each of which schedules the next", async () => {
    const many = Array.from({ length: 1300 }, (_, i) => row({ key: `user ${i}`, value: i % 100 === 0 ? -1e6 : 1 }));
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

  it.each([5, true, {}, [], new Date(NOW), () => null, ""])(
    "refuses a next that is no function's reference, #%#, also where one batch would do",
    async (wrong) => {
      await insert(row());
      vi.setSystemTime(NOW + 9000 + SETTLED);
      const caught = await mutation((ctx) => limits.within(ctx).sweepRateLimits({ next: wrong }).catch(String));
      expect(caught).toContain("next must be a reference to a function of yours, such as internal.upkeep.sweep, got");
      expect(await left()).toEqual(["send a"]);
    },
  );
});

describe("in the tables", () => {
  const { insert, start, finish, left } = useSweeps("tables");

  it("a cursor that no batch returned is refused", async () => {
    await expect(start({ send }, "send")).rejects.toThrow("cursor must be one that the page before");
  });

  it("a cursor of a limit that is gone by now goes on with the next", async () => {
    // Rows of another set of limits are not looked at.
    await insert(row(), row({ name: "u" }));
    vi.setSystemTime(NOW + 9000 + SETTLED);
    expect(await start({ send }, '["t"]')).toEqual({ deleted: 0, isDone: true });
    expect(await start({ send }, '["a","key"]')).toEqual({ deleted: 0, isDone: false });
    expect(await finish()).toBe(1);
    expect(await left()).toEqual(["u a"]);
  });
});

describe("in the component", () => {
  // The functions behind it run in the tables here.
  const { mutation, query, insert, left } = useSweeps("tables");
  const targets = [{ name: "send", configs: [send] }];

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
    await insert(row({ key: "used", ts: NOW + SETTLED }), row({ key: "full" }));
    vi.setSystemTime(NOW + 9000 + SETTLED);
    expect(await mutation((ctx) => deleteFull(ctx, targets, found))).toBe(1);
    expect(await left()).toEqual(["send used"]);
  });

  it("the buckets of a batch are those that are full under each config that a name is given with", async () => {
    await insert(...Object.entries({ a: -100, b: 10, c: 9 }).map(([key, value]) => row({ key, value })));
    vi.setSystemTime(NOW + SETTLED);
    const find = (...given: RateLimitConfig[][]) =>
      query((ctx) => findFull(ctx, { targets: given.map((configs) => ({ name: "send", configs })) }));
    const own = await find([send]);
    expect(own).toMatchObject({ buckets: [{ name: "send", key: "b" }], cursor: null });
    const small = { ...send, capacity: 9 };
    expect((await find([small])).buckets.map(({ key }) => key)).toEqual(["b", "c"]);
    for (const given of [[[send, small]], [[small, send]], [[send], [small]], [[small], [send]]]) {
      expect(await find(...given)).toEqual(own);
    }
  });
});
