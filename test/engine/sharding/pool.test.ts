/** The decision on all shards of a bucket: it answers like one row, and the written rows are checked. */
import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { decide } from "../../../src/engine/decide.js";
import { type DemandArgs, parseDemand } from "../../../src/engine/request.js";
import type { Calendar } from "../../../src/engine/kinds/calendar.js";
import { emptyState, type Limit } from "../../../src/engine/kinds/kind.js";
import { parseLimit } from "../../../src/engine/kinds/limit.js";
import { tile, WHOLE } from "../../../src/engine/sharding/interval.js";
import {
  adjustOnAll,
  decideOnAll,
  describeWhole,
  pauseAll,
  servedFrom,
  whenAnyServes,
} from "../../../src/engine/sharding/pool.js";
import type { Shard } from "../../../src/engine/sharding/shard.js";
import { fold, fullShard, heldByAll, shardAt, shareOf, splitTo } from "../../../src/engine/sharding/shard.js";
import { snapshotOf } from "../../../src/engine/snapshot.js";
import { toStored } from "../../../src/engine/units.js";
import { histories, limits, NOW, stateAfter } from "../arbitraries.js";
import { forAny } from "../../support/random.js";

const slow: RateLimitConfig = { kind: "token bucket", rate: 64, period: 60_000, shards: 16 };
const fast: RateLimitConfig = { kind: "token bucket", rate: 6400, period: 1000, capacity: 64, shards: 16 };

/** A bucket that holds `held` tokens on 2^`level` rows. */
function rowsOf(config: RateLimitConfig, held: number, level: number): { limit: Limit; shards: Shard[] } {
  const limit = parseLimit("send", config);
  const whole = shardAt(limit, WHOLE, { value: held * limit.unitsPerToken, ts: NOW });
  return { limit, shards: splitTo(limit, whole, level, NOW) };
}
/** The answer, the shards that change, and the shards that replace them. */
const ask = ({ limit, shards }: { limit: Limit; shards: Shard[] }, asked: DemandArgs, now = NOW) => {
  const { status, left } = decideOnAll(limit, shards, now, parseDemand(limit, asked));
  return { status, ...changeTo(shards, left) };
};
const changeTo = (shards: readonly Shard[], left: readonly Shard[]) => ({
  before: shards.filter((shard) => !left.includes(shard)),
  after: left.filter((shard) => !shards.includes(shard)),
});
const withFirst = ({ limit, shards: [first, ...others] }: { limit: Limit; shards: Shard[] }, tokens: number) => ({
  limit,
  shards: [...(first ? [{ ...first, state: { value: tokens * limit.unitsPerToken, ts: NOW } }] : []), ...others],
});
const tokensIn = (shards: readonly Shard[]) =>
  shards.map((shard) => heldByAll([shard], NOW) / shard.limit.unitsPerToken);
const each = (rows: number, tokens: number) => Array<number>(rows).fill(tokens);

const unsplit: RateLimitConfig = { ...fast, shards: 1 };
const bounded: RateLimitConfig = { ...slow, maxReserved: 1 };
const ample: RateLimitConfig = { ...slow, capacity: 640 };
const reserve = true;
const ok = { ok: true };
/** The time at which a slow bucket has one more token. */
const later = { retryAt: NOW + 938 };
const denied = (ms: number) => ({ ok: false, retryAt: NOW + ms });

/** `written` has the tokens on the written rows. `replaced` is how many rows they replace: all if it is left out. */
type Row = [
  string,
  RateLimitConfig,
  held: number,
  level: number,
  DemandArgs,
  object,
  written: number[],
  replaced?: number,
];
it.each<Row>([
  ["one row answers by itself", slow, 3, 0, { count: 2 }, { ok: true, remaining: 1 }, [1]],
  ["one row denies", slow, 3, 0, { count: 4 }, { ok: false }, []],
  ["one row gives 0 tokens", slow, 3, 0, { count: 0 }, ok, []],
  ["several rows give 0 tokens", slow, 20, 4, { count: 0 }, { ok: true, remaining: 20 }, []],
  ["several rows give 0 tokens if atLeast is 0", bounded, 0.5, 4, { count: 3, atLeast: 0 }, { ok: true, taken: 0 }, []],
  ["several give the sum of what they hold", slow, 20, 4, { count: 20 }, { ok: true, remaining: 0 }, [0]],
  ["several give all they hold", slow, 20, 4, { count: 25, atLeast: 5 }, { ok: true, taken: 20, remaining: 0 }, [0]],
  ["several rows deny", slow, 20, 4, { count: 21 }, { ok: false, remaining: 20 }, []],
  ["several become one row that owes", slow, 20, 4, { count: 21, reserve }, { ok: true, ...later, remaining: 0 }, [-1]],
  ["several deny too large a debt", bounded, 20, 4, { count: 22, reserve }, { ok: false, ...later, remaining: 20 }, []],
  // A slow bucket that runs out is written anew, on rows that each hold four such counts.
  ["eight new rows", slow, 33, 4, { count: 1 }, ok, each(8, 4)],
  ["four new rows", slow, 32, 4, { count: 1 }, ok, [7, 8, 8, 8]],
  ["two new rows", slow, 9, 4, { count: 1 }, ok, [4, 4]],
  ["one new row", slow, 8, 4, { count: 1 }, ok, [7]],
  ["rows that hold four counts stay", slow, 20, 2, { count: 1 }, ok, [4], 1],
  ["rows that hold many tokens stay", ample, 640, 2, { count: 1 }, ok, [159], 1],
  // A fast bucket takes from as few rows as possible.
  ["fast rows stay", fast, 32, 4, { count: 3 }, ok, [0, 1], 2],
  ["too many rows are written anew", { ...fast, shards: 4 }, 64, 4, { count: 1 }, ok, [15, 16, 16, 16]],
  // The retryAt of a denial. For a fast bucket it is the time at which any row serves, since the next call may read only two rows.
  ["several slow rows deny until they hold the count together", slow, 3, 2, { count: 5 }, denied(1875), []],
  ["several fast rows deny until each holds it", fast, 0, 4, {}, denied(3), []],
  ["fast rows deny exactly with atLeast: all are read", fast, 0, 4, { count: 30, atLeast: 1 }, denied(1), []],
  ["one fast row has an exact retryAt", fast, 0, 0, {}, denied(1), []],
  ["rows that will become one have an exact retryAt", unsplit, 0, 1, { count: 5 }, denied(1), []],
])("a bucket answers, and writes tokens: %s", (_what, config, held, level, asked, status, written, replaced) => {
  const rows = rowsOf(config, held, level);
  const { before, after, ...answered } = ask(rows, asked);
  expect(answered.status).toMatchObject(status);
  expect(tokensIn(after)).toEqual(written);
  expect(before).toEqual(rows.shards.slice(0, written.length === 0 ? 0 : replaced));
});

describe("a bucket of several rows", () => {
  it("gives exactly the count if a row owes, which only damage can cause", () => {
    const limit = parseLimit("send", { kind: "sliding window", rate: 64, period: 100, shards: 4 });
    const shards = [12, 12, 18, 16].map((count, i) => {
      const recent = [{ at: NOW, units: count * limit.unitsPerToken }];
      return shardAt(limit, ["00", "01", "10", "11"][i] ?? WHOLE, { value: 0, ts: NOW, recent });
    });
    expect(tokensIn(shards)).toEqual([4, 4, -2, 0]);
    expect(tokensIn(ask({ limit, shards }, { count: 5 }).after)).toEqual([0, 3]);
  });

  it("is charged like a call if its rows hold the charge", () => {
    for (const rows of [rowsOf(slow, 20, 4), rowsOf(ample, 640, 2), rowsOf(fast, 32, 4)]) {
      const charged = adjustOnAll(rows.limit, rows.shards, NOW, { units: 3 * rows.limit.unitsPerToken });
      expect(changeTo(rows.shards, charged)).toEqual({ ...ask(rows, { count: 3 }), status: undefined });
    }
  });

  it("dates a take by the clock, but one row by its last write; the rows remember the take", () => {
    const answers = [0, 2].map((level) => {
      const { limit, shards } = rowsOf(ample, 640, level);
      const ahead = shards.map((shard) => ({ ...shard, state: { ...shard.state, ts: NOW + 5 } }));
      return ask({ limit, shards: ahead }, { count: 1, refundable: true });
    });
    expect(answers.map(({ status }) => status)).toMatchObject([{ takenAt: NOW + 5 }, { takenAt: NOW }]);
    expect(answers.map(({ after }) => after[0]?.state.headroom?.length)).toEqual([1, 1]);
  });

  it("refunds a cancelled job from older takes if its own is not found", () => {
    const limit = parseLimit("send", { kind: "sliding window", rate: 64, period: 1000, shards: 4 });
    const tokens = (count: number) => count * limit.unitsPerToken;
    const state = { value: tokens(56), ts: NOW, recent: [{ at: NOW - 100, units: tokens(8) }] };
    const shards = splitTo(limit, shardAt(limit, WHOLE, state), 1, NOW);
    const back = { units: -tokens(3), taking: { takenAt: NOW, startsAt: NOW } };
    expect(heldByAll(adjustOnAll(limit, shards, NOW, back), NOW)).toBe(tokens(59));
  });

  it("is not written by a pause that changes nothing", () => {
    const { limit, shards } = rowsOf(slow, 20, 0);
    const paused = pauseAll(limit, shards, NOW, NOW + 1000);
    expect(paused).not.toBe(shards);
    for (const ms of [500, 1000]) expect(pauseAll(limit, paused, NOW, NOW + ms)).toBe(paused);
  });

  it("gives from the fullest row first", () => {
    for (const held of [0, 159]) {
      const rows = withFirst(rowsOf(ample, 640, 2), held);
      expect(ask(rows, { count: 1 }).before).toEqual([rows.shards[1]]);
    }
  });

  it("lets a count of 0 wait for a debt on one row, and writes nothing", () => {
    const asked = ask(withFirst(rowsOf(slow, 0, 1), -1), { count: 0, reserve });
    expect(asked).toMatchObject({ status: { ok: true, retryAt: NOW + 938 }, before: [], after: [] });
  });

  it("has the same remaining and resetAt as one row", () => {
    const { limit, shards } = withFirst(rowsOf(slow, 20, 2), 0);
    // 49 of 64 tokens are missing, and 64 arrive in a minute.
    expect(describeWhole(limit, shards, NOW)).toEqual({ ok: true, remaining: 15, resetAt: NOW + 45_938 });
    expect(describeWhole(limit, shards, NOW + 1e6)).toEqual({ ok: true, remaining: 64, resetAt: NOW + 1e6 });
  });
});

const short = (config: RateLimitConfig, level = 4) => withFirst(rowsOf(config, 64, level), 0);
it.each<[string, rows: { limit: Limit; shards: Shard[] }, DemandArgs, ms: number, laterMs?: number]>([
  ["when the rows hold the count together, if all rows are short", rowsOf(slow, 3, 2), { count: 5 }, 1875],
  ["at once, if every row holds the count", rowsOf(fast, 16, 4), {}, 0],
  ["at once, if every row is full", rowsOf(fast, 64, 4), { count: 5 }, 0],
  ["at once, if every row has long been full", rowsOf(fast, 64, 4), { count: 5 }, 5, 5],
  ["when any row serves, if one is short: the next call may read only two rows", short(fast), {}, 3],
  ["at once, for a reservation, which reads all rows", short(fast), { reserve }, 0],
  ["at once, with atLeast, which reads all rows", short(fast), { atLeast: 1 }, 0],
  ["at once, by a slow bucket", short(slow), {}, 0],
  ["at once, by rows that will become one", short(unsplit, 1), {}, 0],
])("a call is served %s", (_what, { limit, shards }, asked, ms, laterMs = 0) => {
  expect(servedFrom(limit, shards, NOW + laterMs, parseDemand(limit, asked)) - NOW).toBe(ms);
});

describe("the time at which any row serves", () => {
  it("is that of an empty row of the smallest size, or of a row that was read and serves later", () => {
    const { limit, shards } = rowsOf(fast, 64, 4);
    const one = limit.unitsPerToken;
    expect(whenAnyServes(limit, shards, NOW, one)).toBe(NOW + 3);
    const owing = shards.slice(0, 1).map((shard) => ({ ...shard, state: { value: -one, ts: NOW } }));
    expect(whenAnyServes(limit, owing, NOW, one)).toBe(NOW + 5);
  });

  it("is in the latest window of the rows that were read: where windows have moved, the next one brings less", () => {
    const moved = { kind: "fixed window", rate: 64, period: 1000, capacity: 128, start: 0, shards: 64 } as const;
    const limit = parseLimit("send", moved);
    const one = limit.unitsPerToken;
    const row = (since: number) =>
      shardAt(limit, "000001", { value: 2 * one, ts: NOW + 650, window: { since: NOW + since, used: 0 } });
    const at = (...rows: number[]) => whenAnyServes(limit, rows.map(row), NOW + 700, one);
    expect([at(0), at(600, 0), at(0, 600)]).toEqual([NOW + 1000, NOW + 2000, NOW + 2000]);
  });

  it("is that of the span of rows that holds two such counts, if one row does not", () => {
    const { limit } = rowsOf(fast, 64, 4);
    // Two counts of 2 fit a row of 4 tokens, and two of 3 a row of 8. A count of 64 fits only the whole.
    const at = (count: number) => whenAnyServes(limit, [], NOW, count * limit.unitsPerToken);
    expect([2, 3, 16, 64].map(at)).toEqual([NOW + 5, NOW + 4, NOW + 5, NOW + 10]);
  });
});

it("a denied reservation's retryAt counts nothing that comes to a row which is full", () => {
  const limit = parseLimit("send", { ...bounded, rate: 10, period: 1000, capacity: 10, shards: 2 });
  const shards = [5, 0].map((held, i) => shardAt(limit, `${i}`, { value: held * limit.unitsPerToken, ts: NOW }));
  const asked = { count: 9, reserve };
  expect(ask({ limit, shards }, asked).status).toMatchObject(denied(600));
  expect([599, 600].map((ms) => ask({ limit, shards }, asked, NOW + ms).status.ok)).toEqual([false, true]);
  // A full bucket would need 100 ms for the eleventh token.
  const never = ask({ limit, shards }, { count: 11, reserve: { within: 5 } }).status;
  expect(never).toEqual(expect.objectContaining({ ok: false, retryAt: 8.64e15 }));
});

/** Two rows of a window of 16 tokens, one of them full and one empty. */
const halfFull = (limit: Limit, since: number) =>
  [8, 0].map((held, i) => {
    const [value, used] = [held * limit.unitsPerToken, (8 - held) * limit.unitsPerToken];
    return shardAt(limit, `${i}`, { value, ts: since, window: { since, used } });
  });

it("a denied reservation's retryAt is before the first window that serves it within the wait, and not before a later one", () => {
  const limit = parseLimit("send", { kind: "fixed window", rate: 4, period: 1000, capacity: 16, start: 0, shards: 2 });
  const shards = halfFull(limit, NOW);
  const asked = { count: 16, reserve: { within: 1 } };
  const served = (ms: number) => ask({ limit, shards }, asked, NOW + ms).status.ok;
  expect(ask({ limit, shards }, asked).status).toMatchObject(denied(2999));
  expect(Array.from({ length: 3001 }, (_, ms) => ms).filter(served)).toEqual([2999]);
});

it.each<[RateLimitConfig, DemandArgs, number]>([
  [{ kind: "sliding window", rate: 64, period: 10_000, shards: 2 }, { count: 10, reserve: { within: 1000 } }, 9000],
  [{ kind: "fixed window", rate: 4, period: 1000, capacity: 16, start: 0, shards: 2 }, { count: 7 }, 4000],
])("a denial's retryAt on two empty rows, one of a clock 3 s ahead, is the first time: %j, %j", (config, asked, ms) => {
  const limit = parseLimit("send", config);
  const empty = (interval: string, ts: number) => shardAt(limit, interval, emptyState(shareOf(limit, interval), ts));
  const shards = [empty("0", NOW), empty("1", NOW + 3000)];
  expect(ask({ limit, shards }, asked).status).toMatchObject(denied(ms));
  expect([ms - 1, ms].map((later) => ask({ limit, shards }, asked, NOW + later).status.ok)).toEqual([false, true]);
});

it("the time of a denial on rows of long windows takes few looks at each row, if some of them are full", () => {
  const limit = parseLimit("send", { kind: "fixed window", rate: 4, period: "month", capacity: 16, shards: 2 });
  const windowAt = vi.spyOn((limit as unknown as { windows: Calendar }).windows, "windowAt");
  const since = Date.UTC(2026, 0);
  const shards = halfFull(limit, since);
  expect(ask({ limit, shards }, { count: 16 }, since).status).toMatchObject({ retryAt: Date.UTC(2026, 4) });
  expect(windowAt.mock.calls.length).toBeLessThan(100);
});

describe.each([64, 2048])("a full sliding window of 64 times in each of %i rows", (rows) => {
  const limit = parseLimit("send", { kind: "sliding window", rate: 65 * rows, period: 60_000, shards: rows });
  const work = { steps: 0 };
  /** A number that counts each operation on it. */
  const time = (at: number) => ({ valueOf: () => (work.steps++, at) }) as unknown as number;
  const shards = splitTo(limit, fullShard(limit), Math.log2(rows), NOW).map((shard, row) => {
    const recent = Array.from({ length: 64 }, (_, i) => {
      return { at: time(NOW - 50_000 + 700 * i + (row % 700)), units: limit.unitsPerToken };
    });
    return { ...shard, state: { value: limit.unitsPerToken, ts: NOW, recent } };
  });
  const half = 30 * rows;
  const late = { count: half, reserve: { within: 5 } };

  it.each<[string, () => unknown, object]>([
    ["a call", () => ask({ limit, shards }, { count: rows }).status, { ok: true }],
    ["a denial of a large count", () => ask({ limit, shards }, { count: half }).status, { ok: false }],
    ["a reservation", () => ask({ limit, shards }, { count: half, reserve: true }).status, { ok: true }],
    ["a reservation that would wait too long", () => ask({ limit, shards }, late).status, { ok: false }],
    ["the time of a denial", () => ({ at: servedFrom(limit, shards, NOW, parseDemand(limit, { count: half })) }), {}],
    ["a status", () => describeWhole(limit, shards, NOW), { ok: true }],
    ["a snapshot", () => snapshotOf(limit, shards), { value: rows }],
    ["the stored state", () => toStored(limit, fold(limit, shards, NOW).state), { value: rows }],
  ])("needs the work of at most three sorts for %s", (_title, run, expected) => {
    work.steps = 0;
    expect(run()).toMatchObject(expected);
    const entries = 64 * rows;
    expect(work.steps).toBeGreaterThan(0);
    expect(work.steps).toBeLessThanOrEqual(3 * entries * Math.log2(entries));
  });
});

it("several rows of every kind answer like one row, and the written rows tile the whole and hold the same units", () => {
  const part = fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true }));
  const asked = fc.record({ part, reserve: fc.boolean() });
  const levels = fc.integer({ min: 1, max: 5 });
  forAny([limits, histories, levels, asked, fc.nat(2000)], 300, (limit, history, level, ask, later) => {
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
    const intervals = kept.map(({ interval }) => interval);
    expect(tile(WHOLE, intervals)).toBe(true);
    const { value } = one.taken ?? whole.state;
    expect(fold(limit, kept, now).state).toMatchObject({ value, ts: now });
  });
});
