/** The sliding window: in any period, wherever it begins, at most its rate; checked by brute force. */
import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide } from "../../../src/engine/decide.js";
import { parseDemand } from "../../../src/engine/request.js";
import { fullState, type State } from "../../../src/engine/kinds/kind.js";
import { MAX_ENTRIES } from "../../../src/engine/kinds/log.js";
import { parseLimit } from "../../../src/engine/limit.js";
import { fold, type Shard, shardAt, splitTo } from "../../../src/engine/sharding/shard.js";
import { WHOLE } from "../../../src/engine/sharding/interval.js";
import { END_OF_TIME } from "../../../src/engine/time.js";
import { fromStored, MAX_UNITS, toStored } from "../../../src/engine/units.js";
import { histories, NOW, stateAfter } from "../arbitraries.js";
import { type Started, worstInterval } from "./slidingBrute.js";

const config = { kind: "sliding window" as const, rate: 10, period: 1000 };
const limit = parseLimit("send", config);
const { kind, unitsPerToken } = limit;
const tokens = (count: number) => count * unitsPerToken;
/** Of a reservation: taken at NOW, promised for a time. */
const taking = (startsAt: number) => ({ takenAt: NOW, startsAt });
const entries = (...list: [at: number, count: number][]) => list.map(([at, count]) => ({ at, units: tokens(count) }));
const stateOf = (ts: number, ...list: [at: number, count: number][]): State => {
  const recent = entries(...list);
  return { value: limit.capacity - recent.reduce((sum, { units }) => sum + units, 0), ts, recent };
};

describe("a sliding window", () => {
  it("holds its rate and nothing more, also with a reservation", () => {
    expect(limit.capacity).toBe(tokens(10));
    expect([kind.most(limit, false), kind.most(limit, true)]).toEqual([tokens(10), tokens(10)]);
    expect(kind.unitsPerMs(limit)).toBe(tokens(10) / 1000);
    expect(kind.shownConfig(limit)).toBe(config);
    expect(kind.forKey(limit, "alice")).toBe(limit);
  });

  it("of which no log is known owes nothing, and its parts have taken nothing", () => {
    const full = { value: limit.capacity, ts: NOW };
    expect(kind.owed(full)).toBe(0);
    const left = kind.shareOf(limit, { index: 0, count: 2 });
    const right = kind.shareOf(limit, { index: 1, count: 2 });
    const halves = kind.split(left, right, full);
    expect(halves.map(({ recent }) => recent)).toEqual([[], []]);
    expect(kind.join(limit, [full, { value: tokens(5), ts: NOW }])).toEqual(stateOf(NOW));
  });

  it("forgets what was taken a period ago, and not when the clock steps back", () => {
    const state = stateOf(NOW, [NOW - 500, 4], [NOW, 3]);
    expect(kind.advance(limit, state, NOW + 499)).toEqual(stateOf(NOW + 499, [NOW - 500, 4], [NOW, 3]));
    expect(kind.advance(limit, state, NOW + 500)).toEqual(stateOf(NOW + 500, [NOW, 3]));
    expect(kind.advance(limit, state, NOW - 5000)).toEqual(state);
  });

  it("holds so much when enough has left", () => {
    const state = stateOf(NOW, [NOW - 500, 4], [NOW, 6]);
    expect([0, 1, 4, 5, 10].map((count) => kind.whenHolding(limit, state, tokens(count)))).toEqual([
      NOW,
      NOW + 500,
      NOW + 500,
      NOW + 1000,
      NOW + 1000,
    ]);
    expect(kind.whenReset(limit, state, NOW)).toBe(NOW + 1000);
    expect(kind.whenReset(limit, state, NOW + 5000)).toBe(NOW + 5000);
    expect(kind.whenHolding(limit, stateOf(END_OF_TIME, [END_OF_TIME - 5, 10]), 1)).toBe(END_OF_TIME);
  });

  it("reserves in order: never before what is promised already", () => {
    const state = stateOf(NOW, [NOW, 10]);
    const first = kind.reserve(limit, state, tokens(8));
    expect(first).toEqual({ at: NOW + 1000, state: stateOf(NOW, [NOW, 10], [NOW + 1000, 8]), owed: tokens(8) });
    const second = kind.reserve(limit, first.state, tokens(3));
    expect(second).toMatchObject({ at: NOW + 2000, owed: tokens(11) });
    // When the first is cancelled there is room at its moment, and what is reserved then comes after the second all the same.
    const cancelled = kind.giveBack(limit, second.state, tokens(8), taking(NOW + 1000));
    expect(kind.whenHolding(limit, cancelled, tokens(2))).toBe(NOW + 1000);
    expect(kind.reserve(limit, cancelled, tokens(2)).at).toBe(NOW + 2000);
    const several = stateOf(NOW, [NOW - 10, 1], [NOW, 2], [NOW + 500, 1]);
    expect(kind.reserve(limit, several, tokens(1)).at).toBe(NOW + 500);
    expect(kind.owed(second.state)).toBe(tokens(11));
    expect(kind.owed(state)).toBe(0);
  });

  it("owes nothing for a reservation that starts at once", () => {
    expect(kind.reserve(limit, stateOf(NOW, [NOW, 3]), tokens(3))).toEqual({
      at: NOW,
      state: stateOf(NOW, [NOW, 6]),
      owed: 0,
    });
    expect(kind.reserve(limit, stateOf(NOW), tokens(3))).toEqual({ at: NOW, state: stateOf(NOW, [NOW, 3]), owed: 0 });
  });

  it("can reserve again once what is promised has started, or nothing has to wait", () => {
    const bounded = parseLimit("send", { ...config, maxReserved: 5 });
    const state = stateOf(NOW, [NOW, 10], [NOW + 1000, 4], [NOW + 1500, 5]);
    const reservable = (count: number) => bounded.kind.whenReservable(bounded, state, tokens(count));
    expect([0, 1, 5, 6].map(reservable)).toEqual([NOW + 1000, NOW + 1000, NOW + 1500, NOW + 2500]);
    const moved = { ...state, ts: NOW + 1200 };
    expect(bounded.kind.whenReservable(bounded, moved, 0)).toBe(NOW + 1200);
  });

  it("is given back to out of the latest that have started", () => {
    const state = stateOf(NOW, [NOW - 500, 4], [NOW - 100, 3], [NOW + 500, 2]);
    expect(kind.giveBack(limit, state, tokens(4))).toEqual(stateOf(NOW, [NOW - 500, 3], [NOW + 500, 2]));
    expect(kind.giveBack(limit, state, tokens(100))).toEqual(stateOf(NOW, [NOW + 500, 2]));
    expect(kind.giveBack(limit, stateOf(NOW), tokens(1))).toEqual(stateOf(NOW));
  });

  it("takes a cancelled reservation out of its own moment, or out of what is older", () => {
    const state = stateOf(NOW, [NOW - 500, 4], [NOW + 500, 2], [NOW + 900, 5]);
    expect(kind.giveBack(limit, state, tokens(5), taking(NOW + 900))).toEqual(
      stateOf(NOW, [NOW - 500, 4], [NOW + 500, 2]),
    );
    expect(kind.giveBack(limit, state, tokens(2), taking(NOW + 700))).toEqual(
      stateOf(NOW, [NOW - 500, 4], [NOW + 900, 5]),
    );
    expect(kind.giveBack(limit, state, tokens(3), taking(NOW + 500))).toEqual(
      stateOf(NOW, [NOW - 500, 3], [NOW + 900, 5]),
    );
  });

  it("owes no more than can be counted", () => {
    const state = kind.take(limit, stateOf(NOW, [NOW - 500, 4]), 2 * MAX_UNITS);
    expect(state.value).toBe(tokens(6) - MAX_UNITS);
    expect(kind.take(limit, state, MAX_UNITS).value).toBe(tokens(6) - MAX_UNITS);
    // What was cut off is not known, so a refund of it would make tokens.
    expect(kind.giveBack(limit, state, 2 * MAX_UNITS)).toEqual(state);
  });

  it("counts what another kind says is missing as taken then, and its debt as promised for the windows after", () => {
    const taken = kind.advance(limit, { value: tokens(7), ts: NOW }, NOW + 10);
    expect(taken).toEqual(stateOf(NOW + 10, [NOW, 3]));
    const owing = kind.advance(limit, { value: -tokens(14), ts: NOW }, NOW);
    expect(owing).toEqual(stateOf(NOW, [NOW, 10], [NOW + 1000, 10], [NOW + 2000, 4]));
    const deep = kind.advance(limit, { value: -tokens(1000), ts: NOW }, NOW);
    expect(deep.value).toBe(-tokens(1000));
    expect(deep.recent).toHaveLength(32);
    expect(deep.recent?.at(-1)).toEqual({ at: NOW + 31_000, units: tokens(1010 - 310) });
    const last = kind.advance(limit, { value: -tokens(5), ts: END_OF_TIME - 7 }, NOW);
    expect(last.recent).toEqual(entries([END_OF_TIME - 7, 10], [END_OF_TIME, 5]));
    expect(kind.advance(limit, fullState(limit), NOW).recent).toEqual([]);
  });
});

describe("a split sliding window", () => {
  it("cuts each entry, and keeps its moment", () => {
    const shard = shardAt(limit, WHOLE, stateOf(NOW, [NOW - 10, 4], [NOW, 2]));
    const [left, right] = splitTo(limit, shard, 1, NOW) as [Shard, Shard];
    expect(left.state).toEqual({ value: tokens(2), ts: NOW, recent: entries([NOW - 10, 2], [NOW, 1]) });
    expect(right.state).toEqual({ value: tokens(2), ts: NOW, recent: entries([NOW - 10, 2], [NOW, 1]) });
    const ofOne = splitTo(limit, shardAt(limit, WHOLE, stateOf(NOW, [NOW - 10, 1], [NOW, 1])), 1, NOW);
    expect(ofOne.map(({ state }) => state.recent)).toEqual([entries([NOW, 1]), entries([NOW - 10, 1])]);
    const empty = splitTo(limit, shardAt(limit, WHOLE, stateOf(NOW)), 1, NOW);
    expect(empty.map(({ state }) => state).map(({ value, recent }) => [value, recent])).toEqual([
      [tokens(5), []],
      [tokens(5), []],
    ]);
  });

  it("of two last writes keeps the later: what the other row has taken leaves no earlier", () => {
    const own = parseLimit("send", { ...config, rate: 10 });
    const unit = own.unitsPerToken;
    const stateAt = (ts: number) => ({ value: 4 * unit, ts, recent: [{ at: ts, units: unit }] });
    const joined = own.kind.join(own, [stateAt(NOW), stateAt(NOW + 300)]);
    expect(joined.ts).toBe(NOW + 300);
    expect(joined.recent).toEqual([{ at: NOW + 300, units: 2 * unit }]);
  });

  it("of many rows that say since when tokens have been there says it once, and keeps the time of its oldest take", () => {
    const own = parseLimit("send", { ...config, rate: 1024, shards: 256 });
    const full = shardAt(own, WHOLE, kind.advance(own, fullState(own), NOW));
    const rows = splitTo(own, full, 8, NOW).map((row, i): Shard => {
      const past = { at: NOW - 2000 + i, units: 0 };
      const later = { at: NOW - 500 + (i % 64), units: tokens(1) };
      return { ...row, state: { value: row.limit.capacity - tokens(1), ts: NOW, recent: [past, later] } };
    });
    const { recent = [] } = toStored(own, fold(own, WHOLE, rows, NOW).state);
    expect(recent.slice(0, 2)).toEqual([
      { at: NOW - 2000 + 255, count: 0 },
      { at: NOW - 500, count: 4 },
    ]);
  });

  it("holds the same units at the same moments, no half more than it can, and is the same again when it is joined", () => {
    const rates = fc.oneof(fc.integer({ min: 1, max: 50 }), fc.constantFrom(0.5, 2.25, 7.001));
    fc.assert(
      fc.property(rates, histories, (rate, history) => {
        const own = parseLimit("send", { ...config, rate });
        const { state, now } = stateAfter(own, history);
        const halves = splitTo(own, shardAt(own, WHOLE, state), 1, now);
        for (const half of halves) {
          const taken = (half.state.recent ?? []).reduce((sum, { units }) => sum + units, 0);
          expect(half.state.value).toBe(half.limit.capacity - taken);
          expect(half.state.value).toBeGreaterThanOrEqual(0);
        }
        expect(fold(own, WHOLE, halves, now).state).toEqual(own.kind.advance(own, state, now));
      }),
      { numRuns: 500 },
    );
  });
});

describe("a log of more than 64 moments", () => {
  const calls = fc.array(
    fc.record({
      waitMs: fc.oneof(fc.nat(3), fc.nat(40)),
      count: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 4 })),
      reserve: fc.boolean(),
    }),
    { minLength: 150, maxLength: 300 },
  );
  const busy: RateLimitConfig = { ...config, rate: 120 };
  const many = parseLimit("busy", busy);
  /** What a row makes of a state. */
  const storedAs = (state: State) => fromStored(many, toStored(many, state), undefined);

  it("is joined where it is stored, and never lets more than the rate through in any period; reservations have a moment each", () => {
    let isJoined = false;
    fc.assert(
      fc.property(calls, (asked) => {
        const started: Started[] = [];
        let now = NOW;
        let state = fullState(many);
        for (const { waitMs, count, reserve } of asked) {
          now += waitMs;
          const { status, taken } = decide(many, state, now, parseDemand(many, { count, reserve }));
          if (!taken) continue;
          started.push({ at: status.retryAt ?? now, count });
          state = storedAs(taken);
          expect(state.recent?.length).toBeLessThanOrEqual(MAX_ENTRIES);
        }
        isJoined ||= new Set(started.map(({ at }) => at)).size > MAX_ENTRIES;
        expect(worstInterval(started, { rate: 120, period: 1000 })).toMatchObject({ isWithin: true });
      }),
      { numRuns: 30 },
    );
    expect(isJoined).toBe(true);
  });

  it("lets through no more than the exact log would, and all of it a period later", () => {
    let state = fullState(many);
    for (let i = 0; i < 100; i++) {
      state = storedAs(many.kind.take(many, many.kind.advance(many, state, NOW + 5 * i), many.unitsPerToken));
    }
    expect(state.recent).toHaveLength(MAX_ENTRIES);
    const held = (ms: number) => many.kind.advance(many, state, NOW + ms).value / many.unitsPerToken;
    for (let ms = 1000; ms < 1500; ms++) expect(held(ms)).toBeLessThanOrEqual(20 + Math.floor(ms / 5) - 199);
    expect(held(999)).toBe(20);
    expect(held(1495)).toBe(120);
  });
});
