/** Overrides, which change one key's limit at run time, in the tables and in the component. */
import { isRateLimitError, type RateLimitConfig } from "convex-rate-limits";
import { projectRateLimit } from "convex-rate-limits/client";
import type { RateLimitOverride } from "convex-rate-limits/admin";
import { internalMutationGeneric, makeFunctionReference } from "convex/server";
import { describe, expect, it, vi } from "vitest";
import { pause, reset } from "../../src/operations/adjust.js";
import { clearOverride, setOverride } from "../../src/operations/override.js";
import { CONTROL_SHARD } from "../../src/engine/sharding/interval.js";
import { NOW, useClock } from "../support/clock.js";
import { draw } from "../support/draw.js";
import { useBackend } from "../support/limits.js";
import { partsOf } from "../support/parts.js";
import { openBackend, placeNames, type StoredRow } from "../support/places.js";

const END_OF_TIME = 8.64e15;
const MINUTE = 60_000;
const bucket: RateLimitConfig = { kind: "token bucket", rate: 2, period: 1000, capacity: 4 };
const large: RateLimitConfig = { kind: "token bucket", rate: 20, period: 1000, capacity: 40 };
const small: RateLimitConfig = { ...bucket, capacity: 2 };
const sliding: RateLimitConfig = { kind: "sliding window", rate: 3, period: 1000 };
const slow: RateLimitConfig = { kind: "token bucket", rate: 1, period: 2000, capacity: 4, maxReserved: 10 };
const nearlyShut: RateLimitConfig = { ...bucket, rate: 0.001 };
const next = makeFunctionReference<"mutation", { cursor?: string }>("sweeps:sweep");

useClock();

const faster: RateLimitConfig = { ...bucket, rate: 4 };
const lessSlow: RateLimitConfig = { ...slow, period: 1000 };

/** The bucket before the request. */
interface Standing {
  /** The limit. The default is "api" with the key "alice". */
  name?: string;
  /** The tokens taken before and after the override was set. */
  before?: number;
  after?: number;
  /** When a pause ends. */
  pauseMs?: number;
  terms: object;
}
/** A request `at` ms after the override was set, and its answer. A string is the text of misuse. */
type Row = [at: number, request: object, answer: object | string];

const ending = (ms: number) => ({ until: NOW + ms });
const served = (more: object = {}) => ({ ok: true, ...more });
const denied = (ms: number, more: object = {}) => ({ ok: false, retryAt: NOW + ms, ...more });
const blocked = (ms: number, more: object = {}) => denied(ms, { reason: "blocked", ...more });
/** The answer in shadow: the call is allowed, and `shadow` has the denial. */
const shadowing = (resetMs: number, shadow: object) =>
  served({ remaining: 0, resetAt: NOW + resetMs, shadow: { ...shadow, remaining: 0, resetAt: NOW + resetMs } });
const forEver = { ok: false, retryAt: END_OF_TIME };
const tooLarge = { ...forEver, reason: "too large" };

const when = (what: string, standing: Standing, rows: readonly Row[]) =>
  rows.map(([at, request, answer]) => ({ what, at, request, answer, ...standing }));

const cases = [
  // A token bucket keeps what it holds.
  ...when("a larger config", { before: 1, terms: { config: large } }, [
    [0, { count: 3 }, served({ remaining: 0, resetAt: NOW + 2000 })],
    [0, { count: 30 }, denied(1350)],
    [1350, { count: 30 }, served({ remaining: 0 })],
    [0, { count: 41 }, tooLarge],
  ]),
  ...when("more tokens", { before: 1, terms: { more: 8 } }, [
    [0, {}, served({ remaining: 2, resetAt: NOW + 1000 })],
    [900, { count: 12 }, served({ remaining: 0 })],
    [0, { count: 13 }, tooLarge],
  ]),
  ...when("more tokens of a quota", { name: "quota", before: 3, terms: { more: 2 } }, [
    [0, { count: 4 }, served({ remaining: 0 })],
    [0, { count: 8 }, tooLarge],
  ]),
  ...when("more tokens of a sliding window", { name: "slide", before: 1, terms: { more: 2 } }, [
    [0, { count: 2 }, served({ remaining: 0 })],
    [0, { count: 3 }, denied(1000)],
  ]),
  ...when("more tokens, with an end", { after: 12, terms: { more: 8, ...ending(300) } }, [
    [0, { count: 1 }, denied(100)],
    [0, { count: 5 }, tooLarge],
    [299, { count: 2 }, served()],
    [300, { count: 5 }, tooLarge],
  ]),
  ...when("a config that serves before its end", { after: 4, terms: { config: faster, ...ending(MINUTE) } }, [
    [0, {}, denied(250, { remaining: 0, resetAt: NOW + 1000 })],
  ]),
  ...when("a config that ends when it would serve", { before: 4, terms: { config: faster, ...ending(1000) } }, [
    [0, { count: 4 }, denied(2000)],
    [0, { count: 5, reserve: true }, served({ retryAt: NOW + 1250 })],
  ]),
  ...when("a config that serves nothing in time", { before: 4, terms: { config: nearlyShut, ...ending(5000) } }, [
    [0, {}, denied(5000)],
    [4999, {}, denied(5000)],
    [5000, {}, served()],
  ]),
  ...when("a config that serves what the limit cannot", { after: 40, terms: { config: large, ...ending(1000) } }, [
    [0, { count: 19 }, denied(950)],
    [0, { count: 30 }, tooLarge],
    [0, { count: 30, reserve: { within: 500 } }, forEver],
  ]),
  ...when("a smaller config", { terms: { config: small } }, [[0, { count: 3 }, tooLarge]]),
  ...when("a smaller config with an end", { terms: { config: small, ...ending(MINUTE) } }, [
    [0, { count: 3 }, denied(MINUTE, { remaining: 2, resetAt: NOW })],
    [0, { count: 5 }, { ...tooLarge, remaining: 2 }],
    [MINUTE, { count: 5 }, { ...tooLarge, remaining: 4 }],
  ]),
  ...when("another kind, which has a bucket of its own", { after: 3, terms: { config: sliding } }, [
    [0, { reserve: true }, served({ retryAt: NOW + 1000 })],
  ]),
  ...when("another kind after its end", { before: 4, terms: { config: sliding, ...ending(1000) } }, [
    [0, { count: 3 }, served({ remaining: 0 })],
    [1000, { count: 3 }, denied(1500)],
  ]),
  ...when("a config that ends before a reservation starts", { name: "slow", after: 4, terms: { config: lessSlow, ...ending(4000) } }, [
    [0, { count: 4 }, denied(8000)],
    [0, { count: 4, reserve: true }, served({ retryAt: NOW + 4000 })],
    [0, { count: 5, reserve: true }, served({ retryAt: NOW + 5000 })],
  ]), // oxfmt-ignore
  ...when("a block", { terms: { block: true, ...ending(MINUTE) } }, [
    [0, {}, blocked(MINUTE, { remaining: 0 })],
    [0, { count: 0 }, blocked(MINUTE, { remaining: 0 })],
    [0, { reserve: true }, blocked(MINUTE, { remaining: 0 })],
    [0, { config: large }, blocked(MINUTE, { remaining: 0 })],
    [MINUTE, {}, served({ remaining: 3, resetAt: NOW + MINUTE + 500 })],
  ]),
  ...when("a block without an end", { terms: { block: true } }, [
    [0, {}, { ...forEver, remaining: 0, resetAt: END_OF_TIME, reason: "blocked" }],
  ]),
  ...when("a block of the bucket without a key", { name: "all", terms: { block: true } }, [[0, {}, forEver]]),
  ...when("a block that ends before the debt is paid", { before: 14, terms: { block: true, ...ending(1000) } }, [
    [0, {}, blocked(5500)],
    [5499, {}, denied(5500)],
    [5500, {}, served()],
  ]),
  ...when("unlimited", { terms: { unlimited: true } }, [
    [0, { count: 0 }, served({ remaining: 4, resetAt: NOW })],
    [0, { count: 3 }, served({ remaining: 1 })],
    [0, { count: 1000 }, served({ remaining: 0 })],
    [0, { count: NaN }, "count must be a finite number"],
  ]),
  ...when("unlimited, with more taken than there is", { after: 3, terms: { unlimited: true, ...ending(1000) } }, [
    [0, { count: 5 }, served({ remaining: 0, resetAt: NOW + 4000 })],
  ]),
  ...when("unlimited, with an end and a debt", { after: 10, terms: { unlimited: true, ...ending(1000) } }, [
    [0, { reserve: true }, served({ remaining: 0, resetAt: NOW + 5500 })],
    [1000, {}, denied(3500)],
  ]),
  ...when("unlimited, with an end before that of a pause", { pauseMs: 1000, terms: { unlimited: true, ...ending(500) } }, [
    [0, {}, denied(1500)],
    [0, { count: 5 }, tooLarge],
    [0, { reserve: true }, served({ retryAt: NOW + 1000 })],
    [0, { reserve: { within: 1000 } }, served({ retryAt: NOW + 1000 })],
    [0, { reserve: { within: 600 } }, denied(400)],
    [0, { reserve: { within: 300 } }, denied(1200)],
  ]), // oxfmt-ignore
  ...when("a block of a limit in shadow", { name: "tried", terms: { block: true, ...ending(MINUTE) } }, [
    [0, {}, shadowing(MINUTE, blocked(MINUTE))],
  ]),
  ...when("a config of a limit in shadow", { name: "tried", after: 1, terms: { config: { ...bucket, capacity: 1 } } }, [
    [0, { count: 2 }, served({ shadow: { ...forEver, reason: "too large" } })],
  ]),
];

describe.each(placeNames)("in the %s", (place) => {
  const shards = { atLeast: 4, atMost: 4 };
  const job = internalMutationGeneric({ args: {}, handler: () => Promise.resolve(null) });
  const modules = { "./jobs.ts": () => Promise.resolve({ run: job }) };
  const { define, mutation, rows, parts, insert } = useBackend(place, modules);
  const limits = define({
    api: { ...bucket, keyed: true },
    all: { ...bucket },
    slow: { ...slow },
    wide: { ...large, capacity: 64, shards },
    fast: { ...large, rate: 200, capacity: 64, shards },
    slide: { kind: "sliding window", rate: 1, period: 1000, maxReserved: 0 },
    quota: { kind: "fixed window", rate: 5, period: MINUTE, start: NOW },
    plain: bucket,
    tried: { ...bucket, mode: "shadow" },
    planned: { ...bucket, rate: undefined, plans: { free: { rate: 2 }, pro: { rate: 3 } } },
  });
  const ofPlans = { name: "planned" };
  const { rateLimit, checkRateLimit, rateLimitAll, getRateLimit, listRateLimits } = limits;
  const alice = { name: "api", key: "alice" };
  const take = (count = 1) => rateLimit({ ...alice, count });
  const override = (terms: object, id: object = alice) => limits.overrideRateLimit({ ...id, ...terms });
  const clear = (id: object = alice) => limits.clearRateLimitOverride(id);
  const list = async (options: object = {}) => (await listRateLimits({ name: "api", ...options })).page;

  /** A call, a check and a projection give the same answer. Only an allowed call writes. */
  it.each(cases)("$what: after $at ms, $request gets $answer", async (given) => {
    const { name = "api", before = 0, after = 0, pauseMs = 0, terms, at, request, answer } = given;
    const id = name === "api" ? alice : { name };
    const asked = { ...id, ...request };
    await limits.adjustRateLimit({ ...id, count: before });
    await override(terms, id);
    await limits.adjustRateLimit({ ...id, count: after });
    await limits.pauseRateLimit({ ...id, until: NOW + pauseMs });
    const snapshot = await getRateLimit(id);
    vi.setSystemTime(NOW + at);
    const stored = await rows();
    const checked = checkRateLimit(asked);
    const called = rateLimit(asked);
    if (typeof answer === "string") {
      await expect(checked).rejects.toThrow(answer);
      await expect(called).rejects.toThrow(answer);
    } else {
      expect(await checked).toMatchObject(answer);
      expect(await called).toEqual(await checked);
      if (!("reserve" in request && typeof request.reserve === "object") && !("config" in request)) {
        const projected = projectRateLimit(snapshot, { now: NOW + at, ...request });
        expect(projected).toEqual({ ...(await checked), shadow: undefined, value: expect.any(Number) as number });
      }
    }
    if (typeof answer === "string" || !("ok" in answer && answer.ok)) expect(await rows()).toEqual(stored);
  });

  it("a snapshot does not depend on the clock: it keeps an override that has ended, and then projects the limit's own config", async () => {
    await take();
    await override({ block: true, ...ending(1000), note: "private" });
    const before = await getRateLimit(alice);
    vi.setSystemTime(NOW + 2000);
    expect(await getRateLimit(alice)).toEqual(before);
    const { override: block, ...own } = before;
    expect(block).toEqual({ ...own, until: NOW + 1000, reason: "blocked", pausedUntil: NOW + 1000 });
    expect(projectRateLimit(before, { now: NOW })).toMatchObject({ ok: false, retryAt: NOW + 1000 });
    expect(projectRateLimit(before, { now: NOW + 2000 })).toMatchObject({ ok: true });
    expect(projectRateLimit(before, { now: NOW + 1000, count: 9 })).toMatchObject(tooLarge);
  });

  it("a block without an end denies even after a reset, and damage does not open it", async () => {
    await take();
    await override({ block: true });
    await limits.resetRateLimit(alice);
    expect(await take()).toMatchObject({ ...forEver, reason: "blocked" });
    await insert({ ...alice, value: NaN, ts: NOW });
    await expect(take()).rejects.toThrow("so nothing is let through");
  });

  it("a block is thrown with its reason, and denies a call with several limits", async () => {
    await override({ block: true, ...ending(MINUTE) });
    const requests = [{ name: "plain" }, alice];
    for (const call of [rateLimit({ ...alice, throws: true }), rateLimitAll(requests, { throws: true })]) {
      const error: unknown = await call.catch((thrown: unknown) => thrown);
      const data = { kind: "RateLimited", name: "api", retryAt: NOW + MINUTE, retryAfter: MINUTE, reason: "blocked" };
      expect(isRateLimitError(error) && error.data).toEqual(data);
    }
    const all = await rateLimitAll(requests);
    expect(all).toMatchObject(denied(MINUTE, { statuses: [{ ok: true, remaining: 4 }, { ok: false }] }));
    expect(await limits.checkRateLimitAll(requests)).toEqual(all);
    await override({ block: true, ...ending(MINUTE) }, { name: "tried" });
    expect(await rateLimitAll([{ name: "tried" }, { name: "plain" }])).toMatchObject({ ok: true });
  });

  it("a take from an unlimited key can be refunded by date, and a job starts at once", async () => {
    await override({ unlimited: true });
    for (const count of [3, 30]) {
      expect(await rateLimit({ ...alice, count, refundable: true })).toMatchObject({ ok: true, takenAt: NOW });
      expect(await take(count)).not.toHaveProperty("takenAt");
    }
    const start = makeFunctionReference<"mutation">("jobs:run");
    expect(await limits.scheduleRateLimited({ ...alice, count: 9 }, start, {})).toMatchObject({ ok: true, runAt: NOW });
  });

  it.each(["in a pause", "by a clock behind", "after a gift"])("an unlimited take %s is refunded", async (when) => {
    await rateLimit({ ...alice, count: 2, refundable: true });
    await override({ unlimited: true });
    const isPaused = when === "in a pause";
    // Of the same millisecond less may come back.
    const later = () => vi.setSystemTime(NOW + 1);
    if (isPaused) await limits.pauseRateLimit({ ...alice, until: NOW + 60_000 }).then(later);
    else if (when === "after a gift") await limits.adjustRateLimit({ ...alice, count: -1 }).then(later);
    else vi.setSystemTime(NOW - 20);
    const { value: before } = await getRateLimit(alice);
    // A pause also holds for an unlimited key: only a reservation is made, for its end.
    if (isPaused) {
      for (const [reserve, retryAt] of [
        [false, NOW + 60_000],
        [{ within: 59_998 }, NOW + 2],
      ]) {
        expect(await rateLimit({ ...alice, reserve })).toMatchObject({ ok: false, retryAt, remaining: 0 });
      }
    }
    const status = await rateLimit({ ...alice, count: 30, refundable: true, reserve: isPaused });
    expect(status).toMatchObject({ ok: true, ...(isPaused && { retryAt: NOW + 60_000, takenAt: NOW + 1 }) });
    // What has come in a millisecond is less than a hundredth.
    expect((await getRateLimit(alice)).value).toBeCloseTo(before - 30, 2);
    await limits.adjustRateLimit({ ...alice, count: -30, takenAt: status.ok ? status.takenAt : NaN });
    expect((await getRateLimit(alice)).value).toBeCloseTo(before, 2);
  });

  it("the first take from an unlimited key is refunded, if it was reserved in a pause", async () => {
    await override({ unlimited: true });
    await limits.pauseRateLimit({ ...alice, until: NOW + 60_000 });
    vi.setSystemTime(NOW + 1);
    const taken = { takenAt: NOW + 1, retryAt: NOW + 60_000 };
    expect(await rateLimit({ ...alice, refundable: true, reserve: true })).toMatchObject(taken);
    expect((await getRateLimit(alice)).value).toBe(-1);
    await limits.adjustRateLimit({ ...alice, count: -1, takenAt: NOW + 1 });
    expect((await getRateLimit(alice)).value).toBe(0);
  });

  it("an unlimited key does not change if another limit of the call denies", async () => {
    await override({ unlimited: true });
    await take(3);
    await rateLimit({ name: "plain", count: 4 });
    const [one, none] = [served({ remaining: 1, resetAt: NOW + 1500 }), { remaining: 0, resetAt: NOW + 2000 }];
    const all = await rateLimitAll([{ ...alice, count: 30 }, { name: "plain" }]);
    expect(all).toEqual(denied(500, { statuses: [one, denied(500, none)] }));
  });

  describe("a limit on several rows", () => {
    const takeWide = (count = 1) => rateLimit({ name: "wide", count });

    /** Four rows, as many tokens in each. */
    const fillWide = (name: string, value: number) =>
      insert(...partsOf(2).map((shard) => ({ name, shard, value, ts: NOW - 1 })));

    it("denies until the end of its override if all its rows then hold the count", async () => {
      await fillWide("wide", 16);
      await override({ config: { ...large, capacity: 20 }, ...ending(1000) }, { name: "wide" });
      expect(await takeWide(60)).toMatchObject(denied(1000));
      await override({ config: { ...large, capacity: 20 } }, { name: "wide" });
      expect(await takeWide(60)).toMatchObject(tooLarge);
      await override({ block: true, ...ending(1000) }, { name: "wide" });
      expect(await takeWide(64)).toMatchObject(blocked(1000));
    });

    it.each<[string, () => Promise<unknown>]>([
      ["a block", () => override({ block: true, ...ending(1000) }, { name: "fast" })],
      ["an override", () => override({ config: { ...large, capacity: 20 }, ...ending(1000) }, { name: "fast" })],
      ["a pause", () => limits.pauseRateLimit({ name: "fast", until: NOW + 1000 })],
    ])("what is larger than a row waits for a row that owes, also beyond the end of %s", async (_what, act) => {
      const [first = "", ...others] = partsOf(2);
      await insert({ name: "fast", shard: first, value: -200, ts: NOW - 1 });
      await insert(...others.map((shard) => ({ name: "fast", shard, value: 16, ts: NOW - 1 })));
      await act();
      // The other rows are drawn, here and at the end.
      vi.spyOn(Math, "random").mockReturnValue(0.9);
      const { ok, retryAt } = (await rateLimit({ name: "fast", count: 60 })) as { ok: boolean; retryAt: number };
      expect(ok).toBe(false);
      vi.setSystemTime(retryAt - 1);
      expect(await rateLimit({ name: "fast", count: 60 })).toMatchObject({ ok: false });
      vi.setSystemTime(retryAt);
      expect(await rateLimit({ name: "fast", count: 60 })).toMatchObject({ ok: true });
    });

    it.each([16, -200])(
      "a reservation waits beyond the end of an override until any row that may be drawn serves it (a row holds %i)",
      async (value) => {
        const [first = "", ...others] = partsOf(2);
        await insert({ name: "fast", shard: first, value, ts: NOW - 1 });
        await insert(...others.map((shard) => ({ name: "fast", shard, value: 16, ts: NOW - 1 })));
        await override({ config: { ...large, capacity: 4, maxReserved: 0 }, ...ending(1000) }, { name: "fast" });
        vi.spyOn(Math, "random").mockReturnValue(0);
        const ask = () => rateLimit({ name: "fast", count: 6, reserve: { within: 10 } });
        const { ok, retryAt } = (await ask()) as { ok: boolean; retryAt: number };
        expect(ok).toBe(false);
        vi.setSystemTime(retryAt - 1);
        expect(await ask()).toMatchObject({ ok: false });
        vi.setSystemTime(retryAt);
        expect(await ask()).toMatchObject({ ok: true });
      },
    );

    it("a block of a fast limit says by one row when it ends, and not when all rows are full", async () => {
      await fillWide("fast", 16);
      await override({ block: true, ...ending(1000) }, { name: "fast" });
      draw(0);
      const status = await rateLimit({ name: "fast" });
      expect(status).toMatchObject({ ok: false, reason: "blocked", remaining: 0 });
      expect(status).not.toHaveProperty("resetAt");
    });

    it("owes on one row when unlimited, dates by that row, and says only ok", async () => {
      await override({ unlimited: true, ...ending(1000) }, { name: "fast" });
      await fillWide("fast", 16);
      draw(0.3, 0.3, 0.3, 0.3);
      const takeFast = (more: object) => rateLimit({ name: "fast", ...more });
      expect(await takeFast({ count: 100, refundable: true })).toEqual({ ok: true, takenAt: NOW });
      expect((await parts()).map(({ value }) => Math.floor(value))).toEqual([0, 16, -84, 16, 16]);
      await limits.pauseRateLimit({ name: "fast", until: NOW + 500 });
      expect(await takeFast({})).toEqual({ ok: false, retryAt: NOW + 500 });
      expect(await takeFast({ reserve: true })).toEqual({ ok: true, retryAt: NOW + 500 });
      vi.setSystemTime(NOW + 500);
      expect(await takeFast({ count: 0 })).toEqual({ ok: true });
    });

    it("that begins as one row is split while it is unlimited", async () => {
      await override({ unlimited: true }, { name: "fast" });
      await rateLimit({ name: "fast", count: 500 });
      expect(await rows()).toHaveLength(1 + 2);
      expect(await list({ name: "fast" })).toMatchObject([{ value: 64 - 500, ok: true, remaining: 0 }]);
    });
  });

  describe("lists", () => {
    const keys = async (options: object) => (await list(options)).map(({ key }) => key);

    it("show overrides in force, and with onlyOverridden only those", async () => {
      await take(4);
      const spam = { block: true, ...ending(1000), note: "spam" };
      await override(spam, { name: "api", key: "mallory" });
      await override({ config: { ...large, shards: 8 }, note: "paid" }, { name: "api", key: "zoe" });
      const page = await list();
      expect(page).toMatchObject([
        { key: "alice", value: 0, ok: false },
        { key: "mallory", value: 4, ...blocked(1000), override: spam },
        { key: "zoe", value: 40, ok: true, remaining: 39, override: { config: large, note: "paid" } },
      ]);
      expect(page[0]).not.toHaveProperty("override");
      expect(await keys({ onlyOverridden: true })).toEqual(["mallory", "zoe"]);
      await insert({ name: "api", key: "mallory", value: NaN, ts: NOW });
      expect((await list())[1]).toMatchObject({ error: expect.stringContaining("unusable") as string, override: spam });
      expect(await keys({ onlyLimited: true })).toEqual(["alice", "mallory"]);
      vi.setSystemTime(NOW + 1000);
      expect(await keys({ onlyOverridden: true })).toEqual(["zoe"]);
    });
  });

  it.each([
    [{}, "an override must have exactly one of config, more, block and unlimited, got none of them"],
    [{ block: true, until: NOW }, `until must be a time after now (${NOW}), in milliseconds since the epoch`],
    [{ block: true, until: NOW / 1000 }, "until must be a time after now"],
    [{ plan: "pro", more: 2, ...ofPlans }, "plan and more cannot be combined"],
    [{ plan: "pro", config: bucket, ...ofPlans }, "plan and config cannot be combined"],
    [{ block: true, key: undefined }, "key must be a non-empty string"],
    [{ block: true, name: "nobody", key: undefined }, "); define it to override it."],
  ])("%j is refused and not stored", async (terms, problem) => {
    await expect(override(terms)).rejects.toThrow(problem);
    expect(await rows()).toEqual([]);
  });

  it("an override replaces the previous one, and clearing none does nothing", async () => {
    await clear();
    await override({ block: true, note: "first" });
    await override({ unlimited: true, ...ending(1000) });
    const [row, ...others] = await rows();
    expect(row?.override).toEqual({ unlimited: true, ...ending(1000) });
    expect(others).toEqual([]);
    await clear();
    expect(await rows()).toEqual([]);
  });

  it("concurrent calls and an override take turns", async () => {
    const [first, , second] = await mutation((ctx) => {
      const { rateLimit, overrideRateLimit } = limits.within(ctx);
      return Promise.all([rateLimit(alice), overrideRateLimit({ ...alice, block: true }), rateLimit(alice)]);
    });
    expect([first, second]).toMatchObject([{ ok: true }, { ok: false, reason: "blocked" }]);
  });

  const none = "an override must have exactly one of";
  const damages: [problem: string, ...RateLimitOverride[]][] = [
    [none, { note: "neither" }],
    [none, { until: NOW }],
    [none, { block: true, unlimited: true, until: NOW } as never],
    ["until must be", { block: true, until: -1 }],
    ["There must be one, not several.", { block: true, until: NOW + 1 }, { unlimited: true }],
  ];
  const says = "It says nothing that can be used.";
  const controls: [problem: string, ...Partial<StoredRow>[]][] = [
    ...damages.map(([problem, ...overrides]) => [problem, ...overrides.map((override) => ({ override }))] as never),
    [says, {}],
    [says, { control: { count: 0 } }],
    [says, { control: { count: -1 }, override: { block: true } }],
    [says, { control: { count: 1, pause: { count: 2, at: NOW, until: NOW } } }],
    [says, { control: { count: 1, pause: { count: -1, at: NOW, until: NOW } } }],
    [says, { control: { count: 1, reset: { count: 0.5, at: NOW } } }],
    [says, { control: { count: 1, pause: { count: 1, at: NOW, until: NaN } } }],
    [says, { control: { count: 1, reset: { count: 1, at: -1 } } }],
  ];
  it.each(controls.flatMap(([problem, ...overrides]) => [1, 4].map((shards) => ({ shards, problem, overrides }))))(
    "a damaged control row denies all, and is not swept: $overrides on up to $shards rows",
    async ({ shards, problem, overrides }) => {
      const own = define({ api: { ...large, shards } });
      const plant = () =>
        insert(...overrides.map((each) => ({ ...alice, shard: CONTROL_SHARD, value: 0, ts: NOW, ...each })));
      const unusable = 'Rate limit "api": the stored override of key "alice" cannot be used, so nothing is let through';
      const isShut = async () => {
        for (const call of [own.rateLimit(alice), own.checkRateLimit(alice)]) {
          await expect(call).rejects.toThrow(`${unusable}; clearRateLimitOverride removes it. `);
          await expect(call).rejects.toThrow(problem);
        }
      };
      await plant();
      await isShut();
      const { page } = await own.listRateLimits({ name: "api" });
      expect(page).toMatchObject([{ key: "alice", ok: false, error: expect.stringContaining(problem) as string }]);
      vi.setSystemTime(NOW + 2 * MINUTE);
      expect(await own.sweepRateLimits({ next })).toEqual({ deleted: 0, isDone: true });
      await isShut();
      await clear();
      expect(await rows()).toEqual([]);
      await plant();
      await override({ block: true });
      expect(await own.rateLimit(alice)).toMatchObject({ ok: false, reason: "blocked" });
      await clear();
      expect(await own.rateLimit(alice)).toMatchObject({ ok: true });
    },
  );

  it("an override in another row has no effect, and a reset deletes it", async () => {
    await insert({ ...alice, value: 0, ts: NOW, override: { unlimited: true } });
    for (const call of [rateLimit, checkRateLimit]) expect(await call(alice)).toMatchObject({ ok: false });
    await limits.resetRateLimit(alice);
    expect(await rows()).toEqual([]);
  });
});

it.each([
  [{ name: "" }, "A rate limit's name must be a well-formed string"],
  [{ name: "api", key: "" }, 'Rate limit "api": key must be a non-empty string, got "".'],
  [{ name: "api", key: "k".repeat(257) }, 'Rate limit "api": key must be at most 256 characters'],
])("what an operator does needs a valid name and key: case %#", async (id, problem) => {
  const t = openBackend();
  await expect(t.mutation((ctx) => setOverride(ctx, id, { block: true }))).rejects.toThrow(problem);
  await expect(t.mutation((ctx) => clearOverride(ctx, id))).rejects.toThrow(problem);
  await expect(t.mutation((ctx) => pause(ctx, { ...id, until: NOW + 1 }))).rejects.toThrow(problem);
  await expect(t.mutation((ctx) => reset(ctx, id))).rejects.toThrow(problem);
});
