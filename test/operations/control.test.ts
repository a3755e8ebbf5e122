/** Pauses and resets, which the control row says: on one row and on four, of every kind. */
import { makeFunctionReference } from "convex/server";
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it, vi } from "vitest";
import { pause } from "../../src/operations/adjust.js";
import { NOW, useClock } from "../support/clock.js";
import { run } from "../support/jobs.js";
import { useBackend } from "../support/limits.js";
import { partsOf } from "../support/parts.js";
import { openBackend, placeNames, type StoredRow } from "../support/places.js";

useClock();

const END = NOW + 5000;
const kinds = {
  "token bucket": {},
  "fixed window": { start: NOW },
  "sliding window": {},
} as const;
const shards = { atLeast: 4, atMost: 4 };
const next = makeFunctionReference<"mutation">("jobs:sweep");
const each = Object.keys(kinds) as (keyof typeof kinds)[];
const cases = placeNames.flatMap((place) =>
  each.flatMap((kind) => [undefined, shards].map((own) => ({ place, kind, rows: own ? 4 : 1, shards: own }))),
);

describe.each(cases)("a $kind on $rows rows in the $place", ({ place, kind, rows: count, shards }) => {
  const { define, rows, parts, insert } = useBackend(place);
  const plans = { free: { rate: 40 }, pro: { rate: 400 } };
  const limits = define({ api: { kind, period: 1000, ...kinds[kind], shards, plans } as never });
  const { rateLimit, adjustRateLimit, pauseRateLimit, resetRateLimit, getRateLimit } = limits;
  const id = { name: "api", key: "alice" };
  const alice = { ...id, plan: "free" };
  const take = (more: object = {}) => rateLimit({ ...alice, ...more });
  const schedule = async (tokens: number) => {
    const scheduled = await limits.scheduleRateLimited({ ...alice, count: tokens }, run, { label: "job", tokens });
    return (scheduled as { job: object }).job;
  };
  const heldNow = async () => {
    const { page } = await limits.listRateLimits({ name: "api" });
    return page.map(({ value }) => value);
  };
  const control = async () => (await rows()).filter((row) => row.control);

  it("paused starts nothing before the end, under no plan, and then holds nothing", async () => {
    await take();
    const before = await parts();
    expect(before).toHaveLength(count);
    await pauseRateLimit({ ...id, until: END - 0.5 });
    // A pause until an earlier time, or one that has passed, does not end it.
    await pauseRateLimit({ ...id, until: NOW + 1 });
    await pauseRateLimit({ ...id, until: NOW });
    expect((await parts()).filter((row) => !row.control)).toEqual(before);
    const [first] = await control();
    expect(first?.control).toEqual({ count: 1, pause: { count: 1, at: NOW, until: END } });
    expect(await getRateLimit(id)).toMatchObject({ pausedUntil: END });
    for (const now of [NOW, END - 1]) {
      vi.setSystemTime(now);
      for (const plan of ["free", "pro"]) {
        const denied = await take({ plan });
        expect(denied).toMatchObject({ ok: false });
        expect(denied.retryAt).toBeGreaterThanOrEqual(END);
        expect(await take({ plan, count: 0 })).toMatchObject({ ok: true });
        expect(await limits.checkRateLimit({ ...alice, plan })).toEqual(denied);
      }
      const [entry] = (await limits.listRateLimits({ name: "api" })).page;
      expect(entry).toMatchObject({ ok: false, remaining: 0, pausedUntil: END });
    }
    vi.setSystemTime(END);
    expect(await heldNow()).toEqual([0]);
    // Time counts from there: everything is back after a period.
    vi.setSystemTime(END + 1000);
    expect(await take({ count: 40 })).toMatchObject({ ok: true });
  });

  it("paused owes at the end what was charged in the pause, less what was given", async () => {
    await adjustRateLimit({ ...alice, count: 43 });
    await pauseRateLimit({ ...id, until: END });
    vi.setSystemTime(END - 1000);
    await pauseRateLimit({ ...id, until: END + 1 });
    await adjustRateLimit({ ...alice, count: 8 });
    await adjustRateLimit({ ...alice, count: -9 });
    // It ends no sooner, so it is none.
    for (const until of [END - 1, END + 1]) await pauseRateLimit({ ...id, until });
    vi.setSystemTime(END + 1);
    // Earlier charges are paid by then.
    expect(await heldNow()).toEqual([1]);
  });

  it("paused is reserved from as of the end, and a cancel in the pause gives it back", async () => {
    await pauseRateLimit({ ...id, until: END });
    vi.setSystemTime(NOW + 1);
    expect(await take({ reserve: { within: 4998 } })).toMatchObject({ ok: false });
    const status = await take({ count: 8, reserve: true, refundable: true });
    expect(status).toMatchObject({ ok: true, takenAt: NOW + 1 });
    expect(status.retryAt).toBeGreaterThan(END);
    const [promised = NaN] = await heldNow();
    await limits.cancelRateLimited(await schedule(4));
    // Another row gets no more than it owes then.
    expect([promised, ...(count === 4 ? [promised - 4] : [])]).toContain((await heldNow())[0]);
  });

  it("is full again after a reset, which ends a pause and keeps an override, and nothing from before comes back", async () => {
    const first = await take({ count: 30, refundable: true });
    const job = await schedule(4);
    await pauseRateLimit({ ...id, until: END });
    await limits.overrideRateLimit({ ...id, more: 1000, until: END });
    vi.setSystemTime(NOW + 1);
    expect(await resetRateLimit(id)).toBeNull();
    await limits.clearRateLimitOverride(id);
    expect(await take({ count: 20 })).toMatchObject({ ok: true });
    await limits.cancelRateLimited(job);
    await adjustRateLimit({ ...alice, count: -30, takenAt: (first as { takenAt: number }).takenAt });
    expect((await heldNow()).map(Math.round)).toEqual([20]);
  });

  it("extended keeps what is reserved since: it comes back when its job is cancelled", async () => {
    await take();
    await pauseRateLimit({ ...id, until: NOW + 2000 });
    vi.setSystemTime(NOW + 10);
    // Every row is written in the pause.
    for (let i = 0; i < 20; i++) await schedule(1);
    vi.setSystemTime(NOW + 20);
    await pauseRateLimit({ ...id, until: END });
    vi.setSystemTime(NOW + 30);
    const job = await schedule(3);
    const [held = NaN] = await heldNow();
    vi.setSystemTime(NOW + 40);
    await limits.cancelRateLimited(job);
    expect(await heldNow()).toEqual([held + 3]);
  });

  it("is repaired by a reset, whatever is wrong with its rows", async () => {
    const bucket = kind === "token bucket" ? {} : { bucket: `${kind} 1000` };
    const random = vi.spyOn(Math, "random");
    const expectRepaired = async (key: string, ...damaged: Partial<StoredRow>[]) => {
      const own = { ...id, key };
      await insert(...damaged.map((fields) => ({ ...own, ...bucket, value: 1, ts: NOW, ...fields })));
      await expect(take(own)).rejects.toThrow("resetRateLimit makes it full again");
      await resetRateLimit(own);
      expect(await take(own)).toMatchObject({ ok: true });
    };
    const names = count === 4 ? ["00", "01", "1"] : ["0"];
    const damages = [{ value: NaN }, { ts: NaN }, { ts: -1 }, { ts: 0.5 }, { seen: NaN }, { value: NaN, seen: 9 }];
    for (const [i, damage] of damages.entries())
      await expectRepaired(`damaged ${i}`, ...names.map((shard) => ({ shard, ...damage })));
    // Wherever its only row lies, and under whatever name.
    for (const shard of ["0", "1", "x"]) {
      random.mockReturnValue(shard === "0" ? 0.6 : 0.1);
      await expectRepaired(`only ${shard}`, { shard });
    }
    if (count === 1) return;
    // A part is missing.
    random.mockReturnValue(0.6);
    for (const key of ["bob", "carol"]) {
      await insert(...["0", "11"].map((shard) => ({ ...id, ...bucket, key, shard, value: 1, ts: NOW })));
      await expect(take({ key })).rejects.toThrow("leave a gap");
      await resetRateLimit({ ...id, key });
    }
    expect(await take({ key: "bob", count: 40 })).toMatchObject({ ok: true });
    // Where a part that has its row is asked first, nobody knows what was taken from the other: it is empty.
    random.mockReturnValue(0.1);
    expect(await take({ key: "carol" })).toMatchObject({ ok: true });
    random.mockReturnValue(0.6);
    expect(await take({ key: "carol", count: 40 })).toMatchObject({ ok: false });
    await limits.pauseRateLimit({ ...id, key: "carol", until: NOW + 2000 });
    vi.setSystemTime(NOW + 2000);
    expect(await take({ key: "carol", count: 1 })).toMatchObject({ ok: false });
    vi.setSystemTime(NOW + 3000);
    expect(await take({ key: "carol", count: 40 })).toMatchObject({ ok: true });
  });

  it("is under no plan after a reset, also if a row holds a config that cannot be used", async () => {
    const plan: RateLimitConfig = { kind: "token bucket", rate: -1, period: 1000 };
    await take({ plan: "pro" });
    for (const row of await rows()) {
      const { _id: _, _creationTime: __, ...content } = row as typeof row & { _creationTime: number };
      await insert({ ...content, key: "bob", plan });
    }
    const bob = { ...id, key: "bob" };
    expect((await getRateLimit(id)).plan).toBe("pro");
    await expect(getRateLimit(bob)).rejects.toThrow("the stored config is unusable");
    for (const own of [id, bob]) {
      await resetRateLimit(own);
      expect(await getRateLimit(own)).toMatchObject({ value: 40, tokens: 40 });
      expect(await getRateLimit(own)).not.toHaveProperty("plan");
    }
  });

  it("is reset for ever: rows that a call had read before do not undo it", async () => {
    await take({ count: 20 });
    await resetRateLimit(id);
    const parting = count === 4 ? partsOf(2) : [undefined];
    const bucket = kind === "token bucket" ? {} : { bucket: `${kind} 1000` };
    expect((await rows()).filter(({ seen }) => seen !== undefined)).toEqual([]);
    for (let call = 0; call < 40; call++) expect(await take()).toMatchObject({ ok: true });
    expect(await take()).toMatchObject({ ok: false });
    const kept = (await rows()).filter((row) => !row.control);
    expect(kept.every((row) => row.bucket === bucket.bucket)).toBe(true);
    expect(kept.length).toBeLessThanOrEqual(parting.length);
    vi.setSystemTime(NOW + 100_000);
    await limits.sweepRateLimits({ next });
    expect(await rows()).toEqual([]);
  });
});

describe.each(placeNames)("in the %s", (place) => {
  const { define, rows, insert } = useBackend(place);
  const { resetRateLimit, pauseRateLimit } = define({ api: { kind: "token bucket", rate: 5, period: 1000 } });

  it("a reset of one row writes no control row, unless tokens may come back; it deletes the pause of a bucket without one", async () => {
    await resetRateLimit({ name: "api" });
    await insert({ name: "api", value: 0, ts: NOW });
    await resetRateLimit({ name: "api" });
    expect(await rows()).toEqual([]);
    await pauseRateLimit({ name: "api", until: END });
    await resetRateLimit({ name: "api" });
    expect(await rows()).toMatchObject([{ control: { count: 1 } }]);
    expect((await rows())[0]?.control).not.toHaveProperty("pause");
  });

  it("a job from before a reset gets nothing of what is taken at its time, also after a sweep", async () => {
    const hourly = define({ api: { kind: "sliding window", rate: 1, period: 3_600_000 } });
    const id = { name: "api" };
    await hourly.rateLimit(id);
    const { job } = (await hourly.scheduleRateLimited(id, run, { label: "job", tokens: 1 })) as { job: object };
    const promised = NOW + 3_600_000;
    await hourly.resetRateLimit(id);
    // A second reset knows of no promise.
    await hourly.resetRateLimit(id);
    vi.setSystemTime(NOW + 100_000);
    await hourly.sweepRateLimits({ next });
    vi.setSystemTime(promised);
    expect(await hourly.rateLimit(id)).toMatchObject({ ok: true });
    expect(await hourly.cancelRateLimited(job)).toEqual({ canceled: true });
    expect(await hourly.rateLimit(id)).toMatchObject({ ok: false });
    vi.setSystemTime(promised + 3_600_000 + 60_000);
    await hourly.sweepRateLimits({ next });
    expect(await rows()).toEqual([]);
  });
});

it("a pause that ends by now, or no later than the one before, writes nothing", async () => {
  const t = openBackend();
  // The database of a query cannot write.
  const ask = (until: number) => t.query((ctx) => pause(ctx as never, { name: "api", until }));
  for (const until of [NOW - 1, NOW]) expect(await ask(until)).toBeNull();
  await t.mutation((ctx) => pause(ctx, { name: "api", until: END }));
  for (const until of [END - 1, END]) expect(await ask(until)).toBeNull();
});
