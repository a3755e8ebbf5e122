/** Overrides: one key's limit, changed at run time, in both places. */
import { isRateLimitError, projectRateLimit, type RateLimitConfig, type RateLimitStatus } from "convex-rate-limits";
import { internalMutationGeneric, makeFunctionReference } from "convex/server";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { clearOverride, setOverride } from "../../src/operations/override.js";
import { OVERRIDE_SHARD } from "../../src/engine/sharding/interval.js";
import {
  type Backend,
  defineIn,
  insertRow,
  type MutationCtx,
  openBackend,
  placeNames,
  rowsIn,
} from "../support/places.js";
import { costOf } from "../support/cost.js";

const NOW = 1_700_000_000_000;
const END_OF_TIME = 8.64e15;
const MINUTE = 60_000;
const bucket: RateLimitConfig = { kind: "token bucket", rate: 2, period: 1000, capacity: 4 };
const large: RateLimitConfig = { kind: "token bucket", rate: 20, period: 1000, capacity: 40 };
const small: RateLimitConfig = { ...bucket, capacity: 2 };
const slow: RateLimitConfig = { kind: "token bucket", rate: 1, period: 2000, capacity: 4, maxReserved: 10 };
const nearlyShut: RateLimitConfig = { ...bucket, rate: 0.001 };
const next = makeFunctionReference<"mutation", { cursor?: string }>("sweeps:sweep");

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const job = internalMutationGeneric({ args: {}, handler: () => Promise.resolve(null) });

/** A bucket as it is when it is asked. */
interface Standing {
  /** "api" if left out, at the key of alice. */
  name?: string;
  /** What was taken before the override was set, and after. */
  before?: number;
  after?: number;
  terms: object;
}
/** What a bucket answers `at` ms after the override was set. A string is the error's. */
type Row = [at: number, request: object, answer: object | string];

const ending = (ms: number) => ({ until: NOW + ms });
const served = (more: object = {}) => ({ ok: true, ...more });
const denied = (ms: number, more: Partial<RateLimitStatus> = {}) => ({ ok: false, retryAt: NOW + ms, ...more });
const blocked = (ms: number, more: Partial<RateLimitStatus> = {}) => denied(ms, { reason: "blocked", ...more });
/** Lets through, and says what it would deny. */
const shadowing = (shadow: { resetAt?: number | undefined }) =>
  served({ remaining: 0, resetAt: shadow.resetAt, shadow });
const forEver = { ok: false, retryAt: END_OF_TIME };
const never = (what: string, most: number) =>
  `Rate limit "api": ${what} can never be served: it can hold at most ${most}`;

const standings: [what: string, standing: Standing, ...rows: Row[]][] = [
  [
    "a larger config",
    { terms: { config: large } },
    [0, { count: 30 }, served({ remaining: 10, resetAt: NOW + 1500 })],
    [0, { count: 100, atLeast: 10 }, served({ taken: 40, remaining: 0 })],
  ],
  [
    "a config that serves before it ends",
    { after: 4, terms: { config: { ...bucket, rate: 4 }, ...ending(MINUTE) } },
    [0, {}, denied(250, { remaining: 0, resetAt: NOW + 1000 })],
  ],
  [
    "a config whose very end gives what is not there by the one that holds then",
    { before: 4, terms: { config: { ...bucket, rate: 4 }, ...ending(1000) } },
    [0, { count: 4 }, denied(2000)],
    [0, { count: 5, reserve: true }, served({ retryAt: NOW + 1250 })],
  ],
  [
    "a config that gives nothing before its end",
    { before: 4, terms: { config: nearlyShut, ...ending(5000) } },
    [0, {}, denied(5000)],
    [4999, {}, denied(5000)],
    [5000, {}, served()],
  ],
  [
    "a config that alone could serve",
    { after: 40, terms: { config: large, ...ending(1000) } },
    [0, { count: 19 }, denied(950)],
    [0, { count: 30 }, forEver],
    [0, { count: 30, reserve: { within: 500 } }, forEver],
  ],
  [
    "a bucket whose own sliding window can never hold the reservation",
    { name: "slide", after: 4, terms: { config: { ...nearlyShut, maxReserved: 2 }, ...ending(1000) } },
    [0, { count: 6, reserve: true }, forEver],
    [1000, { count: 6, reserve: true }, "can never be served"],
  ],
  [
    "a smaller config",
    { terms: { config: small } },
    [0, { count: 3 }, forEver],
    [0, { count: 5 }, never("count 5", 2)],
  ],
  [
    "a smaller config that ends",
    { terms: { config: small, ...ending(MINUTE) } },
    [0, { count: 3 }, denied(MINUTE, { remaining: 2, resetAt: NOW })],
    [0, { count: 9, atLeast: 3 }, denied(MINUTE, { remaining: 2, resetAt: NOW })],
    [0, { count: 9, atLeast: 2 }, served({ taken: 2 })],
    [0, { count: 9, atLeast: 5 }, never("atLeast 5", 2)],
    [MINUTE, { count: 9, atLeast: 5 }, never("atLeast 5", 4)],
  ],
  [
    "a smaller config on several rows",
    { name: "wide", before: 1, terms: { config: { ...large, capacity: 20 } } },
    [0, { count: 30 }, { ...forEver, remaining: 20, resetAt: NOW }],
  ],
  [
    "another kind of limit",
    { after: 3, terms: { config: { kind: "sliding window", rate: 3, period: 1000 } } },
    [0, { reserve: true }, served({ retryAt: NOW + 1000 })],
  ],
  [
    "a config that ends before what is asked would start",
    { name: "slow", after: 4, terms: { config: { ...slow, period: 1000 }, ...ending(4000) } },
    [0, { count: 4 }, denied(8000)],
    [0, { count: 4, reserve: true }, served({ retryAt: NOW + 4000 })],
    [0, { count: 5, reserve: true }, served({ retryAt: NOW + 5000 })],
  ],
  [
    "a block",
    { terms: { block: true, ...ending(MINUTE) } },
    [0, {}, blocked(MINUTE, { remaining: 0 })],
    [0, { count: 0 }, blocked(MINUTE, { remaining: 0 })],
    [0, { reserve: true }, blocked(MINUTE, { remaining: 0 })],
    [MINUTE, {}, served({ remaining: 3, resetAt: NOW + MINUTE + 500 })],
  ],
  [
    "a block without an end",
    { terms: { block: true } },
    [0, {}, { ...forEver, remaining: 0, resetAt: END_OF_TIME, reason: "blocked" }],
  ],
  ["a block of the bucket without a key", { name: "all", terms: { block: true } }, [0, {}, forEver]],
  [
    "a block that ends before the bucket's debt",
    { before: 14, terms: { block: true, ...ending(1000) } },
    [0, {}, blocked(5500)],
    [5499, {}, denied(5500)],
    [5500, {}, served()],
  ],
  [
    "a block that ends before there is enough",
    { before: 4, terms: { block: true, ...ending(1) } },
    [0, { count: 4, atLeast: 2 }, blocked(1000)],
  ],
  [
    "unlimited",
    { terms: { unlimited: true } },
    [0, { count: 3, atLeast: 1 }, served({ taken: 3, remaining: 1 })],
    [0, { count: 1e300, atLeast: 1 }, served({ taken: 1e12 })],
    [0, { count: NaN }, "count must be a finite number"],
    [0, { count: 2e12 }, "can never be served"],
  ],
  [
    "unlimited, for a time, and taken more than there is",
    { after: 3, terms: { unlimited: true, ...ending(1000) } },
    [0, { count: 5 }, served({ remaining: 0, resetAt: NOW + 4000 })],
    [0, { count: 6, atLeast: 5 }, served({ taken: 6, remaining: 0, resetAt: NOW + 4500 })],
  ],
  [
    "unlimited, for a time, and in debt",
    { after: 10, terms: { unlimited: true, ...ending(1000) } },
    [0, { reserve: true }, served({ remaining: 0, resetAt: NOW + 5500 })],
    [1000, {}, denied(3500)],
  ],
  [
    "a block of a limit in shadow",
    { name: "tried", terms: { block: true, ...ending(MINUTE) } },
    [0, {}, shadowing(blocked(MINUTE, { remaining: 0, resetAt: NOW + MINUTE }))],
  ],
  [
    "another config of a limit in shadow",
    { name: "tried", after: 1, terms: { config: { ...bucket, capacity: 1 } } },
    [0, {}, shadowing(denied(500, { remaining: 0, resetAt: NOW + 500 }))],
  ],
];

describe.each(placeNames)("in the %s", (place) => {
  const shards = { atLeast: 4, atMost: 4 };
  const limits = defineIn(place, {
    api: { ...bucket, keyed: true, overrides: true },
    all: { ...bucket, overrides: true },
    slow: { ...slow, overrides: true },
    wide: { ...large, capacity: 64, shards, overrides: true },
    fast: { ...large, rate: 200, capacity: 64, shards, overrides: true },
    rapid: { ...large, rate: 64, period: 10, capacity: 64, shards, overrides: true },
    slide: { kind: "sliding window", rate: 1, period: 1000, maxReserved: 0, overrides: true },
    plain: bucket,
    tried: { ...bucket, mode: "shadow", overrides: true },
  });
  const asPlain = defineIn(place, { api: bucket });
  const alice = { name: "api", key: "alice" };
  let t: Backend;
  beforeEach(() => {
    t = openBackend({ "./jobs.ts": () => Promise.resolve({ run: job }) });
  });
  const run = <T>(call: (ctx: MutationCtx) => Promise<T>): Promise<T> => t.mutation(async (ctx) => await call(ctx));
  const take = (count = 1) => run((ctx) => limits.rateLimit(ctx, { ...alice, count }));
  const check = (count = 1) => run((ctx) => limits.checkRateLimit(ctx, { ...alice, count }));
  const override = (terms: object, id: { name: string; key?: string } = alice) =>
    run((ctx) => limits.overrideRateLimit(ctx, { ...id, ...terms } as never));
  const clear = () => run((ctx) => limits.clearRateLimitOverride(ctx, alice));
  const list = (options: object = {}) => run((ctx) => limits.listRateLimits(ctx, { name: "api", ...options }));

  const get = (id: { name: string; key?: string } = alice) => t.query((ctx) => limits.getRateLimit(ctx, id));
  const pause = (id: { name: string; key?: string }, until: number) =>
    run((ctx) => limits.pauseRateLimit(ctx, { ...id, until }));

  /** A call, a check and a projection answer alike, and only a call that is served writes. */
  const cases = standings.flatMap(([what, standing, ...rows]) =>
    rows.map(([at, request, answer]) => ({ what, at, request, answer, ...standing })),
  );
  it.each(cases)("$what: after $at ms $request is answered by $answer", async (given) => {
    const { name = "api", before = 0, after = 0, terms, at, request, answer } = given;
    const id = name === "api" ? alice : { name };
    const asked = { ...id, ...request };
    await run((ctx) => limits.adjustRateLimit(ctx, { ...id, count: before }));
    await override(terms, id);
    await run((ctx) => limits.adjustRateLimit(ctx, { ...id, count: after }));
    const snapshot = await get(id);
    vi.setSystemTime(NOW + at);
    const rows = await rowsIn(place, t);
    const checked = run((ctx) => limits.checkRateLimit(ctx, asked));
    const called = run((ctx) => limits.rateLimit(ctx, asked));
    if (typeof answer === "string") {
      await expect(checked).rejects.toThrow(answer);
      await expect(called).rejects.toThrow(answer);
    } else {
      expect(await checked).toMatchObject(answer);
      expect(await called).toEqual(await checked);
      if (!("atLeast" in request) && !("reserve" in request && typeof request.reserve === "object")) {
        const projected = projectRateLimit(snapshot, { now: NOW + at, ...request });
        expect(projected).toEqual({ ...(await checked), shadow: undefined });
      }
    }
    if (typeof answer === "string" || !("ok" in answer && answer.ok)) expect(await rowsIn(place, t)).toEqual(rows);
  });

  it("a snapshot holds an override that has ended, and projects the limit's own config then: it does not depend on the clock", async () => {
    await take();
    await override({ block: true, ...ending(1000), note: "private" });
    const before = await get();
    vi.setSystemTime(NOW + 2000);
    expect(await get()).toEqual(before);
    expect(before.override).toEqual({ until: NOW + 1000, reason: "blocked" });
    expect(projectRateLimit(before, { now: NOW })).toMatchObject({ ok: false, retryAt: NOW + 1000 });
    expect(projectRateLimit(before, { now: NOW + 2000 })).toMatchObject({ ok: true });
    expect(() => projectRateLimit(before, { now: NOW + 1000, count: 9 })).toThrow("count must be from 0 to 4");
  });

  it("a row in its place that is none stays: clearing removes no damage, and setting one does not hide it", async () => {
    await insertRow(place, t, { ...alice, shard: OVERRIDE_SHARD, value: 4, ts: NOW });
    const before = await rowsIn(place, t);
    await clear();
    expect(await rowsIn(place, t)).toEqual(before);
    await override({ config: large });
    expect(await rowsIn(place, t)).toHaveLength(2);
    await expect(take()).rejects.toThrow("so nothing is let through");
  });

  it("a pause is of the bucket as it is under its override, and of one without", async () => {
    const end = NOW + 5000;
    const servedAt = async (id: { name: string }) => (await run((ctx) => limits.checkRateLimit(ctx, id))).retryAt;
    await override({ config: large });
    for (const [id, wait] of [
      [alice, 50],
      [{ name: "all" }, 500],
      [{ name: "wide" }, 50],
    ] as const) {
      await pause(id, end);
      expect(await servedAt(id)).toBe(end + wait);
    }
    await override({ block: true }, { name: "all" });
    await pause({ name: "all" }, end + 1000);
    await run((ctx) => limits.clearRateLimitOverride(ctx, { name: "all" }));
    expect(await servedAt({ name: "all" })).toBe(end + 1500);
  });

  it("an override of one key is none of another", async () => {
    await override({ config: large });
    const other = run((ctx) => limits.rateLimit(ctx, { name: "api", key: "bob", count: 30 }));
    await expect(other).rejects.toThrow("can never be served");
  });

  it("a call for as much as there is reads all of several rows, so it is served before one that reads two", async () => {
    const four = { name: "fast", count: 4 };
    const call = (more: object) => run((ctx) => limits.rateLimit(ctx, { ...four, ...more }));
    for (let i = 0; i < 16; i++) await call({ atLeast: 4 });
    await override({ block: true, ...ending(20) }, { name: "fast" });
    expect(await call({ atLeast: 4 })).toMatchObject({ ok: false, retryAt: NOW + 20 });
    expect(await call({})).toMatchObject({ ok: false, retryAt: NOW + 40 });
  });

  it("a block of a limit in shadow denies none of several limits", async () => {
    await override({ block: true, ...ending(MINUTE) }, { name: "tried" });
    const all = await run((ctx) => limits.rateLimitAll(ctx, [{ name: "tried" }, { name: "plain" }]));
    const statuses = [
      { ok: true, shadow: blocked(MINUTE) },
      { ok: true, remaining: 3 },
    ];
    expect(all).toMatchObject({ ok: true, statuses });
  });

  it("a block without an end denies whatever the rows hold", async () => {
    await override({ block: true });
    await insertRow(place, t, { ...alice, value: NaN, ts: NOW });
    expect(await take()).toMatchObject({ ...forEver, reason: "blocked" });
  });

  it("a block is thrown with its reason, and stops all of several limits", async () => {
    await override({ block: true, ...ending(MINUTE) });
    const requests = [{ name: "plain" }, alice];
    const calls: ((ctx: MutationCtx) => Promise<unknown>)[] = [
      (ctx) => limits.rateLimit(ctx, { ...alice, throws: true }),
      (ctx) => limits.rateLimitAll(ctx, requests, { throws: true }),
    ];
    for (const call of calls) {
      const error: unknown = await run(call).catch((thrown: unknown) => thrown);
      const data = { kind: "RateLimited", name: "api", retryAt: NOW + MINUTE, retryAfter: MINUTE, reason: "blocked" };
      expect(isRateLimitError(error) && error.data).toEqual(data);
    }
    const all = await run((ctx) => limits.rateLimitAll(ctx, requests));
    expect(all).toMatchObject({
      ok: false,
      retryAt: NOW + MINUTE,
      statuses: [{ ok: true, remaining: 4 }, { ok: false }],
    });
    expect(await t.query((ctx) => limits.checkRateLimitAll(ctx, requests))).toEqual(all);
  });

  it("unlimited, a count of 0 writes nothing", async () => {
    await override({ unlimited: true });
    expect(await take(0)).toMatchObject({ ok: true, remaining: 4 });
    expect(await rowsIn(place, t)).toHaveLength(1);
    await take(6);
    const inDebt = await rowsIn(place, t);
    vi.setSystemTime(NOW + 10);
    expect(await take(0)).toEqual({ ok: true, remaining: 0, resetAt: NOW + 3000 });
    expect(await rowsIn(place, t)).toEqual(inDebt);
  });

  it("unlimited, what is taken has a date by which it comes back", async () => {
    await override({ unlimited: true });
    const take = (more: object) => run((ctx) => limits.rateLimit(ctx, { ...alice, ...more }));
    for (const count of [3, 30])
      expect(await take({ count, refundable: true })).toMatchObject({ ok: true, takenAt: NOW });
    for (const count of [3, 30]) expect(await take({ count })).not.toHaveProperty("takenAt");
  });

  it("unlimited, a job starts at once", async () => {
    await override({ unlimited: true });
    const start = makeFunctionReference<"mutation">("jobs:run");
    const result = await run((ctx) => limits.scheduleRateLimited(ctx, { ...alice, count: 9 }, start, {}));
    expect(result).toMatchObject({ ok: true, runAt: NOW });
  });

  describe("a limit on several rows", () => {
    const wide = { name: "wide" };
    const takeWide = (count: number) => run((ctx) => limits.rateLimit(ctx, { ...wide, count }));

    it("is overridden as one, keeps its rows, and comes back with what is left", async () => {
      await takeWide(1);
      expect(await rowsIn(place, t)).toHaveLength(4);
      await override({ config: { ...large, capacity: 20 }, ...ending(1000) }, wide);
      for (let i = 0; i < 20; i++) expect(await takeWide(1)).toMatchObject({ ok: true });
      expect(await takeWide(1)).toMatchObject({ ok: false });
      vi.setSystemTime(NOW + 1000);
      expect(await run((ctx) => limits.checkRateLimit(ctx, { ...wide, count: 0 }))).toMatchObject({ remaining: 20 });
      await override({ block: true, ...ending(5000) }, wide);
      expect(await takeWide(1)).toMatchObject(blocked(5000));
      vi.setSystemTime(NOW + 5000);
      expect(await takeWide(64)).toMatchObject({ ok: true });
    });

    it("keeps its rows when unlimited, while they hold what is taken", async () => {
      await override({ unlimited: true }, { name: "rapid" });
      for (const left of [63, 62, 61]) {
        expect(await run((ctx) => limits.rateLimit(ctx, { name: "rapid" }))).toMatchObject({ ok: true });
        expect(await run((ctx) => limits.getRateLimit(ctx, { name: "rapid" }))).toMatchObject({ value: left });
        expect(await rowsIn(place, t)).toHaveLength(1 + 4);
      }
    });

    it("keeps its rows when unlimited, also where the two that are read are short and others are not", async () => {
      const fast = { name: "fast" };
      await override({ unlimited: true }, fast);
      vi.spyOn(Math, "random").mockReturnValue(0);
      for (let call = 0; call < 16; call++) await run((ctx) => limits.rateLimit(ctx, fast));
      vi.setSystemTime(NOW + 1);
      expect(await run((ctx) => limits.rateLimit(ctx, fast))).toMatchObject({ ok: true, remaining: 47 });
      expect(await rowsIn(place, t)).toHaveLength(1 + 4);
    });

    it("lets everything through when unlimited, and is then in debt as one", async () => {
      await override({ unlimited: true, until: NOW + 1000 }, wide);
      for (let i = 0; i < 12; i++) expect(await takeWide(8)).toMatchObject({ ok: true });
      expect(await run((ctx) => limits.rateLimit(ctx, { ...wide, count: 100 }))).toMatchObject({
        ok: true,
        remaining: 0,
      });
      vi.setSystemTime(NOW + 1000);
      const { page } = await run((ctx) => limits.listRateLimits(ctx, wide));
      expect(page).toMatchObject([{ value: 64 - 196 + 20, ok: false }]);
    });
  });

  describe("lists", () => {
    it("show overrides that are in force, and only them if asked", async () => {
      await take(4);
      await override({ block: true, until: NOW + 1000, note: "spam" }, { name: "api", key: "mallory" });
      await override({ config: { ...large, shards: 8 }, note: "paid" }, { name: "api", key: "zoe" });
      const blocked = { block: true, until: NOW + 1000, note: "spam" };
      const { page } = await list();
      expect(page).toMatchObject([
        { key: "alice", value: 0, ok: false },
        { key: "mallory", value: 4, ok: false, retryAt: NOW + 1000, reason: "blocked", override: blocked },
        { key: "zoe", value: 40, ok: true, remaining: 39, override: { config: large, note: "paid" } },
      ]);
      expect(page[0]).not.toHaveProperty("override");
      expect((await list({ onlyOverridden: true })).page.map(({ key }) => key)).toEqual(["mallory", "zoe"]);
      expect((await list({ onlyLimited: true })).page.map(({ key }) => key)).toEqual(["alice", "mallory"]);
      vi.setSystemTime(NOW + 1000);
      expect((await list({ onlyOverridden: true })).page.map(({ key }) => key)).toEqual(["zoe"]);
    });

    it("of a limit without overrides have none to show", async () => {
      const only = run((ctx) => limits.listRateLimits(ctx, { name: "plain", onlyOverridden: true }));
      await expect(only).rejects.toThrow(
        'Rate limit "plain": onlyOverridden needs a limit that is defined with overrides: true',
      );
      await override({ block: true });
      const { page } = await run((ctx) => asPlain.listRateLimits(ctx, { name: "api" }));
      expect(page).toMatchObject([{ key: "alice", value: 4, ok: true }]);
      expect(page[0]).not.toHaveProperty("override");
    });
  });

  describe("a sweep", () => {
    const only = defineIn(place, { api: { ...bucket, overrides: true } });
    const sweep = () => run((ctx) => only.sweepRateLimits(ctx, { next }));

    it("takes overrides a minute after their end, and leaves those in force", async () => {
      await override({ block: true, until: NOW + 1000 });
      await override({ unlimited: true }, { name: "api", key: "bob" });
      await run((ctx) => limits.rateLimit(ctx, { name: "api", key: "bob" }));
      vi.setSystemTime(NOW + MINUTE + 999);
      expect(await sweep()).toEqual({ deleted: 1, isDone: true });
      expect((await rowsIn(place, t)).map(({ key, shard }) => [key, shard])).toEqual([
        ["alice", OVERRIDE_SHARD],
        ["bob", OVERRIDE_SHARD],
      ]);
      vi.setSystemTime(NOW + MINUTE + 1000);
      expect(await sweep()).toEqual({ deleted: 1, isDone: true });
      expect((await rowsIn(place, t)).map(({ key }) => key)).toEqual(["bob"]);
    });

    it.each([{ block: true, unlimited: true, until: NOW }, { until: NOW }, { block: true, until: -1 }] as const)(
      "leaves one that makes no sense, whatever its end says: %j",
      async (damage) => {
        await insertRow(place, t, { ...alice, shard: OVERRIDE_SHARD, value: 0, ts: NOW, override: damage });
        vi.setSystemTime(NOW + 2 * MINUTE);
        expect(await sweep()).toEqual({ deleted: 0, isDone: true });
        await expect(take()).rejects.toThrow("clearRateLimitOverride removes it");
      },
    );

    it("leaves a bucket that is full by the limit's config and not by the override's", async () => {
      await override({ config: nearlyShut });
      await take(1);
      vi.setSystemTime(NOW + 2 * MINUTE);
      expect(await sweep()).toMatchObject({ deleted: 0 });
      expect((await check(0)).remaining).toBe(3);
    });
  });

  describe("nothing is stored of", () => {
    it.each([
      [{}, "an override must have exactly one of config, block and unlimited, got none of them"],
      [{ block: true, unlimited: true }, "exactly one of config, block and unlimited, got block and unlimited"],
      [{ block: false }, "block must be true, got false"],
      [{ config: { ...bucket, rate: 0 } }, "rate must be a number above 0"],
      [{ block: true, until: NOW }, `until must be a time after now (${NOW}), in milliseconds since the epoch`],
      [{ block: true, until: NOW / 1000 }, "until must be a time after now"],
      [{ block: true, until: NOW + 0.5 }, "until must be a whole number of milliseconds since the epoch"],
      [{ block: true, note: "x".repeat(501) }, "note must be a well-formed string of at most 500 characters"],
      [{ block: true, note: "\ud800" }, "note must be a well-formed string"],
      [{ block: true, reason: "spam" }, '"reason" is not a field of overrideRateLimit'],
    ])("%j", async (terms, problem) => {
      await expect(override(terms)).rejects.toThrow(problem);
      expect(await rowsIn(place, t)).toEqual([]);
    });

    it("a limit that is defined without overrides, or without the key that it needs", async () => {
      const terms = { block: true };
      await expect(override(terms, { name: "plain" })).rejects.toThrow(
        'Rate limit "plain": overrideRateLimit needs a limit that is defined with overrides: true',
      );
      await expect(override(terms, { name: "api" })).rejects.toThrow("key must be a non-empty string");
      await expect(override(terms, { name: "nobody" })).rejects.toThrow("is not one of your limits");
      expect(await rowsIn(place, t)).toEqual([]);
    });
  });

  it("an override replaces the one before, and clearing none does nothing", async () => {
    await clear();
    await override({ block: true, note: "first" });
    await override({ unlimited: true, until: NOW + 1000 });
    expect(await rowsIn(place, t)).toMatchObject([{ override: { unlimited: true, until: NOW + 1000 } }]);
    expect((await rowsIn(place, t))[0]?.override).not.toHaveProperty("note");
    await clear();
    expect(await rowsIn(place, t)).toEqual([]);
  });

  it("an override of a transaction that throws is none", async () => {
    const undone = run(async (ctx) => {
      await limits.overrideRateLimit(ctx, { ...alice, block: true });
      expect(await limits.rateLimit(ctx, alice)).toMatchObject({ ok: false });
      throw new Error("undone");
    });
    await expect(undone).rejects.toThrow("undone");
    expect(await take()).toMatchObject({ ok: true });
  });

  it("calls at once with an override take turns", async () => {
    const [first, , second] = await run((ctx) =>
      Promise.all([
        limits.rateLimit(ctx, alice),
        limits.overrideRateLimit(ctx, { ...alice, block: true }),
        limits.rateLimit(ctx, alice),
      ]),
    );
    expect([first, second]).toMatchObject([{ ok: true }, { ok: false, reason: "blocked" }]);
  });

  it("a limit that is no longer defined with overrides is not asked for them", async () => {
    await override({ block: true });
    const call = (ctx: MutationCtx) => asPlain.rateLimit(ctx, alice);
    expect(await run(call)).toEqual({ ok: true, remaining: 3, resetAt: NOW + 500 });
    expect(await run(call)).toMatchObject({ ok: true, remaining: 2 });
    expect(await run((ctx) => asPlain.getRateLimit(ctx, alice))).not.toHaveProperty("override");
  });

  it("a stored override that makes no sense lets nothing through, and can be cleared", async () => {
    await insertRow(place, t, { ...alice, shard: OVERRIDE_SHARD, value: 0, ts: NOW, override: { note: "neither" } });
    const problem = 'Rate limit "api": the stored override of key "alice" cannot be used, so nothing is let through';
    await expect(take()).rejects.toThrow(problem);
    await expect(check()).rejects.toThrow(problem);
    expect((await list()).page).toMatchObject([
      { key: "alice", ok: false, error: expect.stringContaining(problem) as string },
    ]);
    await clear();
    expect(await take()).toMatchObject({ ok: true });
    await insertRow(place, t, { name: "all", shard: OVERRIDE_SHARD, value: 0, ts: NOW, override: { note: "neither" } });
    await expect(run((ctx) => limits.rateLimit(ctx, { name: "all" }))).rejects.toThrow(
      'Rate limit "all": the stored override cannot be used, so nothing is let through',
    );
  });

  it.each([1, 4])("several stored overrides let nothing through, and go together: on up to %i rows", async (shards) => {
    const own = defineIn(place, { api: { ...large, shards, overrides: true } });
    const call = () => run((ctx) => own.rateLimit(ctx, alice));
    const plant = async () => {
      for (const terms of [{ block: true, until: NOW + 1 }, { unlimited: true }] as const) {
        await insertRow(place, t, { ...alice, shard: OVERRIDE_SHARD, value: 0, ts: NOW, override: terms });
      }
    };
    await plant();
    const problem =
      "cannot be used, so nothing is let through; clearRateLimitOverride removes it. There must be one, not several.";
    await expect(call()).rejects.toThrow(problem);
    const { page } = await run((ctx) => own.listRateLimits(ctx, { name: "api" }));
    expect(page).toMatchObject([{ key: "alice", ok: false, error: expect.stringContaining(problem) as string }]);
    vi.setSystemTime(NOW + 2 * MINUTE);
    expect(await run((ctx) => own.sweepRateLimits(ctx, { next }))).toEqual({ deleted: 0, isDone: true });
    await expect(call()).rejects.toThrow(problem);
    await clear();
    expect(await rowsIn(place, t)).toEqual([]);
    await plant();
    await override({ block: true });
    expect(await call()).toMatchObject({ ok: false, reason: "blocked" });
    await clear();
    expect(await call()).toMatchObject({ ok: true });
  });

  it("a damaged row does not hide an override", async () => {
    const id = { name: "wide", key: "alice" };
    const call = () => run((ctx) => limits.rateLimit(ctx, id));
    await call();
    const damage = { ...id, shard: OVERRIDE_SHARD, value: 0, ts: NOW };
    await insertRow(place, t, damage);
    await insertRow(place, t, { ...damage, override: { block: true } });
    expect(await call()).toMatchObject({ ok: false, reason: "blocked" });
    await run((ctx) => limits.clearRateLimitOverride(ctx, id));
    await run((ctx) => limits.resetRateLimit(ctx, id));
    expect(await rowsIn(place, t)).toEqual([]);
  });

  it("an override in a part's row is none, and a reset deletes it with the bucket's other rows", async () => {
    const damage = { value: 0, ts: NOW, override: { unlimited: true } } as const;
    await insertRow(place, t, { ...alice, shard: "0", ...damage });
    await expect(take()).rejects.toThrow("resetRateLimit makes it full again");
    await expect(check()).rejects.toThrow("resetRateLimit makes it full again");
    await run((ctx) => limits.resetRateLimit(ctx, alice));
    expect(await rowsIn(place, t)).toEqual([]);
    await insertRow(place, t, { ...alice, ...damage });
    expect(await take()).toMatchObject({ ok: false });
    expect(await check()).toMatchObject({ ok: false });
    await run((ctx) => limits.resetRateLimit(ctx, alice));
    expect(await rowsIn(place, t)).toEqual([]);
  });

  it("beside another limit's denial an unlimited key stands as it is", async () => {
    await override({ unlimited: true });
    await take(3);
    await run((ctx) => limits.rateLimit(ctx, { name: "plain", count: 4 }));
    const requests = [{ ...alice, count: 30 }, { name: "plain" }];
    const statuses = [
      { ok: true, remaining: 1, resetAt: NOW + 1500 },
      { ok: false, retryAt: NOW + 500, remaining: 0, resetAt: NOW + 2000 },
    ];
    expect(await run((ctx) => limits.rateLimitAll(ctx, requests))).toEqual({ ok: false, retryAt: NOW + 500, statuses });
  });

  describe("reads ranges and documents, and writes documents:", () => {
    const [few, wide] = [alice, { name: "wide" }];
    const smaller = { config: { ...large, capacity: 20 } };
    const call = (ctx: MutationCtx) => limits.rateLimit(ctx, few);
    const callWide = (ctx: MutationCtx) => limits.rateLimit(ctx, wide);
    type Row = [
      what: string,
      of: object,
      terms: object | undefined,
      call: (ctx: MutationCtx) => unknown,
      cost: number[],
    ];
    // One range read on one row, whatever overrides the limit. On several, one more; only that one to deny for ever.
    it.each<Row>([
      ["a call without an override", few, undefined, call, [1, 2, 1]],
      ["a call under another config", few, { config: large, ...ending(MINUTE) }, call, [1, 3, 1]],
      [
        "a call without a limit",
        few,
        { unlimited: true },
        (ctx) => limits.rateLimit(ctx, { ...few, count: 9 }),
        [1, 3, 1],
      ],
      ["a blocked call", few, { block: true, ...ending(MINUTE) }, call, [1, 2, 0]],
      ["a blocked check", few, { block: true, ...ending(MINUTE) }, (ctx) => limits.checkRateLimit(ctx, few), [1, 2, 0]],
      [
        "a snapshot of a block",
        few,
        { block: true, ...ending(MINUTE) },
        (ctx) => limits.getRateLimit(ctx, few),
        [1, 2, 0],
      ],
      ["a charge", few, { config: large }, (ctx) => limits.adjustRateLimit(ctx, { ...few, count: 1 }), [1, 3, 1]],
      ["setting one", few, undefined, (ctx) => limits.overrideRateLimit(ctx, { ...few, block: true }), [1, 0, 1]],
      ["clearing one", few, { block: true }, (ctx) => limits.clearRateLimitOverride(ctx, few), [1, 2, 1]],
      ["a call on several rows", wide, undefined, callWide, [2, 2, 1]],
      ["a check on several rows", wide, undefined, (ctx) => limits.checkRateLimit(ctx, wide), [1, 4, 0]],
      ["a call that is blocked for ever", wide, { block: true }, callWide, [1, 1, 0]],
      ["a count too large for it", wide, smaller, (ctx) => limits.rateLimit(ctx, { ...wide, count: 30 }), [2, 6, 0]],
    ])("%s", async (_what, of, terms, measured, [ranges, documentsRead, documentsWritten]) => {
      await run((ctx) => limits.rateLimit(ctx, of as never));
      if (terms) await override(terms, of as never);
      const cost = await t.mutation((ctx) => costOf(ctx, async (ctx) => await measured(ctx)));
      expect(cost).toEqual({ ranges, documentsRead, documentsWritten, hops: place === "tables" ? 0 : 1 });
    });
  });
});

describe("a bucket whose override is set or cleared", () => {
  it.each([
    [{ name: "" }, "A rate limit's name must be a well-formed string"],
    [{ name: "api", key: "" }, 'Rate limit "api": key must be a non-empty string, got "".'],
    [{ name: "api", key: "k".repeat(257) }, 'Rate limit "api": key must be at most 256 characters'],
  ])("has a name and a key that are permitted: %#", async (id, problem) => {
    const t = openBackend();
    await expect(t.mutation((ctx) => setOverride(ctx, id, { block: true }))).rejects.toThrow(problem);
    await expect(t.mutation((ctx) => clearOverride(ctx, id))).rejects.toThrow(problem);
  });
});
