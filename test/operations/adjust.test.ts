import type { RateLimitConfig } from "convex-rate-limits";
import type { RateLimitedJob } from "convex-rate-limits/jobs";
import { describe, expect, it, vi } from "vitest";
import { NOW, useClock } from "../support/clock.js";
import { draw } from "../support/draw.js";
import { run } from "../support/jobs.js";
import { useBackend } from "../support/limits.js";
import { partsOf } from "../support/parts.js";
import { component, placeNames, type StoredRow } from "../support/places.js";

useClock();

const config: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000, maxReserved: 20 };

describe.each(placeNames)("in the %s", (place) => {
  const { define } = useBackend(place);
  const { rateLimit, adjustRateLimit, getRateLimit, resetRateLimit } = define({ llm: config });
  const valueOf = async (args: object) => (await getRateLimit(args)).value;

  it("a debt is cut off at the largest countable one: no refund by date counts before it is paid or reset", async () => {
    const charge = (count: number) => adjustRateLimit({ name: "llm", count });
    // 2^50 units of 1/102,400,000 of a token, at 10 tokens a second.
    const most = 2 ** 50 / 102_400_000;
    const cutOff = { ok: true, retryAt: NOW + Math.ceil(most * 100), remaining: 0 };
    const { takenAt } = (await rateLimit({ name: "llm", refundable: true })) as { takenAt: number };
    await charge(1e7);
    for (const count of [1e6, 1.1e7, 1e12]) {
      expect(await charge(count)).toMatchObject(cutOff);
      expect(await valueOf({ name: "llm" })).toBe(-most);
    }
    // The amount that was cut off is unknown, so a refund of it would create tokens.
    expect(await adjustRateLimit({ name: "llm", count: -1e12, takenAt })).toMatchObject(cutOff);
    await resetRateLimit({ name: "llm" });
    expect(await charge(-1)).toEqual({ ok: true, remaining: 10, resetAt: NOW });
    // What is charged down to zero owes nothing, so it has no retryAt.
    expect(await charge(10)).toEqual({ ok: true, remaining: 0, resetAt: NOW + 1000 });
  });

  it("all tokens of a sliding window come back, also if another plan has reserved since", async () => {
    const window = { kind: "sliding window", rate: 7, period: 1000 } as const;
    const limits = define({ sliding: { plans: { a: window, b: window, other: { ...window, period: 10 } } } });
    const name = "sliding";
    for (const plan of ["a", "other"] as const) await limits.rateLimit({ name, plan });
    // The bucket has several rows, so the control row says it.
    await limits.resetRateLimit({ name });
    vi.setSystemTime(NOW + 10);
    const taken = await limits.rateLimit({ name, plan: "a", count: 6, refundable: true });
    const { takenAt } = taken as { takenAt: number };
    vi.setSystemTime(NOW + 20);
    const reserved = await limits.rateLimit({ name, plan: "b", count: 2, reserve: true });
    expect(reserved).toMatchObject({ retryAt: NOW + 1010 });
    vi.setSystemTime(NOW + 30);
    expect(await limits.adjustRateLimit({ name, plan: "a", count: -6, takenAt })).toMatchObject({ remaining: 5 });
  });
});

/** A bucket of several rows. `held` has the tokens of each row, and the call reads the first row. */
describe.each(placeNames)("one of several rows in the %s", (place) => {
  const bucket = { kind: "token bucket", rate: 64, capacity: 64 } as const;
  type Name = keyof typeof configs;
  const configs = {
    slow: { ...bucket, period: 64_000_000 },
    fast: { ...bucket, period: 64 },
    auto: { kind: "token bucket", rate: 64_000, period: 1000, capacity: 64_000 },
    sliding: { kind: "sliding window", rate: 64, period: 1000 },
  } as const;
  const { define, rows, insert } = useBackend(place);
  const limits = define({
    ...Object.fromEntries(Object.entries(configs).map(([name, own]) => [name, { ...own, shards: 8 }])),
    auto: { ...configs.auto, shards: "auto" },
  });
  const { adjustRateLimit, cancelRateLimited } = limits;
  const each = (level: number, value: number) => Array<number>(2 ** level).fill(value);
  const fill = (name: Name, values: readonly number[], ageMs = 0, more: Partial<StoredRow> = {}) => {
    const parts = partsOf(Math.log2(values.length));
    const row = { name, ts: NOW - ageMs, ...bucketIn(name), ...more };
    return insert(...values.map((value, i) => ({ ...row, value, shard: parts[i] ?? "" })));
  };
  const bucketIn = (name: Name) => (name === "sliding" ? { bucket: "sliding window 1000" } : {});
  const values = async () => (await rows()).map(({ value }) => value);
  /** Makes the call find the first row (0), or the last (0.99). */
  const find = (random: number) => vi.spyOn(Math, "random").mockReturnValue(random);
  /** A job that the window lets start at once. `spread` delays it by up to a second, during which it can be cancelled. */
  const schedule = async (count: number, name: Name = "sliding"): Promise<RateLimitedJob> => {
    const args = { label: "job", tokens: count };
    const result = await limits.scheduleRateLimited({ name, count, spread: 1000 }, run, args);
    if (!result.ok) throw new Error("denied");
    return result.job;
  };

  const fives = each(3, 5);
  type Row = [what: string, name: Name, held: number[], ageMs: number, count: number, left: number[]];
  it.each<Row>([
    ["is charged alone if it holds the charge", "slow", fives, 0, 2, [3, ...fives.slice(1)]],
    ["is refunded alone if it has room", "slow", fives, 0, -3, [8, ...fives.slice(1)]],
    ["merges with its neighbour when it is emptied, as in a call", "slow", fives, 0, 5, fives.slice(1)],
    ["is not written by 0", "slow", fives, 10, 0, fives],
    ["gives what it has, and another the rest", "fast", fives, 0, 7, [0, 3, ...fives.slice(2)]],
    ["owes the rest if two rows do not hold the charge", "fast", fives, 0, 40, [-30, 0, ...fives.slice(2)]],
    // A reservation would split it into larger parts.
    ["splits if it is hot, as in a call", "fast", each(2, 16), 1, 1, [7, 8, 16, 16, 16]],
    ["merges with the others if it is cold", "slow", fives, 20_000, 1, [39]],
    ["stays if it is cold and refunded", "slow", fives, 20_000, -1, [6, ...fives.slice(1)]],
  ])("%s", async (_what, name, held, ageMs, count, left) => {
    await fill(name, held, ageMs);
    draw(0, 0.2);
    const answer = await adjustRateLimit({ name, count });
    // A call that reads one row knows no more than this.
    expect(answer).toEqual({ ok: true });
    const stored = (await rows()).sort((a, b) => ((a.shard ?? "") < (b.shard ?? "") ? -1 : 1));
    expect(stored.map(({ value }) => Math.floor(value))).toEqual(left);
  });

  it.each([
    ["a refund by date that a full row of a fast limit cannot take lapses", "fast", 1, { takenAt: NOW - 1 }, 0],
    ["so does a gift", "fast", 1, {}, 0],
    ["a gift is looked for room on all rows of a slow limit", "slow", 1, {}, 4],
    ["a refund is looked for room on all rows if one was just written", "fast", 0, { takenAt: NOW }, 4],
    ["so is a refund by date", "slow", 1, { takenAt: NOW - 1 }, 4],
    ["a refund from before the last write comes back nowhere", "slow", 1, { takenAt: NOW - 2 }, 0],
  ] as const)("%s", async (_what, name, ageMs, date, back) => {
    await fill(name, [8, ...Array<number>(7).fill(0)], ageMs, { headroom: [{ at: NOW - ageMs, count: 0 }] });
    find(0);
    expect(await adjustRateLimit({ name, count: -4, ...date })).toMatchObject({ ok: true });
    expect((await values()).map(Math.floor)).toEqual([8, back, ...Array<number>(6).fill(0)]);
  });

  it("of a fast limit gets all back that a cancel undoes, if another row is drawn", async () => {
    // A clock ahead has written the rows.
    await fill("fast", each(3, 8), -30);
    find(0);
    const job = await schedule(4, "fast");
    vi.setSystemTime(NOW + 31);
    find(0.99);
    expect(await cancelRateLimited(job)).toEqual({ canceled: true });
    expect(await values()).toEqual(each(3, 8));
  });

  it("of a sliding window is charged now, and refunded from its latest take", async () => {
    const older = { at: NOW - 100, count: 3 };
    await fill("sliding", fives, 0, { recent: [older] });
    find(0);
    await adjustRateLimit({ name: "sliding", count: 2 });
    expect((await rows())[0]).toMatchObject({ value: 3, recent: [older, { at: NOW, count: 2 }] });
    await adjustRateLimit({ name: "sliding", count: -4 });
    expect((await rows())[0]).toMatchObject({ value: 7, recent: [{ ...older, count: 1 }] });
  });

  it("of a sliding window does not refund another row's take that is older than its own", async () => {
    await fill("sliding", each(3, 8), 0, { recent: [] });
    find(0);
    const job = await schedule(3);
    find(0.99);
    vi.setSystemTime(NOW + 10);
    await adjustRateLimit({ name: "sliding", count: 4 });
    expect(await values()).toEqual([5, 8, 8, 8, 8, 8, 8, 4]);
    // The call finds the last row again. It has room, but only for its own later take.
    expect(await cancelRateLimited(job)).toEqual({ canceled: true });
    expect(await values()).toEqual([8, 8, 8, 8, 8, 8, 8, 4]);
  });

  it.each([0, 0.99])("of a sliding window keeps an earlier take if a later job is cancelled: %d", async (random) => {
    await fill("sliding", each(3, 8), 0, { recent: [] });
    find(0);
    const first = await schedule(3);
    vi.setSystemTime(NOW + 10);
    find(0.99);
    const second = await schedule(2);
    expect(await values()).toEqual([5, 8, 8, 8, 8, 8, 8, 6]);
    find(random);
    expect(await cancelRateLimited(second)).toEqual({ canceled: true });
    expect(await values()).toEqual([5, 8, 8, 8, 8, 8, 8, 8]);
    expect(await cancelRateLimited(first)).toEqual({ canceled: true });
    expect(await values()).toEqual(each(3, 8));
  });

  it("of a sliding window refunds a split job from all of its rows, before older takes", async () => {
    const older = { at: NOW - 100, count: 3 };
    const own = { at: NOW, count: 2 };
    const job = await schedule(4);
    await limits.resetRateLimit({ name: "sliding" });
    const recent = [[older, own], [own], [], [], [], [], [], []];
    const row = { name: "sliding", ts: NOW, seen: 1, ...bucketIn("sliding") };
    const value = [3, 6, 8, 8, 8, 8, 8, 8];
    await insert(...partsOf(3).map((shard, i) => ({ ...row, shard, value: value[i] ?? NaN, recent: recent[i] ?? [] })));
    find(0);
    expect(await cancelRateLimited(job)).toEqual({ canceled: true });
    const parts = (await rows()).filter(({ control }) => !control);
    expect(parts.map(({ value }) => value)).toEqual([5, 8, 8, 8, 8, 8, 8, 8]);
    expect(parts[0]?.recent).toEqual([older]);
  });

  it("of an auto limit is split by a charge as by a call", async () => {
    find(0.49);
    await fill("auto", each(1, 30_000), 1000);
    expect(await adjustRateLimit({ name: "auto", count: 1 })).toEqual({ ok: true });
    // One of two rows was split into half of the 2^6 rows.
    expect(await rows()).toHaveLength(1 + 32);
  });
});

describe("in one call to the component", () => {
  const { mutation } = useBackend("component");
  it("several adjustments each have a status, in their order", async () => {
    const adjustments = [4, 10, -9].map((count) => ({ name: "llm", config, count }));
    const statuses = await mutation((ctx) => ctx.runMutation(component.upkeep.adjust, { adjustments }));
    expect(statuses).toMatchObject([{ remaining: 6 }, { remaining: 0, retryAt: NOW + 400 }, { remaining: 5 }]);
    expect(statuses).toHaveLength(3);
  });
});
