/** Conversion between rows and shards: which rows are read, which rows are damage, and which rows are written. */
import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bucketOf, requestTo } from "../../src/engine/request.js";
import type { Bucket } from "../../src/engine/bucket.js";
import { type Interval, WHOLE } from "../../src/engine/sharding/interval.js";
import { fold, heldByAll, type Shard, shardAt, splitTo } from "../../src/engine/sharding/shard.js";
import { fromStored, toStored } from "../../src/engine/units.js";
import { NO_CONTROL } from "../../src/engine/control.js";
import { consume } from "../../src/operations/consume.js";
import { type Row, write } from "../../src/storage/rows.js";
import { find } from "../../src/storage/found.js";
import { changeOf, loadAll, loadFirst, shardsOf, type StoredShard } from "../../src/storage/shards.js";
import { histories, limits, stateAfter } from "../engine/arbitraries.js";
import { useBackend } from "../support/limits.js";
import type { QueryCtx, StoredRow } from "../support/places.js";
import { partsOf } from "../support/parts.js";
import { forAny } from "../support/random.js";

const NOW = 1_700_000_000_000;
const config: RateLimitConfig = { kind: "token bucket", rate: 64, period: 1000, shards: 16 };
const bucket = bucketOf({ name: "send", key: "alice", config });
const under = (more: object): Bucket => bucketOf({ name: "send", key: "alice", config: { ...config, ...more } });

const tokensIn = (shards: readonly Shard[], now = NOW) =>
  shards.map((shard) => heldByAll([shard], now) / shard.limit.unitsPerToken);
const wholeOf = ({ limit }: Bucket, tokens: number): Shard =>
  shardAt(limit, WHOLE, { value: tokens * limit.unitsPerToken, ts: NOW });

const { mutation, query, insert, rows: stored, open } = useBackend("tables");
const save = (...change: Parameters<typeof changeOf>) => mutation((ctx) => write(ctx, changeOf(...change)));
/** Splits a bucket evenly, to a level. */
const splitBucket = (level: number, tokens = 32, of = bucket) =>
  save(of, [], splitTo(of.limit, wholeOf(of, tokens), level, NOW));
/** The result of a read in a query. It is not the query's own result, since limits have functions, which a query may not return. */
async function reading<T>(read: (ctx: QueryCtx) => Promise<T>): Promise<T> {
  const results: T[] = [];
  await query(async (ctx) => void results.push(await read(ctx)));
  return results[0] as T;
}
const load = (of = bucket, interval?: Interval) =>
  reading(async (ctx) => loadAll(ctx, of, { control: (await find(ctx, of, 0)).control }, interval));
const loadPart = (random: number, of = bucket) =>
  reading(async (ctx) => loadFirst(ctx, of, await find(ctx, of, random)));

describe("the rows of a split bucket", () => {
  it("have their shard, and no config: each is a share of the limit as it is now", async () => {
    await splitBucket(1);
    const rows = await stored();
    const stamps = { _id: expect.anything() as string, _creationTime: expect.anything() as number };
    expect(rows).toEqual([
      { ...stamps, name: "send", key: "alice", value: 16, ts: NOW, shard: "0" },
      { ...stamps, name: "send", key: "alice", value: 16, ts: NOW, shard: "1" },
    ]);
    open();
    await splitBucket(2);
    for (const more of [{ shards: "auto" }, { maxReserved: 8 }, { capacity: 64 }, { rate: 8, capacity: 64 }]) {
      expect(tokensIn(await load(under(more)))).toEqual([8, 8, 8, 8]);
    }
    expect(tokensIn(await load(under({ capacity: 20 })))).toEqual([5, 5, 5, 5]);
    expect(tokensIn(await load(under({ rate: 8, capacity: 64 })), NOW + 1000)).toEqual([10, 10, 10, 10]);
    // More than the limit permits now count as fewer.
    expect(tokensIn(await load(under({ shards: 2 })))).toEqual([16, 16]);
    expect(tokensIn([await loadPart(0.3, under({ shards: 2 }))])).toEqual([16]);
    expect(tokensIn(await load(under({ shards: 1 })))).toEqual([32]);
    const parts = await load();
    await save(bucket, parts.slice(0, 2), [fold(bucket.limit, parts.slice(0, 2), NOW, "0")]);
    expect(tokensIn(await load(under({ shards: 2 })))).toEqual([16, 16]);
  });

  it.each([1, 2])("remember as many times as a row does where they become %i", (shards) => {
    const of = under({ kind: "sliding window", period: 1000, shards });
    const times = Array.from({ length: 64 }, (_, i) => NOW - 500 + i);
    const rows = partsOf(3).map((shard, i) => {
      const recent = times.map((at) => ({ at: at + 64 * i, count: 0.0625 }));
      return { shard, value: 4, ts: NOW, recent, bucket: of.limit.bucket } as unknown as Row;
    });
    const left = shardsOf(of, { control: NO_CONTROL, rows });
    expect(left.map(({ state }) => state.recent?.length)).toEqual(left.map(() => 64));
    expect(tokensIn(left)).toEqual(left.map(() => 32 / shards));
  });

  it("of another kind or period are another bucket's", async () => {
    await splitBucket(1);
    for (const more of [{ kind: "sliding window" }, { kind: "fixed window", period: "day" }]) {
      const other = under(more);
      expect(await load(other)).toMatchObject([{ interval: WHOLE, rows: [], state: { value: other.limit.capacity } }]);
    }
  });
});

describe("a control row", () => {
  const control = { count: 1, pause: { count: 1, at: NOW, until: NOW + 500 } };
  const row = { name: "send", key: "alice", shard: "!", value: 0, ts: 0, control };

  it.each([[0], [1], [2]])(
    "is found on level %i, and its pause holds for each row that has not seen it",
    async (level) => {
      await splitBucket(level);
      await insert(row);
      for (const random of [0, 0.7]) {
        expect((await reading((ctx) => find(ctx, bucket, random))).control).toEqual(control);
        expect((await loadPart(random)).state).toMatchObject({ value: 0, ts: NOW + 500, seen: 1 });
      }
      const all = await load();
      expect(tokensIn(all, NOW + 500)).toEqual(all.map(() => 0));
      await save(bucket, all, all);
      expect(tokensIn(await load(), NOW + 1500)).toEqual(all.map(() => 64 / all.length));
    },
  );

  it("makes a row full that has not seen its reset, and nothing comes back that a clock ahead has dated", async () => {
    await splitBucket(1);
    const reset = { count: 1, at: NOW - 1000 };
    await insert({ ...row, control: { count: 1, reset } });
    const full = {
      value: 32 * bucket.limit.unitsPerToken,
      ts: reset.at,
      headroom: [{ at: NOW + 1, units: 0 }],
      seen: 1,
    };
    expect((await load()).map(({ state }) => state)).toEqual([full, full]);
  });

  it("alone holds for a bucket without rows, of one row or of several", async () => {
    await insert(row);
    for (const of of [bucket, under({ shards: 1 })]) {
      expect((await loadPart(0.3, of)).state).toMatchObject({ value: 0, ts: NOW + 500, seen: 1 });
    }
  });
});

it("a call reads only the row that covers its random number", async () => {
  await splitBucket(2);
  for (const random of [0, 255 / 1024, 1 / 4, 511 / 1024, 1 / 2, 1023 / 1024]) {
    expect((await loadPart(random)).interval).toBe(["00", "01", "10", "11"][Math.floor(4 * random)]);
  }
  open();
  expect(await loadPart(0.7)).toMatchObject({ interval: WHOLE, rows: [] });
  await splitBucket(0);
  expect(await loadPart(0.7)).toMatchObject({ interval: WHOLE, rows: [{ value: 32 }] });
});

describe("damage", () => {
  const damaged = 'Rate limit "send": the bucket of key "alice" cannot be used: ';
  const gap = `${damaged}the stored shards leave a gap, so nothing is let through.`;
  const row = (shard: string | undefined, more: object = {}): StoredRow => {
    const part = shard !== undefined && { shard };
    return { name: "send", key: "alice", value: 1, ts: NOW, ...part, ...more };
  };
  const [left, right, quarter] = ["0", "1", "10"];

  it.each<[string, StoredRow[], string]>([
    ["a gap at the end", [row(left)], gap],
    ["a gap at the start", [row(right)], gap],
    ["a gap in the middle", [row(left), row("11")], gap],
    ["a row within another", [row(left), row(quarter), row(right)], gap],
    ["an invalid shard", [row("02")], `${damaged}the stored shard "02" is unusable`],
    ["a part that is too small", [row("0".repeat(12))], `${damaged}the stored shard "000000000000" is unusable`],
    ["an invalid shard of three", [row(left), row("override"), row(right)], `${damaged}the stored shard "override"`],
    ["the whole, written as an empty shard", [row("")], `${damaged}the stored shard "" is unusable`],
    ["an invalid value", [row(left, { value: NaN }), row(right)], `${damaged}the stored state is unusable`],
  ])("is %s, and then nothing is let through", async (_what, rows, problem) => {
    const withoutGaps = (each: object) => Object.entries(each).filter(([, value]) => value !== undefined);
    await insert(...rows.map((each) => Object.fromEntries(withoutGaps(each)) as unknown as StoredRow));
    await expect(load()).rejects.toThrow(problem);
  });

  it("is found by a call that reads the rows of an interval, or finds no row", async () => {
    await insert(row(left), row("11"));
    await expect(load(bucket, "1")).rejects.toThrow(gap);
    expect(await loadPart(0.1)).toMatchObject({ interval: "0" });
    // The row before a gap does not cover it.
    await expect(loadPart(0.6)).rejects.toThrow(gap);
    open();
    await insert(row(right));
    await expect(loadPart(0.1)).rejects.toThrow(gap);
  });
});

it("the row of a merged bucket has neither shard nor config", async () => {
  await splitBucket(3);
  const shards = await load();
  await save(bucket, shards, [fold(bucket.limit, shards, NOW)]);
  const fields = (await stored()).map((row) => Object.keys(row).sort());
  expect(fields).toEqual([["_creationTime", "_id", "key", "name", "ts", "value"]]);
});

describe("several rows that are each the whole bucket", () => {
  it("together hold what is left after the takes of all, and never more than any one of them, for every kind", () => {
    const whole = limits.filter(({ capacity }) => capacity > 0);
    const several = fc.array(histories, { minLength: 2, maxLength: 4 });
    forAny([whole, several, fc.nat(200_000)], 100, (limit, found, later) => {
      const states = found.map((history) => stateAfter(limit, history).state);
      const rows = states.map((state) => ({ name: "some", ...toStored(limit, state), bucket: limit.bucket }) as Row);
      const of: Bucket = { name: "some", key: undefined, limit };
      const [healed, ...others] = shardsOf(of, { control: NO_CONTROL, rows }) as [StoredShard];
      expect(others).toEqual([]);
      expect(healed.rows).toEqual(rows);
      const lastWrite = Math.max(...states.map(({ ts }) => ts));
      const each = rows.map((row) => ({ ...healed, state: fromStored(limit, row, undefined) }));
      const missing = each.map((shard) => limit.capacity - heldByAll([shard], lastWrite));
      const all = missing.reduce((sum, units) => sum + units, 0);
      expect(limit.capacity - heldByAll([healed], lastWrite)).toBe(all);
      for (const time of [lastWrite, lastWrite + later, lastWrite + 500 * later]) {
        const strictest = Math.min(...each.map((shard) => heldByAll([shard], time)));
        expect(heldByAll([healed], time)).toBeLessThanOrEqual(strictest);
      }
    });
  });

  it("hold all tokens of the next window, less what they owe", () => {
    const of = bucketOf({ name: "send", config: { kind: "fixed window", rate: 10, period: 1000, start: 0 } });
    const row = {
      name: "send",
      value: 6,
      ts: NOW + 500,
      window: { since: NOW, used: 4 },
      bucket: of.limit.bucket,
    } as Row;
    const held = [2, 3].map((count) => {
      const rows = new Array<Row>(count).fill(row);
      return [999, 1000, 2000].map((ms) => tokensIn(shardsOf(of, { control: NO_CONTROL, rows }), NOW + ms));
    });
    expect(held.flat(2)).toEqual([2, 10, 10, -2, 8, 10]);
  });

  it.each([2, 3])(
    "become one row at the next call that takes, and a denial does not change them: %i",
    async (count) => {
      const one = bucketOf({ name: "send", key: "alice", config: { kind: "token bucket", rate: 5, period: 1000 } });
      const row = { name: "send", key: "alice", value: 4, ts: Date.now() + 60_000 };
      await insert(...new Array<typeof row>(count).fill(row));
      const left = 5 - count;
      const take = (asked: number) => mutation((ctx) => consume(ctx, requestTo(one, { count: asked })));
      expect(await take(left + 1)).toMatchObject({ ok: false, remaining: left });
      expect(await stored()).toHaveLength(count);
      expect(await take(left)).toMatchObject({ ok: true, remaining: 0 });
      expect(await stored()).toMatchObject([{ value: 0 }]);
    },
  );

  it.each<[string, held: Record<string, number[]>, left: number[]]>([
    ["on a part", { "0": [30], "1": [32, 31, 20] }, [30, 19]],
    ["on a part and its halves", { "0": [30], "00": [15], "01": [12], "1": [5] }, [25, 5]],
    ["on a half, twice", { "0": [30, 31], "1": [32] }, [29, 32]],
    ["on each part", { "0": [30, 20], "1": [32, 1] }, [18, 1]],
  ])("that overlap %s count all that was taken, and each part becomes one row", async (_what, held, left) => {
    const row = { name: "send", key: "alice", ts: NOW };
    const shards = Object.entries(held).flatMap(([shard, values]) => values.map((value) => ({ ...row, shard, value })));
    await insert(...shards);
    expect(tokensIn(await load())).toEqual(left);
    expect(tokensIn(await load(under({ shards: 1 })))).toEqual([left.reduce((sum, tokens) => sum + tokens, 0)]);
    const parts = await load();
    await save(
      bucket,
      parts,
      parts.map((part) => ({ ...part })),
    );
    expect((await stored()).map(({ value }) => value)).toEqual(left);
  });

  it("become one row also if a deploy has split one of them, and another has changed its config", async () => {
    await insert({ name: "send", key: "alice", value: 60, ts: NOW });
    await splitBucket(1, 40);
    for (const now of [bucket, under({ rate: 8, capacity: 64 })]) {
      expect(tokensIn(await load(now))).toEqual([64 - 4 - 24]);
    }
  });
});
