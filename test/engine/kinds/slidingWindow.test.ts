/** The sliding window gives at most its rate in any period, from any start. Brute force checks this. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide } from "../../../src/engine/decide.js";
import { parseDemand } from "../../../src/engine/request.js";
import { fullState, type Limit, type State, unitsPerMs } from "../../../src/engine/kinds/kind.js";
import { MAX_ENTRIES } from "../../../src/engine/kinds/log.js";
import { parseLimit } from "../../../src/engine/kinds/limit.js";
import { fold, type Shard, shardAt, splitTo } from "../../../src/engine/sharding/shard.js";
import { WHOLE } from "../../../src/engine/sharding/interval.js";
import { END_OF_TIME } from "../../../src/engine/time.js";
import { fromStored, MAX_UNITS, toStored } from "../../../src/engine/units.js";
import { NOW } from "../arbitraries.js";
import { forAny } from "../../support/random.js";

const config = { kind: "sliding window" as const, rate: 10, period: 1000 };
const limit = parseLimit("send", config);
const { kind, unitsPerToken } = limit;
const tokens = (count: number) => count * unitsPerToken;
/** Takes of `count` tokens, each `ms` after NOW. */
type Entries = [ms: number, count: number][];
const entries = (...list: Entries) => list.map(([ms, count]) => ({ at: NOW + ms, units: tokens(count) }));
const stateOf = (ms: number, ...list: Entries): State => {
  const recent = entries(...list);
  return { value: limit.capacity - recent.reduce((sum, { units }) => sum + units, 0), ts: NOW + ms, recent };
};
const advanced = (ms: number) => (state: State) => kind.advance(limit, state, NOW + ms);
const reserved = (count: number) => (state: State) => kind.reserve(limit, state, tokens(count)).state;
/** A refund of tokens. With `startMs` they are those of a reservation that was made at NOW for that time. */
const returned = (count: number, startMs?: number) => (state: State) => {
  const dates = startMs === undefined ? undefined : { takenAt: NOW, startsAt: NOW + startMs };
  return kind.giveBack(limit, state, tokens(count), dates);
};
const paused = (ms: number) => (state: State) => kind.pause(limit, state, NOW + ms);
const ofKind = (held: number): State => ({ value: tokens(held), ts: NOW });
/** Of a window that begins in each of them, the second holds the most. */
const three = stateOf(0, [-200, 4], [700, 9], [1300, 3]);
const leaving = stateOf(0, [-900, 1], [-800, 5], [200, 9]);
const two: Entries = [
  [-500, 4],
  [0, 3],
];
const promised: Entries = [
  [-500, 4],
  [500, 2],
  [900, 5],
];
const emptied = stateOf(500, [400, 5], [500, 5]);
const promising = stateOf(0, ...promised);
const owing = stateOf(0, [-0.5, 0], [0, 10], [1000, 10], [2000, 4]);
/** Written under a rate of 5. */
const adopted = { value: tokens(2), ts: NOW, recent: entries([-0.5, 0], [0, 3]) };

describe("a sliding window", () => {
  it.each<[what: string, before: State, change: (state: State) => State, after: State]>([
    ["remembers a take for a period", stateOf(0, ...two), advanced(499), stateOf(499, ...two)],
    ["forgets a take after a period", stateOf(0, ...two), advanced(500), stateOf(500, [0, 3])],
    ["does not change when a clock steps back", stateOf(0, ...two), advanced(-5000), stateOf(0, ...two)],
    ["is refunded from its latest take", stateOf(0, ...two), returned(4), stateOf(0, [-500, 3])],
    ["is not refunded from a future reservation", promising, returned(100), stateOf(0, ...promised.slice(1))],
    ["is refunded no more than it gave", stateOf(0), returned(1), stateOf(0)],
    ["refunds a cancelled job from its own start time", promising, returned(5, 900), stateOf(0, [-500, 4], [500, 2])],
    ["refunds the rest from older takes", promising, returned(3, 500), stateOf(0, [-500, 3], [900, 5])],
    ["refunds a lost job from older takes", promising, returned(2, 700), stateOf(0, [-500, 4], [900, 5])],
    ["reserves available tokens at once", stateOf(0, [0, 3]), reserved(3), stateOf(0, [0, 6])],
    ["reserves at once if nothing was taken", stateOf(0), reserved(3), stateOf(0, [0, 3])],
    ["counts another kind's missing tokens as taken", ofKind(7), advanced(10), stateOf(10, [-0.5, 0], [0, 3])],
    ["counts another kind's debt as promised", ofKind(-14), advanced(0), owing],
    ["holds no more after another kind if it is raised", adopted, advanced(0), stateOf(0, [-0.5, 5], [0, 3])],
    ["may still not be raised after a refund", stateOf(0, [-0.5, 3], [0, 1]), returned(5), stateOf(0, [-0.5, 0])],
    ["is paused after another kind", adopted, paused(500), stateOf(500, [499.5, 10])],
    ["counts nothing of a full bucket", fullState(limit), advanced(0), stateOf(0)],
    ["is paused as if all that it held were taken at the end", stateOf(0), paused(500), stateOf(500, [500, 10])],
    ["is paused with what it has taken", stateOf(0, [0, 3]), paused(500), stateOf(500, [500, 10])],
    ["is paused with its debt", stateOf(0, [-499, 14]), paused(500), stateOf(500, [500, 14])],
    ["is paused with what will have left by then", stateOf(0, [-500, 14]), paused(500), stateOf(500, [500, 14])],
    ["is paused with the most that counts until then", three, paused(2500), stateOf(2500, [2500, 13])],
    ["is paused without what a longer period had kept", stateOf(0, [-1000, 14]), paused(500), stateOf(500, [500, 10])],
    ["is paused, and takes that have left count no more", leaving, paused(2500), stateOf(2500, [2500, 10])],
    ["is paused, and later promises stay", promising, paused(500), stateOf(500, [500, 12], [900, 5])],
    ["is paused beside a larger promise", stateOf(0, [900, 12]), paused(500), stateOf(500, [500, 10], [900, 12])],
    ["is paused after a promise, which counts at the end", stateOf(0, [300, 3]), paused(500), stateOf(500, [500, 10])],
    ["is paused until a promise of all that it holds", stateOf(0, [500, 10]), paused(500), stateOf(500, [500, 20])],
    ["is paused again, before a promise", stateOf(500, [900, 10]), paused(500), stateOf(500, [500, 10], [900, 10])],
    ["is paused by a clock behind when nothing is logged", stateOf(500), paused(300), stateOf(500, [500, 10])],
    ["is paused by a clock behind", stateOf(500, [400, 4]), paused(300), stateOf(500, [500, 10])],
    ["is paused in the ms of its last take", stateOf(500, [500, 3]), paused(500), stateOf(500, [500, 10])],
    ["is paused where it is empty, but not paused", emptied, paused(500), stateOf(500, [500, 10])],
  ])("%s", (_what, before, change, after) => {
    expect(change(before)).toEqual(after);
  });

  it("holds at most its rate, also with a reservation", () => {
    expect([kind.most(limit, false), kind.most(limit, true)]).toEqual([tokens(10), tokens(10)]);
    expect(unitsPerMs(limit)).toBe(tokens(10) / 1000);
    expect(limit.config).toBe(config);
  });

  it("without a log owes nothing, and its parts have no takes", () => {
    expect(kind.owed(ofKind(10))).toBe(0);
    const [left, right] = [0, 1].map((index) => kind.shareOf(limit, { index, count: 2 })) as [Limit, Limit];
    expect(kind.split(left, right, ofKind(10)).map(({ recent }) => recent)).toEqual([[], []]);
    expect(kind.join(limit, [ofKind(10), ofKind(5)])).toEqual(stateOf(0));
  });

  it("waits at most until the end of time", () => {
    const last = { value: 0, ts: END_OF_TIME, recent: [{ at: END_OF_TIME - 5, units: tokens(10) }] };
    expect(kind.whenHolding(limit, last, 1)).toBe(END_OF_TIME);
    const owing = kind.advance(limit, { value: -tokens(5), ts: END_OF_TIME - 7 }, NOW);
    // Numbers this large have no halves.
    expect(owing.recent?.map(({ at }) => at)).toEqual([END_OF_TIME - 8, END_OF_TIME - 7, END_OF_TIME]);
  });

  it("waits for a debt of another kind that is too large to be counted exactly", () => {
    const slow = parseLimit("send", { ...config, rate: 0.001, period: 1e15 });
    const owing = { value: -240_000_028_000 * slow.unitsPerToken, ts: NOW };
    expect(slow.kind.whenHolding(slow, owing, slow.capacity)).toBe(END_OF_TIME);
  });

  it("stays the same state if a pause says nothing new", () => {
    const states = [stateOf(500, [500, 10]), stateOf(500, [500, 12]), stateOf(500, [500, 10], [900, 10])];
    for (const state of states) for (const ms of [400, 500]) expect(paused(ms)(state)).toBe(state);
  });

  it("reserves in order, never before an earlier reservation", () => {
    const first = kind.reserve(limit, stateOf(0, [0, 10]), tokens(8));
    expect(first).toEqual({ at: NOW + 1000, state: stateOf(0, [0, 10], [1000, 8]), owed: tokens(8) });
    const second = kind.reserve(limit, first.state, tokens(3));
    expect(second).toMatchObject({ at: NOW + 2000, owed: tokens(11) });
    // Cancelling the first leaves room at its time, but a later reservation still comes after the second.
    const cancelled = returned(8, 1000)(second.state);
    expect(kind.whenHolding(limit, cancelled, tokens(2))).toBe(NOW + 1000);
    expect(kind.reserve(limit, cancelled, tokens(2)).at).toBe(NOW + 2000);
    expect(kind.reserve(limit, stateOf(0, [-10, 1], [0, 2], [500, 1]), tokens(1)).at).toBe(NOW + 500);
    expect(kind.reserve(limit, stateOf(0, [0, 3]), tokens(3))).toMatchObject({ at: NOW, owed: 0 });
  });

  it("can reserve again once promised tokens have started, or if nothing has to wait", () => {
    const bounded = parseLimit("send", { ...config, maxReserved: 5 });
    const state = stateOf(0, [0, 10], [1000, 4], [1500, 5]);
    const reservable = (count: number) => bounded.kind.whenReservable(bounded, state, tokens(count)) - NOW;
    expect([0, 1, 5, 6].map(reservable)).toEqual([1000, 1000, 1500, 2500]);
    expect(bounded.kind.whenReservable(bounded, { ...state, ts: NOW + 1200 }, 0)).toBe(NOW + 1200);
    // Once the first of two has started, three more are as many as may wait.
    const early = stateOf(900, [0, 1], [900, 9], [1000, 3], [2000, 2]);
    expect(bounded.kind.whenReservable(bounded, early, tokens(3))).toBe(NOW + 1000);
  });

  it("lists what was taken, without the entry that says since when units have been there", () => {
    expect(kind.entries?.(limit, stateOf(0, [-1500, 0], [0, 3]))).toEqual(entries([0, 3]));
  });

  it("owes no more than can be counted, in few entries", () => {
    expect(kind.take(limit, stateOf(0), limit.capacity + MAX_UNITS).value).toBe(-MAX_UNITS);
    const state = kind.take(limit, stateOf(0, [-500, 4]), 2 * MAX_UNITS);
    expect(state.value).toBe(tokens(6) - MAX_UNITS);
    expect(kind.take(limit, state, MAX_UNITS).value).toBe(tokens(6) - MAX_UNITS);
    // The amount that was cut off is unknown, so a refund of it would create tokens.
    expect(kind.giveBack(limit, state, 2 * MAX_UNITS)).toEqual(state);
    const deep = advanced(0)(ofKind(-1000));
    expect(deep.value).toBe(-tokens(1000));
    expect(deep.recent).toHaveLength(33);
    expect(deep.recent?.at(-1)).toEqual({ at: NOW + 31_000, units: tokens(1010 - 310) });
  });
});

describe("a split sliding window", () => {
  it("cuts each entry and keeps its time", () => {
    const cut = (...list: Entries) =>
      splitTo(limit, shardAt(limit, WHOLE, stateOf(0, ...list)), 1, NOW).map(({ state }) => state);
    const half = { value: tokens(2), ts: NOW, recent: entries([-10, 2], [0, 1]) };
    expect(cut([-10, 4], [0, 2])).toEqual([half, half]);
    expect(cut([-10, 1], [0, 1]).map(({ recent }) => recent)).toEqual([entries([0, 1]), entries([-10, 1])]);
  });

  it("keeps the later of two last writes, so that no take of the other row expires earlier", () => {
    expect(kind.join(limit, [stateOf(0, [0, 1]), stateOf(300, [300, 1])])).toEqual(stateOf(300, [300, 2]));
  });

  it("joins the zero-unit entries of many rows into one, and keeps the time of its oldest take", () => {
    const own = parseLimit("send", { ...config, rate: 1024, shards: 256 });
    const full = shardAt(own, WHOLE, kind.advance(own, fullState(own), NOW));
    const rows = splitTo(own, full, 8, NOW).map((row, i): Shard => {
      const past = { at: NOW - 2000 + i, units: 0 };
      const later = { at: NOW - 500 + (i % 64), units: tokens(1) };
      return { ...row, state: { value: row.limit.capacity - tokens(1), ts: NOW, recent: [past, later] } };
    });
    const { recent = [] } = toStored(own, fold(own, rows, NOW).state);
    expect(recent.slice(0, 2)).toEqual([
      { at: NOW - 2000 + 255, count: 0 },
      { at: NOW - 500, count: 4 },
    ]);
  });
});

const calls = fc.array(
  fc.record({
    waitMs: fc.oneof(fc.nat(3), fc.nat(40)),
    count: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 4 })),
    reserve: fc.boolean(),
  }),
  { minLength: 150, maxLength: 300 },
);
const busy = { ...config, rate: 120 };
const many = parseLimit("busy", busy);
/** The state after it was stored in a row and read again. */
const storedAs = (state: State) => fromStored(many, toStored(many, state), undefined);

it("a log of more than 64 times is joined when it is stored, and never exceeds the rate in any period, also with reservations, which have a time each", () => {
  let isJoined = false;
  forAny([calls], 30, (asked) => {
    const started: { at: number; count: number }[] = [];
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
    // The interval with the most tokens begins at a start.
    for (const { at: from } of started) {
      const within = started.filter(({ at }) => at >= from && at < from + busy.period);
      expect(within.reduce((sum, { count }) => sum + count, 0)).toBeLessThanOrEqual(busy.rate);
    }
  });
  expect(isJoined).toBe(true);
});
