/** Rows of a bucket as its shards, and back: which rows are read, what counts as damage, and which rows are written. */
import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Bucket, parseBucket, requestTo } from "../../src/engine/request.js";
import { WHOLE } from "../../src/engine/sharding/interval.js";
import { fold, heldByAll, type Shard, shardAt, splitTo } from "../../src/engine/sharding/shard.js";
import { fromStored, toStored } from "../../src/engine/units.js";
import { consume } from "../../src/operations/consume.js";
import { readRows, type Row, write, type Writer } from "../../src/storage/rows.js";
import { changeOf, loadAll, loadAt, shardsOf, type StoredShard } from "../../src/storage/shards.js";
import { histories, limits, stateAfter } from "../engine/arbitraries.js";
import { partsOf } from "../support/parts.js";
import { type Backend, insertRows, openBackend, type QueryCtx, rowsIn, type StoredRow } from "../support/places.js";

const NOW = 1_700_000_000_000;
const config: RateLimitConfig = { kind: "token bucket", rate: 64, period: 1000, shards: 16 };
const bucket = parseBucket({ name: "send", key: "alice", config });
const under = (more: Partial<RateLimitConfig>): Bucket =>
  parseBucket({ name: "send", key: "alice", config: { ...config, ...more } as RateLimitConfig });

const save = (ctx: Writer, ...change: Parameters<typeof changeOf>) => write(ctx, changeOf(...change));
const tokensIn = (shards: readonly Shard[], now = NOW) =>
  shards.map((shard) => heldByAll([shard], now) / shard.limit.unitsPerToken);
const wholeOf = ({ limit }: Bucket, tokens: number): Shard =>
  shardAt(limit, WHOLE, { value: tokens * limit.unitsPerToken, ts: NOW });

/** A backend on which a bucket is split evenly, down to a level. */
async function splitBucket(level: number, tokens = 32, of = bucket): Promise<Backend> {
  const t = openBackend();
  const shards = splitTo(of.limit, wholeOf(of, tokens), level, NOW);
  await t.mutation((ctx) => save(ctx, of, [], shards));
  return t;
}
/** What a query reads, as it is: limits hold functions, which no query may return. */
async function reading<T>(t: Backend, read: (ctx: QueryCtx) => Promise<T>): Promise<T> {
  const results: T[] = [];
  await t.query(async (ctx) => {
    results.push(await read(ctx));
  });
  return results[0] as T;
}
const load = (t: Backend, of = bucket) => reading(t, (ctx) => loadAll(ctx, of));
const stored = async (t: Backend) => (await rowsIn("tables", t)).map(({ value, shard }) => ({ value, shard }));

describe("the rows of a split bucket", () => {
  it("hold their part, and the config that the shares were cut from", async () => {
    const t = await splitBucket(1);
    const rows = await rowsIn("tables", t);
    expect(rows).toMatchObject([
      { name: "send", key: "alice", value: 16, ts: NOW, shard: "0" },
      { name: "send", key: "alice", value: 16, ts: NOW, shard: "1" },
    ]);
    for (const row of rows) {
      // Without what does not decide how shares are cut: shards and maxReserved.
      expect(row).toHaveProperty("config", {
        kind: "token bucket",
        rate: 64,
        period: 1000,
        capacity: 64,
      });
    }
  });

  it("of an unsplit bucket say neither", async () => {
    const t = await splitBucket(0);
    const [row] = await rowsIn("tables", t);
    expect(Object.keys(row ?? {}).sort()).toEqual(["_creationTime", "_id", "key", "name", "ts", "value"]);
  });

  it("are read as the shards that they stand for", async () => {
    const t = await splitBucket(3);
    const shards = await load(t);
    expect(shards.map(({ interval }) => interval)).toEqual(partsOf(3));
    expect(tokensIn(shards)).toEqual(Array(8).fill(4));
    expect(shards.every(({ rows }) => rows.length === 1)).toBe(true);
    expect(fold(bucket.limit, WHOLE, shards, NOW)).toEqual(wholeOf(bucket, 32));
  });

  it("are none of a full bucket, and those of no other", async () => {
    const t = await splitBucket(3);
    for (const other of [{ name: "other", key: "alice" }, { name: "send", key: "bob" }, { name: "send" }]) {
      const shards = await load(t, parseBucket({ ...other, config }));
      expect(shards).toMatchObject([{ interval: WHOLE, rows: [] }]);
      expect(tokensIn(shards)).toEqual([64]);
    }
    expect(bucket).toMatchObject({ name: "send", key: "alice" });
  });

  it("are still a bucket's when only its bounds have changed: rows, and reservations", async () => {
    const t = await splitBucket(2);
    expect(tokensIn(await load(t, under({ shards: "auto" })))).toEqual([8, 8, 8, 8]);
    expect(tokensIn(await load(t, under({ maxReserved: 5 })))).toEqual([8, 8, 8, 8]);
    expect(tokensIn(await load(t, under({ capacity: 64 })))).toEqual([8, 8, 8, 8]);
  });

  it("keep what a sliding window remembers", async () => {
    const sliding = parseBucket({
      name: "slide",
      config: { kind: "sliding window", rate: 64, period: 1000, shards: 4 },
    });
    const { limit } = sliding;
    const taken = limit.kind.take(
      limit,
      limit.kind.advance(limit, wholeOf(sliding, 64).state, NOW),
      8 * limit.unitsPerToken,
    );
    const t = openBackend();
    await t.mutation((ctx) => save(ctx, sliding, [], splitTo(limit, shardAt(limit, WHOLE, taken), 2, NOW)));
    expect(await rowsIn("tables", t)).toMatchObject(Array(4).fill({ value: 14, recent: [{ at: NOW, count: 2 }] }));
    const shards = await load(t, sliding);
    expect(fold(limit, WHOLE, shards, NOW).state).toEqual(taken);
  });
});

describe("a row", () => {
  it("is found by any point that it covers, alone", async () => {
    const t = await splitBucket(2);
    const at = async (random: number) => await reading(t, (ctx) => loadAt(ctx, bucket, random));
    for (const random of [0, 255 / 1024, 1 / 4, 511 / 1024, 1 / 2, 1023 / 1024]) {
      expect((await at(random)).interval).toBe(["00", "01", "10", "11"][Math.floor(4 * random)]);
    }
    const one = await splitBucket(0);
    expect(await reading(one, (ctx) => loadAt(ctx, bucket, 0.7))).toMatchObject({
      interval: WHOLE,
      rows: [{ value: 32 }],
    });
    const none = openBackend();
    expect(await reading(none, (ctx) => loadAt(ctx, bucket, 0.7))).toMatchObject({
      interval: WHOLE,
      rows: [],
    });
  });

  it("is found with its neighbours within an interval", async () => {
    const t = await splitBucket(3);
    const shards = await reading(t, (ctx) => loadAll(ctx, bucket, "10"));
    expect(shards.map(({ interval }) => interval)).toEqual(["100", "101"]);
  });

  it("of an unsplit bucket is its whole state", async () => {
    const t = await splitBucket(0, 7);
    const rows = await reading(t, (ctx) => readRows(ctx, bucket));
    expect(rows.map((row) => fromStored(bucket.limit, row, bucket.key))).toEqual([wholeOf(bucket, 7).state]);
  });
});

describe("damage", () => {
  const damaged = 'Rate limit "send": the bucket of key "alice" cannot be used: ';
  const gap = `${damaged}the stored shards overlap or leave a gap, so nothing is let through.`;
  const row = (shard: string | undefined, more: object = {}): StoredRow => ({
    name: "send",
    key: "alice",
    value: 1,
    ts: NOW,
    ...(shard !== undefined && { shard, config: { kind: "token bucket", rate: 64, period: 1000, capacity: 64 } }),
    ...more,
  });
  const [left, right, quarter] = ["0", "1", "10"];
  const without = { config: undefined };

  it.each<[string, StoredRow[], string]>([
    ["a gap at the end", [row(left)], gap],
    ["a gap at the start", [row(right)], gap],
    ["a gap in the middle", [row(left), row("11")], gap],
    ["two rows for one part", [row(left), row(right), row(right)], gap],
    ["a row within another", [row(left), row(quarter), row(right)], gap],
    ["the whole beside a part", [row(undefined), row(left)], gap],
    ["parts without a config", [row(left, without), row(right, without)], gap],
    ["the whole beside a part of another config", [row(undefined), row(left, { config: { ...config, rate: 5 } })], gap],
    [
      "parts of two configs",
      [row(left, { config: { kind: "token bucket", rate: 5, period: 1000, capacity: 5 } }), row(right)],
      gap,
    ],
    ["a name of no part", [row("02")], `${damaged}the stored shard "02" is unusable`],
    ["a part too small", [row("0".repeat(11))], `${damaged}the stored shard "00000000000" is unusable`],
    [
      "an override's name without an override",
      [row(left), row("override"), row(right)],
      `${damaged}the stored shard "override" is unusable`,
    ],
    [
      "a config that is none",
      [row(left, { config: { ...config, rate: -1 } }), row(right, { config: { ...config, rate: -1 } })],
      `${damaged}the stored config is unusable (Rate limit "send": rate must be a number above 0 and at most 1e12, got -1.), so nothing is let through. resetRateLimit`,
    ],
    ["the whole, written as no digits", [row("")], `${damaged}the stored shard "" is unusable`],
    ["no digits, and no config", [row("", without)], gap],
    ["a value that is none", [row(left, { value: NaN }), row(right)], `${damaged}the stored state is unusable`],
  ])("is %s: nothing is let through", async (_what, rows, problem) => {
    const t = openBackend();
    const readable = rows.map((each) =>
      Object.fromEntries(Object.entries(each).filter(([, value]) => value !== undefined)),
    );
    await insertRows("tables", t, readable as unknown as StoredRow[]);
    await expect(load(t)).rejects.toThrow(problem);
  });

  it("is noticed by a call that reads one row, or those of an interval", async () => {
    const t = openBackend();
    await insertRows("tables", t, [row(left), row("11")]);
    await expect(reading(t, (ctx) => loadAt(ctx, bucket, 0.6))).rejects.toThrow(gap);
    await expect(reading(t, (ctx) => loadAll(ctx, bucket, "1"))).rejects.toThrow(gap);
    expect(await reading(t, (ctx) => loadAt(ctx, bucket, 0.1))).toMatchObject({ interval: "0" });
  });
});

describe("a bucket that was split under another config", () => {
  it("is one, as it stood at its last write; what has come in since counts by the new config", async () => {
    const t = await splitBucket(2, 32);
    const slower = under({ rate: 8, capacity: 64 });
    const shards = await load(t, slower);
    expect(shards).toMatchObject([{ interval: WHOLE, rows: Array(4).fill({ key: "alice" }), state: { ts: NOW } }]);
    expect(tokensIn(shards)).toEqual([32]);
    expect(tokensIn(shards, NOW + 1000)).toEqual([40]);
  });

  it("is as of the last write of any of its rows, by the old config until then", async () => {
    const t = await splitBucket(1, 32);
    const [first, second] = (await load(t)) as [StoredShard, StoredShard];
    const later = shardAt(bucket.limit, second.interval, { value: 0, ts: NOW + 250 });
    await t.mutation((ctx) => save(ctx, bucket, [second], [later]));
    const shards = await load(t, under({ rate: 8, capacity: 64 }));
    expect(shards[0]?.state.ts).toBe(NOW + 250);
    // 16 and 8 that came in until then in the one row, none in the other.
    expect(tokensIn(shards, NOW)).toEqual([24]);
    expect(first.rows).toHaveLength(1);
  });

  it("holds at most what it can hold now, and may be of another kind", async () => {
    const t = await splitBucket(2, 32);
    expect(tokensIn(await load(t, under({ capacity: 5 })))).toEqual([5]);
    const sliding = parseBucket({
      name: "send",
      key: "alice",
      config: { kind: "sliding window", rate: 64, period: 1000 },
    });
    const shards = await load(t, sliding);
    expect(tokensIn(shards)).toEqual([32]);
    expect(tokensIn(shards, NOW + 1000)).toEqual([64]);
  });

  it("is read whole by a call that came upon one of its rows", async () => {
    const t = await splitBucket(2);
    const slower = under({ rate: 8, capacity: 64 });
    expect([await reading(t, (ctx) => loadAt(ctx, slower, 0.7))]).toEqual(await load(t, slower));
  });

  it("differs by a field that the limit had before and has no longer, not by one that is undefined", async () => {
    const windowsFrom = (start: number | undefined) =>
      parseBucket({
        name: "send",
        key: "alice",
        config: { kind: "fixed window", rate: 64, period: 1000, shards: 4, start },
      });
    for (const [before, now, isFound] of [
      [0, 0, true],
      [undefined, undefined, true],
      [0, undefined, false],
      [undefined, 0, false],
    ] as const) {
      const t = await splitBucket(2, 32, windowsFrom(before));
      const found = await reading(t, (ctx) => loadAt(ctx, windowsFrom(now), 0.7));
      expect([before, now, found.interval.length === 2]).toEqual([before, now, isFound]);
    }
  });

  it("has had the windows of its own key", async () => {
    const windows = parseBucket({
      name: "send",
      key: "alice",
      config: { kind: "fixed window", rate: 8, period: 64_000, shards: 4 },
    });
    const { limit } = windows;
    // The hash of this key is 27 of 64.
    const boundary = Math.ceil(NOW / 64_000) * 64_000 + 27_000;
    const at = (ts: number, value: number, used: number, since: number) => ({
      value: value * limit.unitsPerToken,
      ts,
      window: { since, used: used * limit.unitsPerToken },
    });
    const empty = shardAt(limit, WHOLE, at(boundary - 1, 0, 8, boundary - 64_000));
    const [left, right] = splitTo(limit, empty, 1, boundary - 1) as [Shard, Shard];
    const t = openBackend();
    await t.mutation((ctx) => save(ctx, windows, [], [left, { ...right, state: at(boundary, 1, 3, boundary) }]));
    const now = parseBucket({ name: "send", key: "alice", config: { kind: "token bucket", rate: 8, period: 64_000 } });
    expect(tokensIn(await load(t, now), boundary)).toEqual([4 + 1]);
  });
});

describe("saving shards", () => {
  it("patches the rows that are there, inserts what is new and deletes what is left over", async () => {
    const t = await splitBucket(1);
    const before = await rowsIn("tables", t);
    const [first, second] = (await load(t)) as [StoredShard, StoredShard];
    await t.mutation((ctx) => save(ctx, bucket, [second], splitTo(bucket.limit, second, 2, NOW)));
    expect(await stored(t)).toEqual([
      { value: 16, shard: "0" },
      { value: 8, shard: "10" },
      { value: 8, shard: "11" },
    ]);
    expect((await rowsIn("tables", t)).slice(0, 2).map(({ _id }) => _id)).toEqual(before.map(({ _id }) => _id));
    expect(first.rows).toHaveLength(1);
  });

  it("makes one row of all, which says neither part nor config any more", async () => {
    const t = await splitBucket(3);
    const shards = await load(t);
    await t.mutation((ctx) => save(ctx, bucket, shards, [fold(bucket.limit, WHOLE, shards, NOW)]));
    const rows = await rowsIn("tables", t);
    expect(rows).toHaveLength(1);
    expect(Object.keys(rows[0] ?? {}).sort()).toEqual(["_creationTime", "_id", "key", "name", "ts", "value"]);
  });

  it("writes each part, whatever the order", async () => {
    const t = await splitBucket(1);
    const shards = await load(t);
    const after = shards.map((shard, index) => ({
      ...shard,
      state: { value: (index + 1) * shard.limit.unitsPerToken, ts: NOW + 1 },
    }));
    await t.mutation((ctx) => save(ctx, bucket, shards, after.reverse()));
    expect((await load(t)).map(({ interval }) => interval)).toEqual(["0", "1"]);
    expect(tokensIn(await load(t), NOW + 1)).toEqual([1, 2]);
  });

  it("writes under the config of now what was split under another", async () => {
    const t = await splitBucket(1);
    const slower = under({ rate: 8, capacity: 64 });
    const shards = await load(t, slower);
    await t.mutation((ctx) =>
      save(
        ctx,
        slower,
        shards,
        shards.flatMap((shard) => splitTo(slower.limit, shard, 1, NOW)),
      ),
    );
    const read = await load(t, slower);
    expect(tokensIn(read)).toEqual([16, 16]);
    expect(read.map(({ interval }) => interval)).toEqual(["0", "1"]);
  });

  it("writes nothing where nothing changes", async () => {
    const t = await splitBucket(1);
    const before = await rowsIn("tables", t);
    await t.mutation((ctx) => save(ctx, bucket, [], []));
    expect(await rowsIn("tables", t)).toEqual(before);
  });

  it("keeps a bucket of the most rows", async () => {
    const large = parseBucket({ name: "send", key: "alice", config: { ...config, rate: 4096, shards: 1024 } });
    const t = await splitBucket(10, 4096, large);
    const shards = await load(t, large);
    expect(shards).toHaveLength(1024);
    expect(
      shardsOf(
        large,
        shards.flatMap(({ rows }) => rows),
      ),
    ).toEqual(shards);
    expect(tokensIn(shards)).toEqual(Array(1024).fill(4));
  });
});

describe("several rows that each stand for the whole bucket", () => {
  it("hold together what is left after all that any of them took, at no time more than one of them, whatever their kind", () => {
    const whole = limits.filter(({ capacity }) => capacity > 0);
    fc.assert(
      fc.property(
        whole,
        fc.array(histories, { minLength: 2, maxLength: 4 }),
        fc.nat(200_000),
        (limit, found, later) => {
          const states = found.map((history) => stateAfter(limit, history).state);
          const rows = states.map((state) => ({ name: "some", ...toStored(limit, state) }) as Row);
          const of: Bucket = { name: "some", key: undefined, limit };
          const [healed, ...others] = shardsOf(of, rows) as [StoredShard];
          expect(others).toEqual([]);
          expect(healed.rows).toEqual(rows);
          const lastWrite = Math.max(...states.map(({ ts }) => ts));
          const each = rows.map((row) => ({ ...healed, state: fromStored(limit, row, undefined) }));
          const missing = each.map((shard) => limit.capacity - heldByAll([shard], lastWrite));
          const all = missing.reduce((sum, units) => sum + units, 0);
          expect(limit.capacity - heldByAll([healed], lastWrite)).toBe(all);
          for (const moment of [lastWrite, lastWrite + later, lastWrite + 500 * later]) {
            const strictest = Math.min(...each.map((shard) => heldByAll([shard], moment)));
            expect(heldByAll([healed], moment)).toBeLessThanOrEqual(strictest);
          }
        },
      ),
    );
  });

  it("become one row at the next call that takes, and no denial touches them", async () => {
    const one = parseBucket({ name: "send", key: "alice", config: { kind: "token bucket", rate: 5, period: 1000 } });
    const row = { name: "send", key: "alice", value: 4, ts: Date.now() + 60_000 };
    const t = openBackend();
    await insertRows("tables", t, [row, row, row]);
    const take = (count: number) => t.mutation((ctx) => consume(ctx, requestTo(one, { count })));
    expect(await take(3)).toMatchObject({ ok: false, remaining: 2 });
    expect(await rowsIn("tables", t)).toHaveLength(3);
    expect(await take(2)).toMatchObject({ ok: true, remaining: 0 });
    expect(await rowsIn("tables", t)).toMatchObject([{ value: 0 }]);
  });
});
