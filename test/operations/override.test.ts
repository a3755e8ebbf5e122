/** Overrides: one key's limit, changed at run time, in both places. */
import { isRateLimitError, projectRateLimit, type RateLimitConfig } from "convex-rate-limits";
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
  type QueryCtx,
  rowsIn,
} from "../support/places.js";
import { costOf } from "../support/cost.js";

const NOW = 1_700_000_000_000;
const END_OF_TIME = 8.64e15;
const MINUTE = 60_000;
const bucket: RateLimitConfig = { kind: "token bucket", rate: 2, period: 1000, capacity: 4 };
const large: RateLimitConfig = { kind: "token bucket", rate: 20, period: 1000, capacity: 40 };
const next = makeFunctionReference<"mutation", { cursor?: string }>("sweeps:sweep");

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const job = internalMutationGeneric({ args: {}, handler: () => Promise.resolve(null) });

describe.each(placeNames)("in the %s", (place) => {
  const limits = defineIn(place, {
    api: { ...bucket, keyed: true, overrides: true },
    all: { ...bucket, overrides: true },
    wide: { ...large, capacity: 64, shards: { atLeast: 4, atMost: 4 }, overrides: true },
    fast: { ...large, rate: 200, capacity: 64, shards: { atLeast: 4, atMost: 4 }, overrides: true },
    rapid: { ...large, rate: 64, period: 10, capacity: 64, shards: { atLeast: 4, atMost: 4 }, overrides: true },
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

  describe("another config", () => {
    it("a snapshot holds an override that has ended, and projects the limit's own config then: it does not depend on the clock", async () => {
      const t = openBackend();
      const get = () => t.query((ctx) => limits.getRateLimit(ctx, { name: "api", key: "a" }));
      await t.mutation(async (ctx) => {
        await limits.rateLimit(ctx, { name: "api", key: "a" });
        await limits.overrideRateLimit(ctx, { name: "api", key: "a", block: true, until: NOW + 1000 });
      });
      const before = await get();
      vi.setSystemTime(NOW + 2000);
      const after = await get();
      expect(after).toEqual(before);
      expect(after.override).toMatchObject({ until: NOW + 1000 });
      expect(projectRateLimit(after, { now: NOW })).toMatchObject({ ok: false, retryAt: NOW + 1000 });
      expect(projectRateLimit(after, { now: NOW + 2000 })).toMatchObject({ ok: true });
    });

    it("a row in its place that is none stays: clearing removes no damage, and setting one does not hide it", async () => {
      const t = openBackend();
      await insertRow(place, t, { name: "api", key: "a", shard: OVERRIDE_SHARD, value: 4, ts: NOW });
      const before = await rowsIn(place, t);
      await t.mutation((ctx) => limits.clearRateLimitOverride(ctx, { name: "api", key: "a" }));
      expect(await rowsIn(place, t)).toEqual(before);
      await t.mutation((ctx) => limits.overrideRateLimit(ctx, { name: "api", key: "a", config: large }));
      expect(await rowsIn(place, t)).toHaveLength(2);
      const asked = t.mutation((ctx) => limits.rateLimit(ctx, { name: "api", key: "a" }));
      await expect(asked).rejects.toThrow("so nothing is let through");
    });

    it.each([
      ["a call that would be served at its end", { count: 4 }, NOW + 8000],
      ["a reservation that starts after its end", { count: 4, reserve: true }, NOW + 4000],
      ["a reservation that starts later still", { count: 5, reserve: true }, NOW + 5000],
    ])("%s: client and server agree", async (_what, asked, retryAt) => {
      const t = openBackend();
      const slow: RateLimitConfig = { kind: "token bucket", rate: 1, period: 2000, capacity: 4, maxReserved: 10 };
      const own = defineIn(place, { slow: { ...slow, overrides: true } });
      const override = { config: { ...slow, period: 1000 }, until: NOW + 4000 };
      await t.mutation(async (ctx) => {
        await own.overrideRateLimit(ctx, { name: "slow", ...override });
        await own.rateLimit(ctx, { name: "slow", count: 4 });
      });
      const check = await t.query((ctx) => own.checkRateLimit(ctx, { name: "slow", ...asked }));
      expect(check.retryAt).toBe(retryAt);
      const snapshot = await t.query((ctx) => own.getRateLimit(ctx, { name: "slow" }));
      expect(projectRateLimit(snapshot, { now: NOW, ...asked })).toEqual(check);
    });

    it("a pause is of the bucket as it is under its override, and of one without", async () => {
      const until = NOW + 5000;
      const pause = (id: { name: string; key?: string }) => run((ctx) => limits.pauseRateLimit(ctx, { ...id, until }));
      await override({ config: large });
      await pause(alice);
      expect(await check()).toMatchObject({ ok: false, retryAt: until + 50 });
      await pause({ name: "all" });
      expect(await run((ctx) => limits.checkRateLimit(ctx, { name: "all" }))).toMatchObject({ retryAt: until + 500 });
      await pause({ name: "wide" });
      expect(await run((ctx) => limits.checkRateLimit(ctx, { name: "wide" }))).toMatchObject({ retryAt: until + 50 });
      await override({ block: true }, { name: "all" });
      await run((ctx) => limits.pauseRateLimit(ctx, { name: "all", until: until + 1000 }));
      await run((ctx) => limits.clearRateLimitOverride(ctx, { name: "all" }));
      expect(await run((ctx) => limits.checkRateLimit(ctx, { name: "all" }))).toMatchObject({ retryAt: until + 1500 });
    });

    it("holds at the key at once, and at no other", async () => {
      await override({ config: large });
      expect(await take(30)).toEqual({ ok: true, remaining: 10, resetAt: NOW + 1500 });
      const other = { name: "api", key: "bob", count: 30 };
      await expect(run((ctx) => limits.rateLimit(ctx, other))).rejects.toThrow("can never be served");
    });

    it("leaves what was taken, and what is taken stays so when it is cleared", async () => {
      await take(3);
      await override({ config: large });
      expect(await check()).toMatchObject({ ok: true, remaining: 0 });
      await override({ config: { ...large, rate: 1000 } });
      vi.setSystemTime(NOW + 20);
      expect(await take(21)).toMatchObject({ ok: true, remaining: 0 });
      await clear();
      expect(await check()).toEqual({ ok: false, retryAt: NOW + 520, remaining: 0, resetAt: NOW + 2020 });
    });

    it("ends at its end, and a denial knows what holds then", async () => {
      await take(4);
      await override({ config: { ...bucket, rate: 0.001 }, until: NOW + 5000 });
      // By the override never before its end; by the limit's own config there is enough as soon as that holds.
      expect(await check()).toMatchObject({ ok: false, retryAt: NOW + 5000 });
      vi.setSystemTime(NOW + 4999);
      expect(await check()).toMatchObject({ ok: false, retryAt: NOW + 5000 });
      vi.setSystemTime(NOW + 5000);
      expect(await check()).toMatchObject({ ok: true });
    });

    it("denies until what it serves at its very end is served by what holds then, too", async () => {
      await take(4);
      await override({ config: { ...bucket, rate: 4 }, until: NOW + 1000 });
      expect(await check(4)).toMatchObject({ ok: false, retryAt: NOW + 2000 });
    });

    it("denies for ever what only it could serve, were it not over by then", async () => {
      await override({ config: large, until: NOW + 1000 });
      await take(40);
      expect(await check(19)).toMatchObject({ ok: false, retryAt: NOW + 950 });
      expect(await check(30)).toMatchObject({ ok: false, retryAt: END_OF_TIME });
      const reserved = { ...alice, count: 30, reserve: { within: 500 } };
      const answer = run((ctx) => limits.rateLimit(ctx, reserved));
      expect(await answer).toMatchObject({ ok: false, retryAt: END_OF_TIME });
    });

    // A client's projection said so, and the call said that the end of the override would do.
    it("denies for ever a reservation that a sliding window can never hold", async () => {
      const slide = { name: "slide", count: 6, reserve: true };
      await override({ config: { ...bucket, rate: 0.001, maxReserved: 2 }, until: NOW + 1000 }, { name: "slide" });
      await run((ctx) => limits.adjustRateLimit(ctx, { name: "slide", count: 4 }));
      expect(await run((ctx) => limits.checkRateLimit(ctx, slide))).toMatchObject({ ok: false, retryAt: END_OF_TIME });
      vi.setSystemTime(NOW + 1000);
      await expect(run((ctx) => limits.checkRateLimit(ctx, slide))).rejects.toThrow("can never be served");
    });

    it("denies what it cannot hold until it ends, and for ever what nothing could serve", async () => {
      await override({ config: { ...bucket, capacity: 2 }, until: NOW + MINUTE });
      expect(await take(3)).toMatchObject({ ok: false, retryAt: NOW + MINUTE, remaining: 2 });
      await override({ config: { ...bucket, capacity: 2 } });
      expect(await take(3)).toMatchObject({ ok: false, retryAt: END_OF_TIME });
      await expect(take(5)).rejects.toThrow('Rate limit "api": count 5 can never be served: it can hold at most 2');
      expect(await rowsIn(place, t)).toHaveLength(1);
    });

    it("may be of another kind, and reserve where the limit does", async () => {
      await override({ config: { kind: "sliding window", rate: 3, period: 1000 } });
      expect(await take(3)).toMatchObject({ ok: true, remaining: 0 });
      expect(await run((ctx) => limits.rateLimit(ctx, { ...alice, reserve: true }))).toMatchObject({
        ok: true,
        retryAt: NOW + 1000,
      });
    });

    it("counts refunds and charges", async () => {
      await override({ config: large });
      await run((ctx) => limits.adjustRateLimit(ctx, { ...alice, count: 40 }));
      expect(await run((ctx) => limits.adjustRateLimit(ctx, { ...alice, count: -25 }))).toMatchObject({
        remaining: 25,
      });
    });
  });

  describe("a call that takes as much as there is", () => {
    const takePart = (count: number, atLeast: number) =>
      run((ctx) => limits.rateLimit(ctx, { ...alice, count, atLeast }));

    it("gets what another config holds", async () => {
      await override({ config: large });
      expect(await takePart(100, 10)).toMatchObject({ ok: true, taken: 40, remaining: 0 });
    });

    it("gets all that it asks for without a limit, and owes it", async () => {
      await override({ unlimited: true });
      expect(await takePart(3, 1)).toMatchObject({ ok: true, taken: 3, remaining: 1 });
      expect(await takePart(6, 5)).toMatchObject({ ok: true, taken: 6, remaining: 0 });
      await clear();
      expect(await run((ctx) => limits.getRateLimit(ctx, alice))).toMatchObject({ value: -5 });
    });

    it("gets no more than a bucket can owe", async () => {
      await override({ unlimited: true });
      expect(await takePart(1e300, 1)).toMatchObject({ ok: true, taken: 1e12 });
    });

    it("is denied where what suffices is more than the config can hold, until it ends", async () => {
      await override({ config: { ...bucket, capacity: 2 }, until: NOW + MINUTE });
      expect(await takePart(9, 3)).toEqual({ ok: false, retryAt: NOW + MINUTE, remaining: 2, resetAt: NOW });
      expect(await takePart(9, 2)).toMatchObject({ ok: true, taken: 2 });
      await expect(takePart(9, 5)).rejects.toThrow(
        'Rate limit "api": atLeast 5 can never be served: it can hold at most 2',
      );
      await clear();
      await expect(takePart(9, 5)).rejects.toThrow(
        'Rate limit "api": atLeast 5 can never be served: it can hold at most 4',
      );
    });

    it("is blocked as any other, until what suffices is there", async () => {
      await take(4);
      await override({ block: true, until: NOW + 1 });
      expect(await takePart(4, 2)).toMatchObject({ ok: false, retryAt: NOW + 1000, reason: "blocked" });
    });

    it("of several rows reads all, so it is served before one that reads two", async () => {
      const four = { name: "fast", count: 4 };
      for (let call = 0; call < 16; call++) await run((ctx) => limits.rateLimit(ctx, { ...four, atLeast: 4 }));
      await override({ block: true, until: NOW + 20 }, { name: "fast" });
      const part = await run((ctx) => limits.rateLimit(ctx, { ...four, atLeast: 4 }));
      expect(part).toMatchObject({ ok: false, retryAt: NOW + 20 });
      const whole = await run((ctx) => limits.rateLimit(ctx, four));
      expect(whole).toMatchObject({ ok: false, retryAt: NOW + 40 });
    });
  });

  describe("of a limit in shadow", () => {
    const tried = { name: "tried" };

    it("a block lets through, and says what it would deny", async () => {
      await override({ block: true, until: NOW + MINUTE }, tried);
      const denial = { ok: false, retryAt: NOW + MINUTE, remaining: 0, resetAt: NOW + MINUTE, reason: "blocked" };
      const through = { ok: true, remaining: 0, resetAt: NOW + MINUTE };
      expect(await run((ctx) => limits.rateLimit(ctx, tried))).toEqual({ ...through, shadow: denial });
      expect(await run((ctx) => limits.checkRateLimit(ctx, tried))).toEqual({ ...through, shadow: denial });
      const all = await run((ctx) => limits.rateLimitAll(ctx, [tried, { name: "plain" }]));
      expect(all).toMatchObject({
        ok: true,
        statuses: [
          { ok: true, shadow: denial },
          { ok: true, remaining: 3 },
        ],
      });
      const snapshot = await run((ctx) => limits.getRateLimit(ctx, tried));
      expect(projectRateLimit(snapshot, { now: NOW })).toEqual(through);
    });

    it("another config denies only in shadow", async () => {
      await override({ config: { ...bucket, capacity: 1 } }, tried);
      expect(await run((ctx) => limits.rateLimit(ctx, tried))).toMatchObject({ ok: true, shadow: { ok: true } });
      const denial = { ok: false, retryAt: NOW + 500, remaining: 0, resetAt: NOW + 500 };
      const answer = { ok: true, remaining: 0, resetAt: NOW + 500, shadow: denial };
      expect(await run((ctx) => limits.rateLimit(ctx, tried))).toEqual(answer);
      const snapshot = await run((ctx) => limits.getRateLimit(ctx, tried));
      expect(projectRateLimit(snapshot, { now: NOW })).toEqual({ ok: true, remaining: 0, resetAt: NOW + 500 });
    });
  });

  describe("a block", () => {
    it("denies until its end, and says why", async () => {
      await override({ block: true, until: NOW + MINUTE });
      const denial = { ok: false, retryAt: NOW + MINUTE, remaining: 0, reason: "blocked" };
      expect(await take()).toMatchObject(denial);
      expect(await check(0)).toMatchObject(denial);
      expect(await run((ctx) => limits.rateLimit(ctx, { ...alice, reserve: true }))).toMatchObject(denial);
      expect(await rowsIn(place, t)).toHaveLength(1);
      vi.setSystemTime(NOW + MINUTE);
      expect(await take()).toEqual({ ok: true, remaining: 3, resetAt: NOW + MINUTE + 500 });
    });

    it("denies for ever without an end, whatever the rows hold", async () => {
      await override({ block: true });
      await insertRow(place, t, { ...alice, value: NaN, ts: NOW });
      const denial = { ok: false, retryAt: END_OF_TIME, remaining: 0, resetAt: END_OF_TIME, reason: "blocked" };
      expect(await take()).toEqual(denial);
    });

    it("names as retryAt the moment at which the call succeeds, where the bucket is in debt beyond the end", async () => {
      await run((ctx) => limits.adjustRateLimit(ctx, { ...alice, count: 14 }));
      await override({ block: true, until: NOW + 1000 });
      expect(await take()).toMatchObject({ ok: false, retryAt: NOW + 5500, reason: "blocked" });
      vi.setSystemTime(NOW + 5499);
      expect(await take()).toMatchObject({ ok: false });
      vi.setSystemTime(NOW + 5500);
      expect(await take()).toMatchObject({ ok: true });
    });

    it("is thrown with its reason, and stops all of several limits", async () => {
      await override({ block: true, until: NOW + MINUTE });
      const requests = [{ name: "plain" }, alice];
      const calls: ((ctx: MutationCtx) => Promise<unknown>)[] = [
        (ctx) => limits.rateLimit(ctx, { ...alice, throws: true }),
        (ctx) => limits.rateLimitAll(ctx, requests, { throws: true }),
      ];
      for (const call of calls) {
        const error: unknown = await run(call).catch((thrown: unknown) => thrown);
        expect(isRateLimitError(error) && error.data).toEqual({
          kind: "RateLimited",
          name: "api",
          retryAt: NOW + MINUTE,
          retryAfter: MINUTE,
          reason: "blocked",
        });
      }
      const all = await run((ctx) => limits.rateLimitAll(ctx, requests));
      expect(all).toMatchObject({
        ok: false,
        retryAt: NOW + MINUTE,
        statuses: [{ ok: true, remaining: 4 }, { ok: false }],
      });
      expect(await t.query(async (ctx) => await limits.checkRateLimitAll(ctx, requests))).toEqual(all);
    });

    it("of the bucket without a key closes the limit", async () => {
      await override({ block: true }, { name: "all" });
      expect(await run((ctx) => limits.rateLimit(ctx, { name: "all" }))).toMatchObject({ ok: false });
    });

    it("lets what was used be settled, and a reset does not lift it", async () => {
      await take(4);
      await override({ block: true });
      await run((ctx) => limits.adjustRateLimit(ctx, { ...alice, count: -1 }));
      await run((ctx) => limits.resetRateLimit(ctx, alice));
      expect(await take()).toMatchObject({ ok: false, reason: "blocked" });
      await clear();
      expect(await take(4)).toMatchObject({ ok: true, remaining: 0 });
    });
  });

  describe("unlimited", () => {
    it("lets everything through, and counts it still", async () => {
      await override({ unlimited: true, until: NOW + 1000 });
      expect(await take(3)).toEqual({ ok: true, remaining: 1, resetAt: NOW + 1500 });
      expect(await take(5)).toEqual({ ok: true, remaining: 0, resetAt: NOW + 4000 });
      expect(await run((ctx) => limits.rateLimit(ctx, { ...alice, reserve: true }))).toEqual({
        ok: true,
        remaining: 0,
        resetAt: NOW + 4500,
      });
      const requests = [alice, { ...alice, count: 0 }];
      expect(await run((ctx) => limits.rateLimitAll(ctx, requests))).toMatchObject({ ok: true });
      // Six tokens are owed, and paid by the limit's own rate.
      vi.setSystemTime(NOW + 1000);
      expect(await take()).toMatchObject({ ok: false, retryAt: NOW + 3500 });
    });

    it("writes nothing for a count of 0, and refuses what is no count", async () => {
      await override({ unlimited: true });
      expect(await take(0)).toMatchObject({ ok: true, remaining: 4 });
      expect(await rowsIn(place, t)).toHaveLength(1);
      await take(6);
      const inDebt = await rowsIn(place, t);
      vi.setSystemTime(NOW + 10);
      expect(await take(0)).toEqual({ ok: true, remaining: 0, resetAt: NOW + 3000 });
      expect(await rowsIn(place, t)).toEqual(inDebt);
      await expect(take(NaN)).rejects.toThrow("count must be a finite number");
      await expect(take(2e12)).rejects.toThrow("can never be served");
    });

    it("starts a job at once", async () => {
      await override({ unlimited: true });
      const start = makeFunctionReference<"mutation">("jobs:run");
      const result = await run((ctx) => limits.scheduleRateLimited(ctx, { ...alice, count: 9 }, start, {}));
      expect(result).toMatchObject({ ok: true, runAt: NOW });
    });
  });

  describe("a limit on several rows", () => {
    const wide = { name: "wide" };
    const takeWide = (count: number) => run((ctx) => limits.rateLimit(ctx, { ...wide, count }));

    it("is overridden as one, keeps its rows, and comes back with what is left", async () => {
      await takeWide(1);
      expect((await rowsIn(place, t)).length).toBe(4);
      await override({ config: { ...large, capacity: 20 }, until: NOW + 1000 }, wide);
      for (let i = 0; i < 20; i++) expect(await takeWide(1)).toMatchObject({ ok: true });
      expect(await takeWide(1)).toMatchObject({ ok: false });
      vi.setSystemTime(NOW + 1000);
      const { remaining } = await run((ctx) => limits.checkRateLimit(ctx, { ...wide, count: 0 }));
      expect(remaining).toBe(20);
      await override({ block: true, until: NOW + 5000 }, wide);
      const denial = await takeWide(1);
      expect(denial).toMatchObject({ ok: false, retryAt: NOW + 5000, reason: "blocked" });
      vi.setSystemTime(NOW + 5000);
      expect(await takeWide(64)).toMatchObject({ ok: true });
    });

    it("says how it stands while an override cannot hold what is asked", async () => {
      await takeWide(1);
      await override({ config: { ...large, capacity: 20 } }, wide);
      expect(await takeWide(30)).toEqual({ ok: false, retryAt: END_OF_TIME, remaining: 20, resetAt: NOW });
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
        await expect(take()).rejects.toThrow("clearRateLimitOverride removes it");
        expect(await sweep()).toEqual({ deleted: 0, isDone: true });
        await expect(take()).rejects.toThrow("clearRateLimitOverride removes it");
      },
    );

    it("leaves a bucket that is full by the limit's config and not by the override's", async () => {
      await override({ config: { ...bucket, rate: 0.001, period: 1000, capacity: 4 } });
      await take(1);
      vi.setSystemTime(NOW + 2 * MINUTE);
      expect(await sweep()).toMatchObject({ deleted: 0 });
      expect((await check(0)).remaining).toBe(3);
    });
  });

  describe("a snapshot", () => {
    const get = () => t.query(async (ctx) => await limits.getRateLimit(ctx, alice));
    const expectAgreement = async (count: number) => {
      const projected = projectRateLimit(await get(), { now: Date.now(), count });
      expect(projected).toEqual(await check(count));
      return projected;
    };

    it.each([
      ["another config", { config: large, until: NOW + 1000 }, 30],
      ["a smaller config", { config: { ...bucket, capacity: 1 }, until: NOW + 1000 }, 3],
      ["another kind", { config: { kind: "sliding window", rate: 3, period: 10_000 }, until: NOW + 1000 }, 3],
      ["a block", { block: true, until: NOW + 1000 }, 1],
      ["unlimited", { unlimited: true, until: NOW + 1000 }, 9],
    ])("of %s projects what a check says, before and after its end", async (_, terms, count) => {
      await take(2);
      await override(terms);
      const fits = (now: number) => count <= 4 || now < NOW + 1000;
      for (const now of [NOW, NOW + 1, NOW + 999, NOW + 1000, NOW + 1001, NOW + 9000].filter(fits)) {
        vi.setSystemTime(now);
        await expectAgreement(count);
        await expectAgreement(0);
      }
      const snapshot = await get();
      expect(() => projectRateLimit(snapshot, { now: NOW + 1000, count: 9 })).toThrow("count must be from 0 to 4");
    });

    it("of another config looks beyond its end where a denial lasts so long, and not where a reservation does", async () => {
      await take(4);
      await override({ config: { ...bucket, rate: 4 }, until: NOW + 1000 });
      // As much as is there at the very end is not there by the config that holds then.
      expect(await expectAgreement(4)).toMatchObject({ ok: false, retryAt: NOW + 2000 });
      const demand = { count: 5, reserve: true };
      const projected = projectRateLimit(await get(), { now: NOW, ...demand });
      expect(projected).toEqual(await run((ctx) => limits.checkRateLimit(ctx, { ...alice, ...demand })));
      expect(projected).toMatchObject({ ok: true, retryAt: NOW + 1250 });
    });

    it("of a block without an end is denied for ever, and has no note", async () => {
      await override({ block: true, note: "private" });
      expect(await expectAgreement(1)).toMatchObject({ ok: false, retryAt: END_OF_TIME, reason: "blocked" });
      expect((await get()).override).toEqual({ until: END_OF_TIME, reason: "blocked" });
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

  it("a config says when it serves, where that is before it ends", async () => {
    await override({ config: { ...bucket, rate: 4 }, until: NOW + 60_000 });
    await take(4);
    expect(await take()).toEqual({ ok: false, retryAt: NOW + 250, remaining: 0, resetAt: NOW + 1000 });
  });

  it("beside another limit's denial an unlimited key stands as it is", async () => {
    await override({ unlimited: true });
    await take(3);
    await run((ctx) => limits.rateLimit(ctx, { name: "plain", count: 4 }));
    const requests = [{ ...alice, count: 30 }, { name: "plain" }];
    const all = await run((ctx) => limits.rateLimitAll(ctx, requests));
    expect(all).toEqual({
      ok: false,
      retryAt: NOW + 500,
      statuses: [
        { ok: true, remaining: 1, resetAt: NOW + 1500 },
        { ok: false, retryAt: NOW + 500, remaining: 0, resetAt: NOW + 2000 },
      ],
    });
  });

  describe("costs", () => {
    const hops = place === "tables" ? 0 : 1;
    const cost = (call: (ctx: MutationCtx) => Promise<unknown>) => t.mutation(async (ctx) => await costOf(ctx, call));
    const call = (ctx: MutationCtx) => limits.rateLimit(ctx, alice);

    it("one range read, whatever overrides the limit", async () => {
      expect(await cost(call)).toEqual({ ranges: 1, documentsRead: 0, documentsWritten: 1, hops });
      expect(await cost(call)).toEqual({ ranges: 1, documentsRead: 2, documentsWritten: 1, hops });
      await override({ config: large, until: NOW + MINUTE });
      expect(await cost(call)).toEqual({ ranges: 1, documentsRead: 3, documentsWritten: 1, hops });
      await override({ unlimited: true });
      expect(await cost((ctx) => limits.rateLimit(ctx, { ...alice, count: 9 }))).toEqual({
        ranges: 1,
        documentsRead: 3,
        documentsWritten: 1,
        hops,
      });
      await override({ block: true, until: NOW + MINUTE });
      expect(await cost(call)).toEqual({ ranges: 1, documentsRead: 2, documentsWritten: 0, hops });
      const reads = [
        (ctx: QueryCtx) => limits.checkRateLimit(ctx, alice),
        (ctx: QueryCtx) => limits.getRateLimit(ctx, alice),
      ];
      for (const read of reads) {
        expect(await cost(read)).toEqual({ ranges: 1, documentsRead: 2, documentsWritten: 0, hops });
      }
      await override({ config: large });
      expect(await cost((ctx) => limits.adjustRateLimit(ctx, { ...alice, count: 1 }))).toEqual({
        ranges: 1,
        documentsRead: 3,
        documentsWritten: 1,
        hops,
      });
    });

    it("one read more on several rows, and nothing but that to deny for ever", async () => {
      const wide = { name: "wide" };
      const callWide = (ctx: MutationCtx) => limits.rateLimit(ctx, wide);
      await run(callWide);
      expect(await cost(callWide)).toEqual({ ranges: 2, documentsRead: 2, documentsWritten: 1, hops });
      expect(await cost((ctx) => limits.checkRateLimit(ctx, wide))).toEqual({
        ranges: 1,
        documentsRead: 4,
        documentsWritten: 0,
        hops,
      });
      await override({ block: true }, wide);
      expect(await cost(callWide)).toEqual({ ranges: 1, documentsRead: 1, documentsWritten: 0, hops });
      await override({ config: { ...large, capacity: 20 } }, wide);
      const tooMuch = await cost((ctx) => limits.rateLimit(ctx, { name: "wide", count: 30 }));
      expect(tooMuch).toEqual({ ranges: 2, documentsRead: 6, documentsWritten: 0, hops });
    });

    it("one read and one write to set one, and to clear it", async () => {
      const set = (ctx: MutationCtx) => limits.overrideRateLimit(ctx, { ...alice, block: true });
      expect(await cost(set)).toEqual({ ranges: 1, documentsRead: 0, documentsWritten: 1, hops });
      expect(await cost((ctx) => limits.clearRateLimitOverride(ctx, alice))).toEqual({
        ranges: 1,
        documentsRead: 2,
        documentsWritten: 1,
        hops,
      });
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
