import { internalMutationGeneric, makeFunctionReference } from "convex/server";
import { v } from "convex/values";
import { DAY, type RateLimitConfig, type RateLimitDefinitions } from "convex-rate-limits";
import type { RateLimitOverride } from "convex-rate-limits/admin";
import { describe, expect, it, vi } from "vitest";
import { sweep as componentSweep } from "../../convex/sweep.js";
import { CONTROL_SHARD } from "../../src/engine/sharding/interval.js";
import { hashedStart } from "../../src/engine/kinds/fixedWindow.js";
import { deleteFull, findFull } from "../../src/operations/sweep.js";
import { NOW, useClock } from "../support/clock.js";
import { costOf } from "../support/cost.js";
import { useBackend } from "../support/limits.js";
import { partsOf } from "../support/parts.js";
import { defineIn, type MutationCtx, placeNames, type PlaceName, type StoredRow } from "../support/places.js";

useClock();

const SETTLED = 60_000;
const next = makeFunctionReference<"mutation", { cursor?: string }>("sweeps:sweep");
const send: RateLimitConfig = { kind: "token bucket", rate: 1, period: 1000, capacity: 10 };
const row = (more: Partial<StoredRow> = {}): StoredRow => ({ name: "send", key: "a", value: 1, ts: NOW, ...more });
const ofWindow = { name: "window", bucket: "fixed window 1000" };
const ofSliding = { name: "sliding", bucket: "sliding window 1000" };
const controlled = (control: StoredRow["control"]) => row({ shard: CONTROL_SHARD, value: 0, control });
const paused = controlled({ count: 1, pause: { count: 1, at: NOW, until: NOW + 5000 } });
const wasReset = controlled({ count: 1, reset: { count: 1, at: NOW } });
const overridden = (override: RateLimitOverride) => row({ shard: CONTROL_SHARD, value: 0, override });
const all: RateLimitDefinitions = {
  send,
  window: { kind: "fixed window", rate: 10, period: 1000, start: 0 },
  hashed: { kind: "fixed window", rate: 10, period: 64_000 },
  sliding: { kind: "sliding window", rate: 10, period: 1000 },
  spaced: { ...send, capacity: 0 },
  hot: { kind: "token bucket", rate: 64, period: 64_000, shards: { atLeast: 4, atMost: 4 } },
};
/** The end of the window after the current window of key "a", in ms after NOW. NOW is a multiple of the period. */
const hashedEnd = hashedStart("a", 64_000) + 64_000;
const ample = { ...send, capacity: 100 };

/** Rows that a sweep deletes a minute after `afterMs`, all at once and no sooner, or never. */
const rows: [what: string, afterMs: number, ...stored: StoredRow[]][] = [
  ["a row is deleted when it is full", 9000, row()],
  ["a row that owes is deleted when it is full", 40_000, row({ value: -30 })],
  ["a row that was filled by hand is deleted", 0, row({ value: 10 })],
  ["a row that a clock ahead wrote is deleted when it is full by our clock", 6000, row({ value: 9, ts: NOW + 5000 })],
  ["a row of a limit with capacity 0 is deleted when it owes nothing", 2000, row({ name: "spaced", value: -2 })],
  // The row has the start of its window.
  ["a window's row is deleted after one more window", 2000, row({ ...ofWindow, value: 7 })],
  ["a row whose key chose the window's start is deleted", hashedEnd, row({ name: "hashed", bucket: "fixed window 64000", value: 7 })], // oxfmt-ignore
  [
    "a sliding window's row is deleted a period after its last entry",
    1000,
    row({ ...ofSliding, value: 9, recent: [{ at: NOW, count: 1 }] }),
  ],
  [
    "a row of a kind that no definition has is deleted when its window is over",
    1000,
    row({ ...ofWindow, name: "send", value: 7 }),
  ],
  ["a row of a period that none has is, too", 2 * DAY, row({ name: "send", bucket: "fixed window day", value: 7 })],
  ["a sliding one is, too", 1000, row({ ...ofSliding, name: "send", value: 0, recent: [{ at: NOW, count: 1 }] })],
  ["also if it owes", 1000, row({ ...ofSliding, name: "send", value: -1, recent: [{ at: NOW, count: 11 }] })],
  [
    "a row of a kind that no definition has, and that owes, stays",
    Infinity,
    row({ ...ofWindow, name: "send", value: -1 }),
  ],
  ["a token bucket's row that no definition has stays", Infinity, row({ name: "window", value: 10 })],
  ["a row of a kind that there is not stays", Infinity, row({ name: "send", bucket: "leaky 5", value: 10 })],
  ["a pause is deleted when a bucket that was paused is full", 15_000, paused],
  ["a pause and its bucket are", 15_000, row({ value: 10 }), paused],
  [
    "a bucket that was filled after a pause is deleted when the pause says the same",
    15_000,
    row({ value: 10, ts: NOW + 5001, seen: 1 }),
    paused,
  ],
  ["that of a call's config is, too", 105_000, row({ value: 100, ts: NOW + 5001, seen: 1, plan: ample }), paused],
  ["a reset is deleted", 0, wasReset],
  ["a reset of rows that have not seen it is, with them", 0, row({ value: -50 }), wasReset],
  ["a reset whose row is not full stays with it", 9000, row({ seen: 1 }), wasReset],
  ["a call's row is deleted when it is full by the call's config", 90_000, row({ value: 10, plan: ample })],
  ["a call's row is deleted when full by the definition, too", 5000, row({ value: 5, plan: { ...send, rate: 1000 } })],
  ["an override is deleted when it ends", 1000, overridden({ block: true, until: NOW + 1000 })],
  [
    "an override and its bucket are deleted",
    1000,
    row({ value: 9 }),
    overridden({ unlimited: true, until: NOW + 1000 }),
  ],
  ["a bucket not full under its override stays", Infinity, row(), overridden({ config: { ...send, rate: 1e-6 } })],
  ["an override without an end stays", Infinity, overridden({ unlimited: true })],
  ["a row with an invalid value stays", Infinity, row({ value: NaN })],
  ["a row with an invalid time stays", Infinity, row({ ts: -1 })],
  ["a row with an invalid shard stays", Infinity, row({ shard: "none" })],
  ["a row with an invalid config stays", Infinity, row({ value: 10, plan: { ...send, rate: -1 } })],
];

/** A backend in which a sweep continues by itself, as in an app. It sweeps the limits that `start` was called with last. */
function useSweeps(place: PlaceName) {
  let swept: RateLimitDefinitions = {};
  const sweepIn = (ctx: MutationCtx, cursor?: string) => defineIn(place, swept).sweepRateLimits(ctx, { cursor, next });
  const sweep = internalMutationGeneric({
    args: { cursor: v.optional(v.string()) },
    handler: async (ctx: MutationCtx, { cursor }) => await sweepIn(ctx, cursor),
  });
  const backend = useBackend(place, { "./sweeps.ts": () => Promise.resolve({ sweep }) });
  /** Runs the first batch. */
  const start = (limits: RateLimitDefinitions, cursor?: string) => {
    swept = limits;
    return backend.mutation((ctx) => sweepIn(ctx, cursor));
  };
  /** Runs the batches that follow, and returns their number. */
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
  /** The distinct names and keys of the rows. */
  const left = async () => [...new Set((await backend.rows()).map(({ name, key }) => `${name} ${key}`))];
  return { ...backend, start, finish, sweepAt, left };
}

describe.each(placeNames)("in the %s", (place) => {
  const { define, mutation, insert, rows: stored, start, finish, sweepAt, left } = useSweeps(place);
  const limits = define(all);
  const { rateLimit, getRateLimit, resetRateLimit, pauseRateLimit } = limits;

  it.each([{}, all])("a sweep without rows or without limits does nothing: case %#", async (none) => {
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

  it("a row that is full under its override as well is deleted, and the override stays", async () => {
    const [, override] = await insert(row(), overridden({ config: ample })).then(stored);
    await sweepAt(NOW + 98_999 + SETTLED, all);
    expect(await stored()).toHaveLength(2);
    await sweepAt(NOW + 99_000 + SETTLED, all);
    expect(await stored()).toEqual([override]);
  });

  it("the buckets of two kinds at a key are deleted each when it is full", async () => {
    const [bucket] = await insert(row(), row({ ...ofWindow, name: "send", value: 7 })).then(stored);
    await sweepAt(NOW + 1000 + SETTLED, all);
    expect(await stored()).toEqual([bucket]);
    await sweepAt(NOW + 9000 + SETTLED, all);
    expect(await stored()).toEqual([]);
  });

  it("the rows of a split bucket are deleted together, once all are full", async () => {
    const hot = { name: "hot", key: "a" };
    // The first call leaves four rows, each full after 1,000 ms. 4 tokens of one row come back in 16,000 ms.
    await rateLimit(hot);
    vi.setSystemTime(NOW + 10_000);
    vi.spyOn(Math, "random").mockReturnValue(0.9);
    await rateLimit({ ...hot, count: 4 });
    const before = await stored();
    expect(before.map(({ ts }) => ts).sort()).toEqual([NOW, NOW, NOW, NOW + 10_000]);
    for (const settled of [NOW + 1000, NOW + 25_999]) {
      await sweepAt(settled + SETTLED, all);
      expect(await stored()).toEqual(before);
      // The value at the last write: 60 tokens are left, since a quarter of a token had come back in each row.
      expect((await getRateLimit(hot)).value).toBe(60);
    }
    await sweepAt(NOW + 26_000 + SETTLED, all);
    expect(await stored()).toEqual([]);
    expect((await getRateLimit(hot)).value).toBe(64);
  });

  it("rows of limits that are not defined are deleted by their calls' config, and stay without one", async () => {
    const window: RateLimitConfig = { kind: "fixed window", rate: 5, period: 1000 };
    await rateLimit({ name: "hot", key: "of another set" });
    await rateLimit({ name: "inline", key: "a", config: window });
    await rateLimit({ name: "inline", key: "b", config: ample, count: 50 });
    await insert(row({ name: "inline", key: "c" }));
    await rateLimit({ name: "zone", key: "a", config: { ...window, period: "month", timeZone: "Asia/Tokyo" } });
    const others = ["hot of another set", "inline c"];
    // A month's row stays for one month more, which may have 31 days.
    for (const [afterMs, ...stay] of [[5000, "inline b", "zone a"], [48 * DAY, "zone a"], [78 * DAY]] as const) {
      await sweepAt(NOW + afterMs + SETTLED, { send });
      expect((await left()).sort()).toEqual([...others, ...stay].sort());
    }
  });

  it("those of calls without a key are, too, and those of keys that were reset or paused", async () => {
    const config: RateLimitConfig = { kind: "sliding window", rate: 5, period: 1000 };
    for (const name of ["inline 1", "inline 2"]) await rateLimit({ name, config });
    for (const key of ["a", "b"]) await rateLimit({ name: "reset", key, config });
    await resetRateLimit({ name: "reset", key: "a", config });
    await pauseRateLimit({ name: "reset", key: "b", config, until: NOW + 1 });
    await sweepAt(NOW + 1001 + SETTLED, { send });
    expect(await stored()).toEqual([]);
  });

  it("rows of more than two batches are deleted in batches of at most 512, and each batch schedules the next", async () => {
    const many = Array.from({ length: 1050 }, (_, i) => row({ key: `user ${i}`, value: i % 100 === 0 ? -1e6 : 1 }));
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

  const noReferences = [5, true, {}, [], new Date(NOW), () => null, ""];
  it.each(noReferences)("a next that is no reference is refused, even if one batch is enough: %#", async (wrong) => {
    await insert(row());
    vi.setSystemTime(NOW + 9000 + SETTLED);
    const caught = await mutation((ctx) => limits.within(ctx).sweepRateLimits({ next: wrong }).catch(String));
    expect(caught).toContain("next must be a reference to a function of yours, such as internal.upkeep.sweep, got");
    expect(await left()).toEqual(["send a"]);
  });
});

describe("in the tables", () => {
  const { define, insert, start, finish, left } = useSweeps("tables");

  it("a cursor that no batch returned is refused", async () => {
    await expect(start({ send }, "send")).rejects.toThrow("cursor must be one that the page before");
    await expect(start({ send }, 5 as never)).rejects.toThrow(
      "cursor must be one that the batch before passed on, got 5",
    );
  });

  it("a sweep needs next, even if one batch is enough", async () => {
    await expect(define({ send }).sweepRateLimits({})).rejects.toThrow("sweepRateLimits needs next");
  });

  it("a sweep passes 1,000 names of other limits in a batch, and goes on from the last", async () => {
    const others = Array.from({ length: 1000 }, (_, i) => row({ name: `other ${1000 + i}` }));
    // Not even the rows of the last are read.
    const ofLast = Array.from({ length: 600 }, (_, i) => row({ name: "other 1999", key: `user ${i}` }));
    await insert(...others, ...ofLast, row());
    vi.setSystemTime(NOW + 9000 + SETTLED);
    expect(await start({ send })).toEqual({ deleted: 0, isDone: false });
    expect(await finish()).toBe(1);
    expect(await left()).not.toContain("send a");
  });

  it("a cursor of a removed limit continues with the next limit", async () => {
    // Rows of another set of limits are not read.
    await insert(row(), row({ name: "u" }));
    vi.setSystemTime(NOW + 9000 + SETTLED);
    expect(await start({ send }, '["t"]')).toEqual({ deleted: 0, isDone: true });
    expect(await start({ send }, '["a","key"]')).toEqual({ deleted: 0, isDone: false });
    expect(await finish()).toBe(1);
    expect(await left()).toEqual(["u a"]);
  });
});

describe("in the component", () => {
  describe("beside a limit that a deploy has made uncountable, which its first call refuses", () => {
    const { define, insert, start, finish, left } = useSweeps("component");
    const uncountable = { kind: "fixed window", rate: 1 / 3, period: 1000, capacity: 1e12 } as const;

    it("the rows of the others are deleted, and its own stay", async () => {
      const own = { name: "broken", value: 1e12 };
      await insert(row(), row({ ...own, bucket: "fixed window 1000" }), row({ ...own, plan: ample, key: "of a call" }));
      vi.setSystemTime(NOW + 1e6);
      const limits = { broken: uncountable, send };
      await expect(define(limits).rateLimit({ name: "broken", key: "a" })).rejects.toThrow("too many decimals");
      const small = { kind: "token bucket", rate: 1, period: 1000 } as const;
      for (const broken of [uncountable, { plans: { small, huge: uncountable } }]) {
        const swept: RateLimitDefinitions = { broken, send };
        await start(swept);
        await finish();
        expect(await left()).toEqual(["broken a", "broken of a call"]);
        await insert(row());
      }
    });
  });

  // The component's functions run in the tables here.
  const { mutation, query, insert, left } = useSweeps("tables");
  const targets = [{ name: "send", configs: [send] }];

  it("a batch reads a stale snapshot, so only the rows that it deletes can conflict", async () => {
    const asked: unknown[] = [];
    const ctx = {
      runQuery: (...call: unknown[]) => {
        asked.push(call.slice(1));
        return Promise.resolve({ buckets: [], cursor: null });
      },
    };
    type Registered = { _handler: (ctx: object, args: object) => Promise<unknown> };
    const { _handler: handler } = componentSweep as unknown as Registered;
    expect(await handler(ctx, { targets })).toEqual({ deleted: 0, isDone: true });
    const calls = [{ targets }, { queues: [], cursor: "workers " }].map((args) => [args, { useStaleSnapshot: true }]);
    expect(asked).toEqual(calls);
  });

  it("a row that was used or deleted since that read does not change", async () => {
    const found = ["used", "gone", "full"].map((key) => ({ name: "send", key }));
    await insert(row({ key: "used", ts: NOW + SETTLED }), row({ key: "full" }));
    vi.setSystemTime(NOW + 9000 + SETTLED);
    expect(await mutation((ctx) => deleteFull(ctx, targets, found))).toBe(1);
    expect(await left()).toEqual(["send used"]);
  });

  it("a batch reads one row of a split bucket in use: it would conflict with the calls on all others", async () => {
    const hot = partsOf(2).map((shard) => row({ name: "hot", shard, ts: NOW + 1 }));
    await insert(...hot, ...["b", "c"].map((key) => row({ name: "hot", key, value: 64 })));
    vi.setSystemTime(NOW + SETTLED);
    const hots = [{ name: "hot", configs: [all["hot"] as RateLimitConfig] }];
    const cost = await query((ctx) =>
      costOf(ctx, async (counted) => {
        const { buckets, cursor } = await findFull(counted, { targets: hots, cursor: '["hot"]' });
        expect([buckets.map(({ key }) => key), cursor]).toEqual([["b", "c"], null]);
      }),
    );
    expect(cost).toMatchObject({ documentsRead: 3 });
  });

  it("a batch has the buckets that are full under every config of their name", async () => {
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
