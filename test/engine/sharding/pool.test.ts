/** The decision on all shards of a bucket: it answers like one row, and the written rows are checked. */
import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { decide } from "../../../src/engine/decide.js";
import { demandOf } from "../../../src/engine/request.js";
import type { DemandArgs } from "../../../src/wire/answers.js";
import type { Calendar } from "../../../src/engine/kinds/calendar.js";
import { emptyState, type Limit } from "../../../src/engine/kinds/kind.js";
import { parseLimit } from "../../../src/engine/kinds/limit.js";
import { tile, WHOLE } from "../../../src/engine/sharding/interval.js";
import {
  adjustOnAll,
  adjustOnSome,
  decideOnAll,
  distribute,
  isForgone,
  overview,
  servedFrom,
} from "../../../src/engine/sharding/pool.js";
import type { Shard } from "../../../src/engine/sharding/shard.js";
import { fold, fullShard, heldByAll, merged, shardAt, shareOf, splitTo } from "../../../src/engine/sharding/shard.js";
import { reserveOnOne } from "../../../src/engine/sharding/waits.js";
import { snapshotOf } from "../../../src/engine/snapshot.js";
import { toStored } from "../../../src/engine/units.js";
import { at, fast, histories, limits, NOW, rowsOf, slow, stateAfter } from "../arbitraries.js";
import { forAny } from "../../support/random.js";

/** The answer, the shards that change, and the shards that replace them. */
const ask = ({ limit, shards }: { limit: Limit; shards: Shard[] }, asked: DemandArgs, now = NOW) => {
  const { status, left } = decideOnAll(limit, shards, at(now), demandOf(limit, asked));
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
const tooLarge = { retryAt: 8.64e15, reason: "too large" };
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
  ["several give the sum of what they hold", slow, 20, 4, { count: 20 }, { ok: true, remaining: 0 }, [0]],
  ["several rows deny", slow, 20, 4, { count: 21 }, { ok: false, remaining: 20 }, []],
  ["several deny for ever a count above the capacity", slow, 20, 4, { count: 65 }, { ok: false, ...tooLarge }, []],
  ["a share reserves for itself", slow, 0, 4, { count: 2, reserve }, { ok: true, retryAt: NOW + 30_000 }, [-2], 1],
  [
    "several become one row that owes for a count above any share",
    slow,
    20,
    4,
    { count: 21, reserve },
    { ok: true, ...later, remaining: 0 },
    [-1],
  ],
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
  // The retryAt of a denial. For a fast bucket it is the time at which any row serves, since the next call may read only two rows.
  ["several slow rows deny until they hold the count together", slow, 3, 2, { count: 5 }, denied(1875), []],
  ["several fast rows deny until each holds it", fast, 0, 4, {}, denied(3), []],
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
      const charged = adjustOnAll(rows.shards, NOW, { units: 3 * rows.limit.unitsPerToken });
      expect(heldByAll(charged, NOW)).toBe(heldByAll(rows.shards, NOW) - 3 * rows.limit.unitsPerToken);
      expect(charged.every((own) => heldByAll([own], NOW) >= 0)).toBe(true);
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

  it("is charged beyond what it holds on the row that has its units again first; the others wait for nothing", () => {
    const { limit, shards } = withFirst(rowsOf(slow, 20, 2), 1);
    // Five tokens are in each of the others.
    const charged = adjustOnAll(shards, NOW, { units: 18 * limit.unitsPerToken, isRefundable: true });
    expect(tokensIn(charged).sort((a, b) => a - b)).toEqual([-2, 0, 0, 0]);
    const again = adjustOnAll(charged, NOW, { units: limit.unitsPerToken });
    expect(tokensIn(again).sort((a, b) => a - b)).toEqual([-2, -1, 0, 0]);
    expect(adjustOnAll(shards, NOW, { units: 0 })).toBe(shards);
  });

  it("takes a gift up to its capacity, and a refund by date only on rows that know the take", () => {
    const { limit, shards } = rowsOf(slow, 20, 2);
    const gift = (count: number) => tokensIn(adjustOnAll(shards, NOW, { units: -count * limit.unitsPerToken }));
    expect([gift(4), gift(99)]).toEqual([
      [9, 5, 5, 5],
      [16, 16, 16, 16],
    ]);
    const taking = { takenAt: NOW, startsAt: NOW };
    const taken = adjustOnAll(shards, NOW, { units: 3 * limit.unitsPerToken, isRefundable: true });
    const back = adjustOnAll(taken, NOW, { units: -8 * limit.unitsPerToken, taking });
    expect(tokensIn(taken)).toEqual([2, 5, 5, 5]);
    expect(tokensIn(back)).toEqual([10, 5, 5, 5]);
  });

  it("lets the rest of a refund lapse, or asks for the other rows", () => {
    const { shards } = rowsOf(slow, 0, 2);
    const ask = (count: number, lapses: boolean) => {
      const [row] = shards as [Shard];
      return adjustOnSome([row], NOW, { units: -count * row.limit.unitsPerToken }, lapses);
    };
    // A row has room for 16.
    expect(tokensIn(ask(16, false) ?? [])).toEqual([16]);
    expect(ask(17, false)).toBeUndefined();
    expect(tokensIn(ask(17, true) ?? [])).toEqual([16]);
  });

  it("knows of a take that no row can give it back: it would be full again, or its window is over", () => {
    const isForgoneAfter = (config: RateLimitConfig, ms: number, startsAt = NOW) => {
      const { limit } = rowsOf(config, 0, 0);
      return isForgone(limit, NOW + ms, { units: -limit.unitsPerToken, taking: { takenAt: NOW, startsAt } });
    };
    const fixed: RateLimitConfig = { kind: "fixed window", rate: 64, period: 1000, start: NOW, shards: 16 };
    const sliding: RateLimitConfig = { kind: "sliding window", rate: 64, period: 1000, shards: 16 };
    const at = (config: RateLimitConfig, over: number) => [over - 1, over].map((ms) => isForgoneAfter(config, ms));
    expect([at(slow, 60_000), at(fixed, 1000), at(sliding, 1000)]).toEqual(Array(3).fill([false, true]));
    expect([isForgoneAfter(fixed, 1000, NOW + 1), isForgone(parseLimit("send", slow), NOW, { units: -1 })]).toEqual([
      false,
      false,
    ]);
  });

  it("gives a cancelled promise to another row only as much as that row owes when the work would have started", () => {
    const { limit } = rowsOf(slow, 0, 1);
    const owing = (tokens: number) => {
      const headroom = [{ at: NOW, units: 0 }];
      return shardAt(limit, "0", { value: tokens * limit.unitsPerToken, ts: NOW, headroom });
    };
    // Half a token a second comes to a half.
    const taking = { takenAt: NOW, startsAt: NOW + 2000 };
    const back = (tokens: number) => {
      const [after] = distribute([owing(tokens)], NOW, { units: -5 * limit.unitsPerToken, taking }) as [Shard];
      return heldByAll([after], NOW) / limit.unitsPerToken - tokens;
    };
    expect([3, 0, -1, -3, -9].map(back).map((count) => Math.round(100 * count) / 100)).toEqual([0, 0, 0, 1.93, 5]);
  });

  it("is asked for a reservation on the row that starts it first; no share promises more than its capacity", () => {
    const { limit, shards } = withFirst(rowsOf(slow, 20, 2), -3);
    const pick = (count: number) => reserveOnOne(shards, at(NOW), demandOf(limit, { count, reserve })).best?.interval;
    expect([5, 6, 16, 17].map(pick)).toEqual(["01", "01", "01", undefined]);
    expect(reserveOnOne(shards, at(NOW), demandOf(limit, { count: 16, reserve: { within: 5 } })).best).toBe(undefined);
  });

  it("holds nothing in a pause, and reserves as of its end", () => {
    const { limit, shards } = rowsOf(slow, 20, 2);
    const during = (asked: DemandArgs) => decideOnAll(limit, shards, at(NOW, NOW + 500), demandOf(limit, asked)).status;
    expect(during({})).toMatchObject({ ok: false, retryAt: NOW + 500, remaining: 0 });
    expect(during({ count: 0 })).toMatchObject({ ok: true, remaining: 0 });
    expect(during({ reserve, refundable: true })).toMatchObject({ ok: true, retryAt: NOW + 500, takenAt: NOW });
  });

  it("in debt waits, as one row, until the last debt is paid: no work starts beside what was promised", () => {
    const { limit, shards } = withFirst(rowsOf(ample, 400, 2), -3);
    // A quarter of 64 tokens a minute pays three in 11.25 s.
    const paidAt = NOW + 11_250;
    const one = merged(limit, shards, NOW);
    expect(limit.kind.whenHolding(limit, one.state, 0)).toBe(paidAt);
    const { status, after } = ask({ limit, shards }, { count: 500, reserve });
    expect(status.retryAt).toBeGreaterThan(paidAt);
    expect(after).toHaveLength(1);
    expect(merged(limit, shards.slice(1, 2), NOW, "01").state.value).toBe(100 * limit.unitsPerToken);
  });

  it("in debt on every row denies a demand for nothing, until a row has paid", () => {
    const limit = parseLimit("send", slow);
    const owing = ["0", "1"].map((interval, row) =>
      shardAt(limit, interval, { value: -(row + 1) * limit.unitsPerToken, ts: NOW }),
    );
    // A token comes to each in 1,875 ms.
    expect(ask({ limit, shards: owing }, { count: 0 }).status).toMatchObject({ ok: false, retryAt: NOW + 1875 });
    expect(ask({ limit, shards: owing }, { count: 0 }, NOW + 1875).status).toMatchObject({ ok: true });
    const { status } = ask({ limit, shards: owing }, { count: 0, reserve });
    expect(status).toMatchObject({ ok: true, retryAt: NOW + 1875 });
  });

  it("gives from the fullest row first", () => {
    for (const held of [0, 159]) {
      const rows = withFirst(rowsOf(ample, 640, 2), held);
      expect(ask(rows, { count: 1 }).before).toEqual([rows.shards[1]]);
    }
  });

  it("lets a count of 0 wait for a debt on one row, and writes nothing", () => {
    const asked = ask(withFirst(rowsOf(slow, 0, 0), -1), { count: 0, reserve });
    expect(asked).toMatchObject({ status: { ok: true, retryAt: NOW + 938 }, before: [], after: [] });
  });

  it("has the same remaining and resetAt as one row", () => {
    const { limit, shards } = withFirst(rowsOf(slow, 20, 2), 0);
    // 49 of 64 tokens are missing, and 64 arrive in a minute.
    expect(overview(limit, shards, at(NOW))).toEqual({ remaining: 15, resetAt: NOW + 60_000 });
    expect(overview(limit, shards, at(NOW + 1e6))).toEqual({ remaining: 64, resetAt: NOW + 1e6 });
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
  ["at once, by a slow bucket", short(slow), {}, 0],
  ["at once, by rows that will become one", short(unsplit, 1), {}, 0],
])("a call is served %s", (_what, { limit, shards }, asked, ms, laterMs = 0) => {
  expect(servedFrom(limit, shards, at(NOW + laterMs), demandOf(limit, asked)) - NOW).toBe(ms);
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
  expect(windowAt.mock.calls.length).toBeLessThan(150);
});

describe.each([64, 512])("a full sliding window of 64 times in each of %i rows", (rows) => {
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
    ["the time of a denial", () => ({ at: servedFrom(limit, shards, at(NOW), demandOf(limit, { count: half })) }), {}],
    ["a status", () => overview(limit, shards, at(NOW)), { remaining: rows }],
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
  const asked = fc.record({ part });
  const levels = fc.integer({ min: 1, max: 5 });
  forAny([limits, histories, levels, asked, fc.nat(2000)], 300, (limit, history, level, ask, later) => {
    const { state, now: last } = stateAfter(limit, history);
    const now = last + later;
    const whole = shardAt(limit, WHOLE, limit.kind.advance(limit, state, now));
    const shards = splitTo(limit, whole, level, now);
    const count = (ask.part * limit.capacity) / limit.unitsPerToken;
    const demand = demandOf(limit, { count });
    const one = decide(limit, whole.state, at(now), demand);
    const { status, left } = decideOnAll(limit, shards, at(now), demand);
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
