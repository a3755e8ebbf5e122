/** Overrides, which change one key's limit at run time, in the tables and in the component. */
import { isRateLimitError, projectRateLimit, type RateLimitConfig } from "convex-rate-limits";
import type { RateLimitOverride } from "convex-rate-limits/admin";
import { internalMutationGeneric, makeFunctionReference } from "convex/server";
import { describe, expect, it, vi } from "vitest";
import { clearOverride, setOverride } from "../../src/operations/override.js";
import { CONTROL_SHARD } from "../../src/engine/sharding/interval.js";
import { NOW, useClock } from "../support/clock.js";
import { type Calls, useBackend } from "../support/limits.js";
import { openBackend, placeNames } from "../support/places.js";

const END_OF_TIME = 8.64e15;
const MINUTE = 60_000;
const bucket: RateLimitConfig = { kind: "token bucket", rate: 2, period: 1000, capacity: 4 };
const large: RateLimitConfig = { kind: "token bucket", rate: 20, period: 1000, capacity: 40 };
const small: RateLimitConfig = { ...bucket, capacity: 2 };
const slow: RateLimitConfig = { kind: "token bucket", rate: 1, period: 2000, capacity: 4, maxReserved: 10 };
const nearlyShut: RateLimitConfig = { ...bucket, rate: 0.001 };
const next = makeFunctionReference<"mutation", { cursor?: string }>("sweeps:sweep");

useClock();

const faster: RateLimitConfig = { ...bucket, rate: 4 };
const lessSlow: RateLimitConfig = { ...slow, period: 1000 };
const roomy = { config: { ...nearlyShut, maxReserved: 2 }, until: NOW + 1000 };

/** The bucket before the request. */
interface Standing {
  /** The limit. The default is "api" with the key "alice". */
  name?: string;
  /** The tokens taken before and after the override was set. */
  before?: number;
  after?: number;
  terms: object;
}
/** A request `at` ms after the override was set, and its answer. A string is the text of an error. */
type Row = [at: number, request: object, answer: object | string];

const ending = (ms: number) => ({ until: NOW + ms });
const served = (more: object = {}) => ({ ok: true, ...more });
const denied = (ms: number, more: object = {}) => ({ ok: false, retryAt: NOW + ms, ...more });
const blocked = (ms: number, more: object = {}) => denied(ms, { reason: "blocked", ...more });
/** The answer in shadow: the call is allowed, and `shadow` has the denial. */
const shadowing = (resetMs: number, shadow: object) =>
  served({ remaining: 0, resetAt: NOW + resetMs, shadow: { ...shadow, remaining: 0, resetAt: NOW + resetMs } });
const forEver = { ok: false, retryAt: END_OF_TIME };
const never = (what: string, most: number) =>
  `Rate limit "api": ${what} can never be served: it can hold at most ${most}`;

const when = (what: string, standing: Standing, rows: readonly Row[]) =>
  rows.map(([at, request, answer]) => ({ what, at, request, answer, ...standing }));

const cases = [
  ...when("a larger config", { terms: { config: large } }, [
    [0, { count: 30 }, served({ remaining: 10, resetAt: NOW + 1500 })],
    [0, { count: 100, atLeast: 10 }, served({ taken: 40, remaining: 0 })],
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
    [0, { count: 30 }, forEver],
    [0, { count: 30, reserve: { within: 500 } }, forEver],
  ]),
  ...when("a config above what the limit's own window can hold", { name: "slide", after: 4, terms: roomy }, [
    [0, { count: 6, reserve: true }, forEver],
    [1000, { count: 6, reserve: true }, "can never be served"],
  ]),
  ...when("a smaller config", { terms: { config: small } }, [
    [0, { count: 3 }, forEver],
    [0, { count: 5 }, never("count 5", 2)],
  ]),
  ...when("a smaller config with an end", { terms: { config: small, ...ending(MINUTE) } }, [
    [0, { count: 3 }, denied(MINUTE, { remaining: 2, resetAt: NOW })],
    [0, { count: 9, atLeast: 3 }, denied(MINUTE, { remaining: 2, resetAt: NOW })],
    [0, { count: 9, atLeast: 2 }, served({ taken: 2 })],
    [0, { count: 9, atLeast: 5 }, never("atLeast 5", 2)],
    [MINUTE, { count: 9, atLeast: 5 }, never("atLeast 5", 4)],
  ]),
  ...when("a smaller config on 4 rows", { name: "wide", before: 1, terms: { config: { ...large, capacity: 20 } } }, [
    [0, { count: 30 }, { ...forEver, remaining: 20, resetAt: NOW }],
  ]),
  ...when("another kind of limit", { after: 3, terms: { config: { kind: "sliding window", rate: 3, period: 1000 } } }, [
    [0, { reserve: true }, served({ retryAt: NOW + 1000 })],
  ]),
  ...when(
    "a config that ends before a reservation starts",
    { name: "slow", after: 4, terms: { config: lessSlow, ...ending(4000) } },
    [
      [0, { count: 4 }, denied(8000)],
      [0, { count: 4, reserve: true }, served({ retryAt: NOW + 4000 })],
      [0, { count: 5, reserve: true }, served({ retryAt: NOW + 5000 })],
    ],
  ),
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
  ...when("a block that ends before enough has arrived", { before: 4, terms: { block: true, ...ending(1) } }, [
    [0, { count: 4, atLeast: 2 }, blocked(1000)],
  ]),
  ...when("unlimited", { terms: { unlimited: true } }, [
    [0, { count: 3, atLeast: 1 }, served({ taken: 3, remaining: 1 })],
    [0, { count: 1e300, atLeast: 1 }, served({ taken: 1e12 })],
    [0, { count: NaN }, "count must be a finite number"],
    [0, { count: 2e12 }, "can never be served"],
  ]),
  ...when("unlimited, with more taken than there is", { after: 3, terms: { unlimited: true, ...ending(1000) } }, [
    [0, { count: 5 }, served({ remaining: 0, resetAt: NOW + 4000 })],
    [0, { count: 6, atLeast: 5 }, served({ taken: 6, remaining: 0, resetAt: NOW + 4500 })],
  ]),
  ...when("unlimited, with an end and a debt", { after: 10, terms: { unlimited: true, ...ending(1000) } }, [
    [0, { reserve: true }, served({ remaining: 0, resetAt: NOW + 5500 })],
    [1000, {}, denied(3500)],
  ]),
  ...when("a block of a limit in shadow", { name: "tried", terms: { block: true, ...ending(MINUTE) } }, [
    [0, {}, shadowing(MINUTE, blocked(MINUTE))],
  ]),
  ...when("a config of a limit in shadow", { name: "tried", after: 1, terms: { config: { ...bucket, capacity: 1 } } }, [
    [0, {}, shadowing(500, denied(500))],
  ]),
];

describe.each(placeNames)("in the %s", (place) => {
  const shards = { atLeast: 4, atMost: 4 };
  const job = internalMutationGeneric({ args: {}, handler: () => Promise.resolve(null) });
  const modules = { "./jobs.ts": () => Promise.resolve({ run: job }) };
  const { define, mutation, rows, insert, cost } = useBackend(place, modules);
  const limits = define({
    api: { ...bucket, keyed: true, overrides: true },
    all: { ...bucket, overrides: true },
    slow: { ...slow, overrides: true },
    wide: { ...large, capacity: 64, shards, overrides: true },
    fast: { ...large, rate: 200, capacity: 64, shards, overrides: true },
    slide: { kind: "sliding window", rate: 1, period: 1000, maxReserved: 0, overrides: true },
    plain: bucket,
    tried: { ...bucket, mode: "shadow", overrides: true },
  });
  const { rateLimit, checkRateLimit, rateLimitAll, getRateLimit, listRateLimits } = limits;
  const asPlain = define({ api: bucket });
  const alice = { name: "api", key: "alice" };
  const take = (count = 1) => rateLimit({ ...alice, count });
  const override = (terms: object, id: object = alice) => limits.overrideRateLimit({ ...id, ...terms });
  const clear = (id: object = alice) => limits.clearRateLimitOverride(id);
  const list = async (options: object = {}) => (await listRateLimits({ name: "api", ...options })).page;

  /** A call, a check and a projection give the same answer. Only an allowed call writes. */
  it.each(cases)("$what: after $at ms, $request gets $answer", async (given) => {
    const { name = "api", before = 0, after = 0, terms, at, request, answer } = given;
    const id = name === "api" ? alice : { name };
    const asked = { ...id, ...request };
    await limits.adjustRateLimit({ ...id, count: before });
    await override(terms, id);
    await limits.adjustRateLimit({ ...id, count: after });
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
      if (!("atLeast" in request) && !("reserve" in request && typeof request.reserve === "object")) {
        const projected = projectRateLimit(snapshot, { now: NOW + at, ...request });
        expect(projected).toEqual({ ...(await checked), shadow: undefined });
      }
    }
    if (typeof answer === "string" || !("ok" in answer && answer.ok)) expect(await rows()).toEqual(stored);
  });

  it("a count that only an override could serve is misuse at a key without one", async () => {
    await take();
    await expect(take(5)).rejects.toThrow(never("count 5", 4));
  });

  it("a snapshot does not depend on the clock: it keeps an override that has ended, and then projects the limit's own config", async () => {
    await take();
    await override({ block: true, ...ending(1000), note: "private" });
    const before = await getRateLimit(alice);
    vi.setSystemTime(NOW + 2000);
    expect(await getRateLimit(alice)).toEqual(before);
    expect(before.override).toEqual({ until: NOW + 1000, reason: "blocked" });
    expect(projectRateLimit(before, { now: NOW })).toMatchObject({ ok: false, retryAt: NOW + 1000 });
    expect(projectRateLimit(before, { now: NOW + 2000 })).toMatchObject({ ok: true });
    expect(() => projectRateLimit(before, { now: NOW + 1000, count: 9 })).toThrow("count must be from 0 to 4");
  });

  it("a pause works on a bucket with an override and on one without", async () => {
    const end = NOW + 5000;
    const servedAt = async (id: object) => (await checkRateLimit(id)).retryAt;
    await override({ config: large });
    const all = { name: "all" };
    const buckets = [alice, all, { name: "wide" }];
    for (const id of buckets) await limits.pauseRateLimit({ ...id, until: end });
    expect(await Promise.all(buckets.map(servedAt))).toEqual([end + 50, end + 500, end + 50]);
    await override({ block: true }, all);
    await limits.pauseRateLimit({ ...all, until: end + 1000 });
    await clear(all);
    expect(await servedAt(all)).toBe(end + 1500);
  });

  it("a block without an end denies even after a reset, and even if the rows are damaged", async () => {
    await override({ block: true });
    await limits.resetRateLimit(alice);
    expect(await take()).toMatchObject({ ...forEver, reason: "blocked" });
    await insert({ ...alice, value: NaN, ts: NOW });
    expect(await take()).toMatchObject({ ...forEver, reason: "blocked" });
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

  it("a count of 0 to an unlimited key writes nothing", async () => {
    await override({ unlimited: true });
    expect(await take(0)).toMatchObject({ ok: true, remaining: 4 });
    expect(await rows()).toHaveLength(1);
    await take(6);
    const inDebt = await rows();
    vi.setSystemTime(NOW + 10);
    expect(await take(0)).toEqual({ ok: true, remaining: 0, resetAt: NOW + 3000 });
    expect(await rows()).toEqual(inDebt);
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
    if (when === "in a pause") await limits.pauseRateLimit({ ...alice, until: NOW + 60_000 });
    else if (when === "after a gift") await limits.adjustRateLimit({ ...alice, count: -1 });
    else vi.setSystemTime(NOW - 20);
    const { value: before } = await getRateLimit(alice);
    const status = await rateLimit({ ...alice, count: 30, refundable: true });
    expect((await getRateLimit(alice)).value).toBe(before - 30);
    await limits.adjustRateLimit({ ...alice, count: -30, takenAt: status.ok ? status.takenAt : NaN });
    expect((await getRateLimit(alice)).value).toBe(before);
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

    it("denies until the end of its override if all its rows then hold the count", async () => {
      await takeWide();
      expect(await rows()).toHaveLength(4);
      await override({ config: { ...large, capacity: 20 }, ...ending(1000) }, { name: "wide" });
      expect(await takeWide(60)).toMatchObject(denied(1000));
      await override({ block: true, ...ending(1000) }, { name: "wide" });
      expect(await takeWide(64)).toMatchObject(blocked(1000));
    });

    it("keeps its rows when unlimited, if the two rows that are read are short and others are not", async () => {
      await override({ unlimited: true }, { name: "fast" });
      vi.spyOn(Math, "random").mockReturnValue(0);
      for (let call = 0; call < 16; call++) await rateLimit({ name: "fast" });
      vi.setSystemTime(NOW + 1);
      expect(await rateLimit({ name: "fast" })).toMatchObject({ ok: true, remaining: 47 });
      expect(await rows()).toHaveLength(1 + 4);
    });

    it("dates a take from several rows by the clock when unlimited, also if one has a later date", async () => {
      await override({ unlimited: true }, { name: "fast" });
      const config = { ...large, rate: 200, capacity: 64 };
      const row = (shard: string, value: number) => ({ name: "fast", shard, value, ts: NOW, config });
      // What follows a gift is dated after it.
      await insert({ ...row("00", 0), headroom: [{ at: NOW + 2, count: 0 }] });
      await insert(...["01", "10", "11"].map((shard) => row(shard, 16)));
      vi.spyOn(Math, "random").mockReturnValue(0);
      vi.setSystemTime(NOW + 1);
      expect(await rateLimit({ name: "fast", refundable: true })).toMatchObject({ ok: true, takenAt: NOW + 1 });
    });

    it("allows everything when unlimited, and then owes as one row", async () => {
      await override({ unlimited: true, ...ending(1000) }, { name: "wide" });
      for (let i = 0; i < 12; i++) expect(await takeWide(8)).toMatchObject({ ok: true });
      expect(await takeWide(100)).toMatchObject({ ok: true, remaining: 0 });
      vi.setSystemTime(NOW + 1000);
      expect(await list({ name: "wide" })).toMatchObject([{ value: 64 - 196 + 20, ok: false }]);
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

    it("refuse onlyOverridden for a limit without overrides", async () => {
      await expect(list({ name: "plain", onlyOverridden: true })).rejects.toThrow(
        'Rate limit "plain": onlyOverridden needs a limit that is defined with overrides: true',
      );
    });
  });

  const needed = 'Rate limit "plain": overrideRateLimit needs a limit that is defined with overrides: true';
  it.each([
    [{}, "an override must have exactly one of config, block and unlimited, got none of them"],
    [{ block: true, until: NOW }, `until must be a time after now (${NOW}), in milliseconds since the epoch`],
    [{ block: true, until: NOW / 1000 }, "until must be a time after now"],
    [{ block: true, reason: "spam" }, '"reason" is not a field of overrideRateLimit'],
    [{ block: true, name: "plain", key: undefined }, needed],
    [{ block: true, key: undefined }, "key must be a non-empty string"],
    [{ block: true, name: "nobody", key: undefined }, "is not one of your limits"],
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

  it("a limit that is no longer defined with overrides ignores stored ones", async () => {
    await override({ block: true });
    for (const remaining of [3, 2]) expect(await asPlain.rateLimit(alice)).toMatchObject({ ok: true, remaining });
    expect(await asPlain.getRateLimit(alice)).not.toHaveProperty("override");
    const { page } = await asPlain.listRateLimits({ name: "api" });
    expect(page).toEqual([{ key: "alice", value: 2, ok: true, remaining: 1, resetAt: NOW + 1500 }]);
  });

  const none = "an override must have exactly one of";
  const damages: [problem: string, ...RateLimitOverride[]][] = [
    [none, { note: "neither" }],
    [none, { until: NOW }],
    [none, { block: true, unlimited: true, until: NOW } as never],
    ["until must be", { block: true, until: -1 }],
    ["There must be one, not several.", { block: true, until: NOW + 1 }, { unlimited: true }],
  ];
  it.each(damages.flatMap(([problem, ...overrides]) => [1, 4].map((shards) => ({ shards, problem, overrides }))))(
    "a damaged override denies all and is not swept until it is cleared or replaced: $overrides on up to $shards rows",
    async ({ shards, problem, overrides }) => {
      const own = define({ api: { ...large, shards, overrides: true } });
      const plant = () =>
        insert(...overrides.map((each) => ({ ...alice, shard: CONTROL_SHARD, value: 0, ts: NOW, override: each })));
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

  it("a row without an override at its place stays: clearing does not remove it, and a new override does not hide it", async () => {
    await insert({ ...alice, shard: CONTROL_SHARD, value: 4, ts: NOW });
    await clear();
    await override({ config: large });
    expect(await rows()).toHaveLength(2);
    await expect(take()).rejects.toThrow("so nothing is let through");
    await override({ block: true });
    expect(await take()).toMatchObject({ ok: false, reason: "blocked" });
  });

  it("an override in another row has no effect, and a reset deletes it with the bucket's other rows", async () => {
    const damage = { value: 0, ts: NOW, override: { unlimited: true } } as const;
    for (const call of [rateLimit, checkRateLimit]) {
      await insert({ ...alice, shard: "0", ...damage });
      await expect(call(alice)).rejects.toThrow("resetRateLimit makes it full again");
      await limits.resetRateLimit(alice);
      await insert({ ...alice, ...damage });
      expect(await call(alice)).toMatchObject({ ok: false });
      await limits.resetRateLimit(alice);
      expect(await rows()).toEqual([]);
    }
  });

  const [few, wide] = [alice, { name: "wide" }];
  const block = { block: true, ...ending(MINUTE) };
  const smaller = { config: { ...large, capacity: 20 } };
  type Costly = [string, of: object, terms: object | null, call: string & keyof Calls, args: object, cost: number[]];
  // A bucket of one row needs one range read with any override. Several rows need one more, unless the override denies for ever.
  it.each<Costly>([
    ["a call without an override", few, null, "rateLimit", {}, [1, 2, 1]],
    ["a call under another config", few, { config: large, ...ending(MINUTE) }, "rateLimit", {}, [1, 3, 1]],
    ["a call without a limit", few, { unlimited: true }, "rateLimit", { count: 9 }, [1, 3, 1]],
    ["a blocked call", few, block, "rateLimit", {}, [1, 2, 0]],
    ["a blocked check", few, block, "checkRateLimit", {}, [1, 2, 0]],
    ["a snapshot of a block", few, block, "getRateLimit", {}, [1, 2, 0]],
    ["a charge", few, { config: large }, "adjustRateLimit", { count: 1 }, [1, 3, 1]],
    ["setting an override", few, null, "overrideRateLimit", { block: true }, [1, 0, 1]],
    ["clearing an override", few, { block: true }, "clearRateLimitOverride", {}, [1, 2, 1]],
    ["a call on several rows", wide, null, "rateLimit", {}, [2, 2, 1]],
    ["a check on several rows", wide, null, "checkRateLimit", {}, [1, 4, 0]],
    ["a call that is blocked for ever", wide, { block: true }, "rateLimit", {}, [1, 1, 0]],
    ["a count too large for the override", wide, smaller, "rateLimit", { count: 30 }, [2, 6, 0]],
  ])("%s reads ranges and documents, and writes documents", async (_what, of, terms, call, args, expected) => {
    await rateLimit(of);
    if (terms) await override(terms, of);
    const [ranges, documentsRead, documentsWritten] = expected;
    const measured = await cost(limits, (calls) => calls[call]({ ...of, ...args }));
    expect(measured).toEqual({ ranges, documentsRead, documentsWritten, hops: place === "tables" ? 0 : 1 });
  });
});

it.each([
  [{ name: "" }, "A rate limit's name must be a well-formed string"],
  [{ name: "api", key: "" }, 'Rate limit "api": key must be a non-empty string, got "".'],
  [{ name: "api", key: "k".repeat(257) }, 'Rate limit "api": key must be at most 256 characters'],
])("setting or clearing an override needs a valid name and key: case %#", async (id, problem) => {
  const t = openBackend();
  await expect(t.mutation((ctx) => setOverride(ctx, id, { block: true }))).rejects.toThrow(problem);
  await expect(t.mutation((ctx) => clearOverride(ctx, id))).rejects.toThrow(problem);
});
