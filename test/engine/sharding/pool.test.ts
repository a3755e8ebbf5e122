/** The decision on all shards of a bucket: what one bucket would answer, and what is written. */
import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide } from "../../../src/engine/decide.js";
import { type DemandArgs, parseDemand } from "../../../src/engine/request.js";
import type { Limit } from "../../../src/engine/kinds/kind.js";
import { parseLimit } from "../../../src/engine/limit.js";
import { tile, WHOLE } from "../../../src/engine/sharding/interval.js";
import {
  adjustOnAll,
  decideOnAll,
  mayDenyOnTwo,
  servedFrom,
  describeWhole,
  whenAnyServes,
} from "../../../src/engine/sharding/pool.js";
import { fastUnits } from "../../../src/engine/sharding/policy.js";
import { fold, fullShard, heldByAll, type Shard, shardAt, splitTo } from "../../../src/engine/sharding/shard.js";
import { snapshotOf } from "../../../src/engine/snapshot.js";
import { histories, limits, NOW, stateAfter } from "../arbitraries.js";

const slow: RateLimitConfig = { kind: "token bucket", rate: 64, period: 60_000, shards: 16 };
const fast: RateLimitConfig = { kind: "token bucket", rate: 6400, period: 1000, capacity: 64, shards: 16 };

/** A bucket that holds so many tokens, on so many rows. */
function rowsOf(config: RateLimitConfig, held: number, level: number): { limit: Limit; shards: Shard[] } {
  const limit = parseLimit("send", config);
  const whole = shardAt(limit, WHOLE, { value: held * limit.unitsPerToken, ts: NOW });
  return { limit, shards: splitTo(limit, whole, level, NOW) };
}
/** The answer, the shards that change, and what takes their place. */
const ask = ({ limit, shards }: { limit: Limit; shards: Shard[] }, asked: DemandArgs, now = NOW) => {
  const { status, left } = decideOnAll(limit, shards, now, parseDemand(limit, asked));
  return { status, ...changeTo(shards, left) };
};
const changeTo = (shards: readonly Shard[], left: readonly Shard[]) => ({
  before: shards.filter((shard) => !left.includes(shard)),
  after: left.filter((shard) => !shards.includes(shard)),
});
const emptied = ({ limit, shards: [first, ...others] }: { limit: Limit; shards: Shard[] }) => ({
  limit,
  shards: [...(first ? [{ ...first, state: { value: 0, ts: NOW } }] : []), ...others],
});
const levelsOf = (shards: readonly Shard[]) => shards.map(({ interval }) => interval.length);
const tokensIn = (shards: readonly Shard[], now = NOW) =>
  shards.map((shard) => heldByAll([shard], now) / shard.limit.unitsPerToken);

const unsplit: RateLimitConfig = { ...fast, shards: 1 };
const bounded: RateLimitConfig = { ...slow, maxReserved: 1 };
const reserve = true;
/** When a slow bucket has one token more. */
const later = { retryAt: NOW + 938 };

describe("what a bucket answers, and the tokens on the rows that it writes:", () => {
  type Row = [what: string, config: RateLimitConfig, held: number, level: number, DemandArgs, status: object, number[]];
  it.each<Row>([
    ["one row is decided as it stands", slow, 3, 0, { count: 2 }, { ok: true, remaining: 1 }, [1]],
    ["one row denies", slow, 3, 0, { count: 4 }, { ok: false }, []],
    ["one row gives nothing", slow, 3, 0, { count: 0 }, { ok: true }, []],
    ["one row of a fast limit says the very time", fast, 0, 0, {}, { ok: false, retryAt: NOW + 1 }, []],
    ["several serve what all hold together", slow, 20, 4, { count: 20 }, { ok: true, remaining: 0 }, [0]],
    [
      "all of it where less suffices",
      slow,
      20,
      4,
      { count: 25, atLeast: 5 },
      { ok: true, taken: 20, remaining: 0 },
      [0],
    ],
    ["several deny", slow, 20, 4, { count: 21 }, { ok: false, remaining: 20 }, []],
    ["a debt is owed as one row", slow, 20, 4, { count: 21, reserve }, { ok: true, ...later, remaining: 0 }, [-1]],
    ["a bound on debts denies", bounded, 20, 4, { count: 22, reserve }, { ok: false, ...later, remaining: 20 }, []],
    // A call that may be served by less reads all rows.
    ["exact where less suffices", fast, 0, 4, { count: 3, atLeast: 1 }, { ok: false, retryAt: NOW + 1 }, []],
    // The next call may read two of them only.
    ["as late as any row of a fast limit serves", fast, 0, 4, { count: 1 }, { ok: false, retryAt: NOW + 3 }, []],
  ])("%s", (_what, config, held, level, asked, status, written) => {
    const rows = rowsOf(config, held, level);
    const { before, after, ...answered } = ask(rows, asked);
    expect(answered.status).toMatchObject(status);
    expect(tokensIn(after)).toEqual(written);
    // All rows become one.
    expect(before).toEqual(written.length > 0 ? rows.shards : []);
  });
});

describe("a bucket of several rows", () => {
  it("gives what is asked for and no more where a row owes, as only damage can make it", () => {
    const limit = parseLimit("send", { kind: "sliding window", rate: 64, period: 100, shards: 4 });
    const shards = [12, 12, 18, 16].map((count, i) => {
      const recent = [{ at: NOW, units: count * limit.unitsPerToken }];
      return shardAt(limit, ["00", "01", "10", "11"][i] ?? WHOLE, { value: 0, ts: NOW, recent });
    });
    expect(tokensIn(shards)).toEqual([4, 4, -2, 0]);
    const { before, after } = ask({ limit, shards }, { count: 5 });
    expect([tokensIn(before), tokensIn(after)]).toEqual([
      [4, 4],
      [0, 3],
    ]);
  });

  it("owes as one row what is charged beyond what all of them hold", () => {
    const { limit, shards } = rowsOf(slow, 20, 4);
    const left = adjustOnAll(limit, shards, NOW, { units: 30 * limit.unitsPerToken });
    expect([left.map(({ interval }) => interval), tokensIn(left)]).toEqual([[WHOLE], [-10]]);
  });

  it("is charged as by a call where its rows hold the charge", () => {
    for (const rows of [rowsOf(slow, 20, 4), rowsOf({ ...slow, capacity: 640 }, 640, 2), rowsOf(fast, 32, 4)]) {
      const charged = adjustOnAll(rows.limit, rows.shards, NOW, { units: 3 * rows.limit.unitsPerToken });
      expect(changeTo(rows.shards, charged)).toEqual({ ...ask(rows, { count: 3 }), status: undefined });
    }
  });

  it("is given back to where there is most room, and no row beyond its share", () => {
    const rows = emptied(rowsOf({ ...slow, capacity: 32 }, 28, 2));
    const back = (count: number) => {
      const { shards, limit } = rows;
      return changeTo(shards, adjustOnAll(limit, shards, NOW, { units: -count * limit.unitsPerToken }));
    };
    expect(tokensIn(back(5).after)).toEqual([5]);
    expect(tokensIn(back(9).after)).toEqual([8, 8]);
    expect(tokensIn(back(12).after)).toEqual([8, 8, 8, 8]);
    expect(back(0)).toEqual({ before: [], after: [] });
  });

  it("that is slow is laid anew as it runs out, on rows that hold four such counts each", () => {
    const levelAfter = (held: number, count: number) => levelsOf(ask(rowsOf(slow, held, 4), { count }).after);
    expect(levelAfter(33, 1)).toEqual([3, 3, 3, 3, 3, 3, 3, 3]);
    expect(levelAfter(32, 1)).toEqual([2, 2, 2, 2]);
    expect(levelAfter(9, 1)).toEqual([1, 1]);
    expect(levelAfter(8, 1)).toEqual([0]);
    expect(levelAfter(1, 1)).toEqual([0]);
  });

  it("that is slow and holds much gives from as few rows as it can, the fullest first", () => {
    const rows = rowsOf({ ...slow, capacity: 640 }, 640, 2);
    const [first, ...others] = rows.shards as [Shard, ...Shard[]];
    for (const held of [0, 159]) {
      const emptier = { ...first, state: { ...first.state, value: held * rows.limit.unitsPerToken } };
      const { before, after } = ask({ ...rows, shards: [emptier, ...others] }, { count: 1 });
      expect(before).toEqual([others[0]]);
      expect(tokensIn(after)).toEqual([159]);
    }
    // Four rows that hold four counts each need not become fewer.
    expect(tokensIn(ask(rowsOf(slow, 20, 2), { count: 1 }).after)).toEqual([4]);
  });

  it("that is fast stays split, and gives from as few rows as it can", () => {
    const rows = rowsOf(fast, 32, 4);
    const { before, after } = ask(rows, { count: 3 });
    expect(before).toEqual(rows.shards.slice(0, 2));
    expect(tokensIn(after)).toEqual([0, 1]);
    expect(levelsOf(after)).toEqual([4, 4]);
  });

  it("may be denied on two rows what the refill brings within 50 ms, and no more", () => {
    const limit = parseLimit("send", { ...fast, rate: 40, period: 1000 });
    const demandOf = (count: number) => parseDemand(limit, { count });
    expect(fastUnits(limit)).toBe(2 * limit.unitsPerToken);
    expect(fastUnits(parseLimit("send", unsplit))).toBe(0);
    expect([1, 2, 3].map((count) => mayDenyOnTwo(limit, demandOf(count)))).toEqual([true, true, false]);
  });

  it("that is fast is laid anew where it has more rows than it may have now", () => {
    const rows = rowsOf(fast, 64, 4);
    const limit = parseLimit("send", { ...fast, shards: 4 });
    expect(levelsOf(ask({ limit, shards: rows.shards }, { count: 1 }).after)).toEqual([2, 2, 2, 2]);
  });

  it("changes nothing for a count of 0, nor where nothing is there and would suffice", () => {
    const rows = rowsOf(slow, 20, 4);
    const status = describeWhole(rows.limit, rows.shards, NOW);
    expect(ask(rows, { count: 0 })).toEqual({ status, before: [], after: [] });
    const fewer = { limit: parseLimit("send", { ...slow, shards: 4 }), shards: rowsOf(slow, 0.5, 4).shards };
    const nothing = { status: { ok: true, taken: 0 }, before: [], after: [] };
    expect(ask(fewer, { count: 3, atLeast: 0 })).toMatchObject(nothing);
  });

  it("waits for a debt on one of its rows where nothing is taken, and writes nothing", () => {
    const rows = rowsOf(slow, 0, 1);
    const [left, right] = rows.shards as [Shard, Shard];
    const owing = { ...left, state: { value: -rows.limit.unitsPerToken, ts: NOW } };
    const { status, before, after } = ask({ ...rows, shards: [owing, right] }, { count: 0, reserve: true });
    expect(status).toMatchObject({ ok: true, retryAt: NOW + 938 });
    expect([before, after]).toEqual([[], []]);
  });

  it("says of its remaining tokens and its reset what one row would say", () => {
    const { limit, shards } = rowsOf(slow, 20, 2);
    const [first, ...others] = shards as [Shard, ...Shard[]];
    const empty = { ...first, state: { ...first.state, value: 0 } };
    // 49 of 64 are missing, and 64 come in a minute.
    expect(describeWhole(limit, [empty, ...others], NOW)).toEqual({ ok: true, remaining: 15, resetAt: NOW + 45_938 });
    expect(describeWhole(limit, [empty, ...others], NOW + 1e6)).toEqual({
      ok: true,
      remaining: 64,
      resetAt: NOW + 1e6,
    });
  });
});

describe("the moment of a denial on all rows", () => {
  it("is the first at which they hold the count, if the bucket is slow", () => {
    const rows = rowsOf(slow, 3, 2);
    const { status } = ask(rows, { count: 5 });
    const retryAt = status.retryAt ?? NaN;
    expect(ask(rows, { count: 5 }, retryAt).status.ok).toBe(true);
    expect(ask(rows, { count: 5 }, retryAt - 1).status.ok).toBe(false);
  });

  it("is one at which any row holds it, if the bucket is fast: the next call may read two of them only", () => {
    const rows = rowsOf(fast, 0, 4);
    for (const shard of rows.shards) {
      expect(heldByAll([shard], NOW + 3)).toBeGreaterThanOrEqual(rows.limit.unitsPerToken);
    }
  });

  it("is exact for a fast bucket of one row, which was split before", () => {
    const { shards } = rowsOf(fast, 0, 1);
    const limit = parseLimit("send", unsplit);
    for (const count of [1, 5]) expect(ask({ limit, shards }, { count }).status.retryAt).toBe(NOW + 1);
  });
});

describe("the moment from which on a call is served", () => {
  const servedIn = ({ limit, shards }: { limit: Limit; shards: Shard[] }, asked: DemandArgs = {}) =>
    servedFrom(limit, shards, NOW, parseDemand(limit, asked)) - NOW;

  it("is that of the denial, while all rows are short", () => {
    const short = rowsOf(slow, 3, 2);
    expect(servedIn(short, { count: 5 })).toBe(1875);
    expect(ask(short, { count: 5 }).status.retryAt).toBe(NOW + 1875);
  });

  it("is at once while every row has the count, or all of it that it can hold", () => {
    expect(servedIn(rowsOf(fast, 16, 4))).toBe(0);
    expect(servedIn(rowsOf(fast, 64, 4), { count: 5 })).toBe(0);
  });

  it("is when any row serves, if one is short: the next call may read two of them only", () => {
    expect(servedIn(emptied(rowsOf(fast, 64, 4)))).toBe(3);
  });

  it("is at once where one is short, for a call that then reads all of them", () => {
    expect(servedIn(emptied(rowsOf(fast, 64, 4)), { reserve: true })).toBe(0);
    expect(servedIn(emptied(rowsOf(fast, 64, 4)), { atLeast: 1 })).toBe(0);
    expect(servedIn(emptied(rowsOf(slow, 64, 4)))).toBe(0);
    const { shards } = emptied(rowsOf(fast, 64, 1));
    expect(servedIn({ limit: parseLimit("send", unsplit), shards })).toBe(0);
  });
});

describe("the moment at which any row serves", () => {
  it("is that of an empty row of the smallest size, or of one that was read and is in a worse state", () => {
    const { limit, shards } = rowsOf(fast, 64, 4);
    const one = limit.unitsPerToken;
    expect(whenAnyServes(limit, shards, NOW, one)).toBe(NOW + 3);
    const owing = shards.slice(0, 1).map((shard) => ({ ...shard, state: { value: -one, ts: NOW } }));
    expect(whenAnyServes(limit, owing, NOW, one)).toBe(NOW + 5);
  });

  it("is that of the span of rows that holds two such counts, where a row does not", () => {
    const { limit } = rowsOf(fast, 64, 4);
    // Rows of 4 tokens hold two counts of 2; those of 8, two of 3; only the whole, one of 64.
    const at = (count: number) => whenAnyServes(limit, [], NOW, count * limit.unitsPerToken);
    expect([2, 3, 16, 64].map(at)).toEqual([NOW + 5, NOW + 4, NOW + 5, NOW + 10]);
  });
});

describe.each([64, 1024])("a full sliding window of 64 times in each of %i rows", (rows) => {
  const limit = parseLimit("send", { kind: "sliding window", rate: 65 * rows, period: 60_000, shards: rows });
  const work = { steps: 0 };
  /** A number that counts whenever something is done with it. */
  const time = (at: number) => ({ valueOf: () => (work.steps++, at) }) as unknown as number;
  const shards = splitTo(limit, fullShard(limit), Math.log2(rows), NOW).map((shard, row) => {
    const recent = Array.from({ length: 64 }, (_, i) => {
      return { at: time(NOW - 50_000 + 700 * i + (row % 700)), units: limit.unitsPerToken };
    });
    return { ...shard, state: { value: limit.unitsPerToken, ts: NOW, recent } };
  });
  const half = 30 * rows;

  it.each<[string, () => unknown, object, number?]>([
    ["a call", () => ask({ limit, shards }, { count: rows }).status, { ok: true }],
    ["a denial of a large count", () => ask({ limit, shards }, { count: half }).status, { ok: false }],
    ["a reservation", () => ask({ limit, shards }, { count: half, reserve: true }).status, { ok: true }],
    [
      "a reservation that would wait too long",
      () => ask({ limit, shards }, { count: half, reserve: { within: 5 } }).status,
      { ok: false },
      5,
    ],
    ["the time of a denial", () => ({ at: servedFrom(limit, shards, NOW, parseDemand(limit, { count: half })) }), {}],
    ["how it stands", () => describeWhole(limit, shards, NOW), { ok: true }],
    ["a snapshot", () => snapshotOf(limit, shards), { value: rows }],
  ])("needs the work of a few sorts for %s", (_title, run, expected, sorts = 2) => {
    work.steps = 0;
    expect(run()).toMatchObject(expected);
    const entries = 64 * rows;
    expect(work.steps).toBeGreaterThan(0);
    expect(work.steps).toBeLessThanOrEqual(sorts * entries * Math.log2(entries));
  });
});

describe("for every kind", () => {
  it("several rows answer as one, and what is written holds the same units on rows that tile the whole", () => {
    const asked = fc.record({
      part: fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true })),
      reserve: fc.boolean(),
    });
    fc.assert(
      fc.property(
        limits,
        histories,
        fc.integer({ min: 1, max: 5 }),
        asked,
        fc.nat(2000),
        (limit, history, level, ask, later) => {
          const { state, now: last } = stateAfter(limit, history);
          const now = last + later;
          const whole = shardAt(limit, WHOLE, limit.kind.advance(limit, state, now));
          const shards = splitTo(limit, whole, level, now);
          const count = (ask.part * limit.capacity) / limit.unitsPerToken;
          const demand = parseDemand(limit, { count, reserve: ask.reserve });
          const one = decide(limit, whole.state, now, demand);
          const { status, left } = decideOnAll(limit, shards, now, demand);
          expect(status.ok).toBe(one.status.ok);
          if (one.status.ok) expect(status.retryAt).toBe(one.status.retryAt);
          else expect(status.retryAt).toBeGreaterThanOrEqual(one.status.retryAt);
          expect(status.remaining).toBe(one.status.remaining);
          expect(changeTo(shards, left).after.length === 0).toBe(one.taken === undefined);
          const kept = [...left].sort((a, b) => (a.interval < b.interval ? -1 : 1));
          expect(
            tile(
              WHOLE,
              kept.map(({ interval }) => interval),
            ),
          ).toBe(true);
          expect(fold(limit, WHOLE, kept, now).state).toEqual(
            expect.objectContaining({ value: (one.taken ?? whole.state).value, ts: now }),
          );
        },
      ),
      { numRuns: 300 },
    );
  });
});
