/** The sliding window gives at most its rate in any period, from any start. Brute force checks this. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide } from "../../../src/engine/decide.js";
import { demandOf } from "../../../src/engine/request.js";
import { forgotten } from "../../../src/engine/headroom.js";
import { fullState, type Limit, mostReservedOf, type State, unitsPerMs } from "../../../src/engine/kinds/kind.js";
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
/** A refund of tokens that were taken at a time, and started then. */
const refunded = (count: number, ms: number) => (state: State) =>
  kind.giveBack(limit, state, tokens(count), { takenAt: NOW + ms, startsAt: NOW + ms });
const reserved = (count: number) => (state: State) => kind.reserve(limit, state, tokens(count)).state;
/** A refund of tokens. With `startMs` they are those of a reservation that was made at NOW for that time. */
const returned = (count: number, startMs?: number) => (state: State) => {
  const dates = startMs === undefined ? undefined : { takenAt: NOW, startsAt: NOW + startMs };
  return kind.giveBack(limit, state, tokens(count), dates);
};
/** A pause that is made at the state's own time, and ends `ms` after NOW. */
const paused = (ms: number) => (state: State) => kind.pause(limit, state, { at: state.ts, until: NOW + ms });
/** The state at the end of a pause at which tokens are owed. */
const owing = (ms: number, count: number): State => ({
  value: tokens(-count),
  ts: NOW + ms,
  recent: [{ at: NOW + ms, units: tokens(count), all: true }],
});
/** The state at the end of a pause, beside the tokens that are promised for then or later. */
const stopped = (ms: number, ...later: Entries): State => {
  const promised = later.reduce((sum, [, count]) => sum + count, 0);
  const everything = { at: NOW + ms, units: 0, all: true as const };
  return { value: tokens(0 - promised), ts: NOW + ms, recent: [everything, ...entries(...later)] };
};
/** A state at the end of a pause that was given tokens since: of everything that was taken, all others are still missing. */
const opened = (ms: number, given: number): State => ({
  value: tokens(given),
  ts: NOW + ms,
  recent: [{ at: NOW + ms, units: -tokens(given), all: true }],
});
const two: Entries = [
  [-500, 4],
  [0, 3],
];
const promised: Entries = [
  [-500, 4],
  [500, 2],
  [900, 5],
];
const promising = stateOf(0, ...promised);
/** Takes that were joined at the later time. */
const joint = { value: tokens(3), ts: NOW, recent: [{ at: NOW - 100, units: tokens(7), from: NOW - 300 }] };
const less = (count: number) => ({
  ...joint,
  value: tokens(3 + count),
  recent: joint.recent.map((entry) => ({ ...entry, units: tokens(7 - count) })),
});

describe("a sliding window", () => {
  it.each<[what: string, before: State, change: (state: State) => State, after: State]>([
    ["remembers a take for a period", stateOf(0, ...two), advanced(499), stateOf(499, ...two)],
    ["forgets a take after a period", stateOf(0, ...two), advanced(500), stateOf(500, [0, 3])],
    ["does not change when a clock steps back", stateOf(0, ...two), advanced(-5000), stateOf(0, ...two)],
    ["is refunded from its latest take", stateOf(0, ...two), returned(4), stateOf(0, [-500, 3])],
    ["is not refunded from a future reservation", promising, returned(100), stateOf(0, ...promised.slice(1))],
    ["is refunded no more than it gave", stateOf(0), returned(1), stateOf(0)],
    ["refunds a cancelled job from its own start time", promising, returned(5, 900), stateOf(0, [-500, 4], [500, 2])],
    ["refunds no more than its own take", promising, returned(3, 500), stateOf(0, [-500, 4], [900, 5])],
    ["refunds nothing of a take that it does not know", promising, returned(2, 700), promising],
    ["refunds a take from the entry that it was joined into", joint, refunded(2, -300), less(2)],
    ["refunds so between the first and the last", joint, refunded(2, -200), less(2)],
    ["refunds nothing of a take before that entry", joint, refunded(2, -301), joint],
    ["refunds a take to come from its own entry", stateOf(0, [0, 3], [400, 2]), refunded(2, 400), stateOf(0, [0, 3])],
    ["reserves available tokens at once", stateOf(0, [0, 3]), reserved(3), stateOf(0, [0, 6])],
    ["reserves at once if nothing was taken", stateOf(0), reserved(3), stateOf(0, [0, 3])],
    ["counts nothing of a full bucket", fullState(limit), advanced(0), stateOf(0)],
    ["is paused as if everything were taken at the end", stateOf(0, [0, 3]), paused(500), stopped(500)],
    ["is paused with its debt", stateOf(0, [-499, 14]), paused(500), owing(500, 4)],
    ["is paused again with its debt", owing(500, 4), paused(600), owing(600, 4)],
    ["owes what is taken in a pause", stopped(500), (state) => kind.take(limit, state, tokens(3)), owing(500, 3)],
    ["is opened by what is more than that", owing(500, 3), returned(5), opened(500, 2)],
    ["is paused, and later promises stay", promising, paused(600), stopped(600, [900, 5])],
    ["is paused beside a larger promise", stateOf(0, [900, 12]), paused(500), stopped(500, [900, 12])],
    ["is paused after a promise, which starts then", stateOf(0, [300, 3]), paused(500), stopped(500)],
    ["is paused by a clock behind", stateOf(500, [400, 4]), paused(300), stopped(500)],
    ["is full a period after a pause", stopped(500), advanced(1500), stateOf(1500)],
    ["is empty until then", stopped(500), advanced(1499), { ...stopped(500), ts: NOW + 1499 }],
    ["refunds no take from a pause", stopped(500), refunded(2, 500), stopped(500)],
    ["is opened after a pause by a gift, and no further", stopped(500), returned(4), opened(500, 4)],
    [
      "holds no more than its rate of a gift under a larger one",
      opened(500, 15),
      (state) => kind.take(limit, state, tokens(3)),
      opened(500, 7),
    ],
  ])("%s", (_what, before, change, after) => {
    // The pairs of refunds are tested below.
    const { headroom: _, ...state } = change(before);
    expect(state).toEqual(after);
  });

  it("holds at most its rate, also with a reservation", () => {
    expect([limit.capacity, mostReservedOf(limit), limit.refill]).toEqual(Array(3).fill(tokens(10)));
    expect(unitsPerMs(limit)).toBe(tokens(10) / 1000);
    expect(limit.config).toBe(config);
  });

  it("without a log has parts without takes", () => {
    const [left, right] = [0, 1].map((index) => kind.shareOf(limit, { index, count: 2 })) as [Limit, Limit];
    expect(kind.split(left, right, fullState(limit)).map(({ recent }) => recent)).toEqual([[], []]);
    expect(kind.join(limit, [fullState(limit), fullState(limit)])).toEqual({ ...stateOf(0), ts: 0 });
  });

  it("waits at most until the end of time", () => {
    const last = { value: 0, ts: END_OF_TIME, recent: [{ at: END_OF_TIME - 5, units: tokens(10) }] };
    expect(kind.whenHolding(limit, last, 1)).toBe(END_OF_TIME);
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

  it("owes no more than can be counted, in few entries", () => {
    const state = kind.take(limit, stateOf(0, [-500, 4]), 2 * MAX_UNITS);
    expect(state.recent).toEqual([...entries([-500, 4]), { at: NOW, units: 0, all: true }]);
    expect(kind.take(limit, state, MAX_UNITS)).toEqual(state);
    // The amount that was cut off is unknown, so a refund by date would create tokens.
    expect(refunded(4, 0)(state)).toEqual(state);
  });

  it.each([0, 1, 1000, 2 ** 30])(
    "is not opened by a charge of about half of what can be counted, %i units from it",
    (units) => {
      for (const charge of [2 ** 49 - units, 2 ** 49 + units]) {
        const state = kind.take(limit, stateOf(0), charge);
        expect(state.value).toBeLessThanOrEqual(0);
        expect(
          kind.advance(limit, fromStored(limit, toStored(limit, state), undefined), NOW).value,
        ).toBeLessThanOrEqual(0);
      }
    },
  );

  it("gives back nothing by date that a gift of the same ms, or a pause, has given or taken since", () => {
    // Fault 4 of version 3: take 3, gift 3, take 1, refund 3.
    const gift = returned(3)(kind.take(limit, stateOf(0), tokens(3)));
    const again = kind.take(limit, gift, tokens(1));
    expect(refunded(3, 0)(again)).toEqual(again);
    // A reservation that waits for a debt which a pause has taken over.
    const late = paused(500)(stateOf(0, [0, 10], [1000, 4]));
    const back = kind.giveBack(limit, late, tokens(4), { takenAt: NOW, startsAt: NOW + 1000 });
    expect(back).toEqual({ ...stopped(500), headroom: [{ at: NOW + 1, units: 0 }] });
  });

  it("gives back of an older take what a gift has left of it, whatever is promised since", () => {
    const given = returned(2)(advanced(4)(stateOf(0, [0, 5])));
    const full = kind.take(limit, advanced(5)(given), tokens(7));
    const promises = reserved(3)(advanced(7)(full));
    expect(promises.recent).toEqual(entries([0, 3], [5, 7], [1000, 3]));
    expect(refunded(5, 0)(advanced(8)(promises)).recent).toEqual(entries([5, 7], [1000, 3]));
  });

  it("gives back a promise that has started, after a pause before it, whatever is promised since", () => {
    const late = advanced(1500)(paused(600)(stateOf(0, [900, 3])));
    const promises = reserved(5)(kind.take(limit, advanced(1600)(late), tokens(7)));
    expect(promises.recent).toEqual(entries([900, 3], [1600, 7], [2600, 5]));
    expect(returned(3, 900)(promises).recent).toEqual(entries([1600, 7], [2600, 5]));
  });

  it("gives back of an entry with takes before and after a gift no more than the gift has left", () => {
    // A take of 3, a gift of 2, and a take of 4. Later takes and gifts change nothing.
    const gift = returned(2)(kind.take(limit, stateOf(0), tokens(3)));
    const mixed = kind.take(limit, gift, tokens(4));
    const later = returned(2)(kind.take(limit, advanced(5)(mixed), tokens(2)));
    const stored = fromStored(limit, toStored(limit, later), undefined);
    for (const state of [mixed, later, stored]) expect(refunded(3, 0)(state).value - state.value).toBe(tokens(1));
    const parts = splitTo(limit, shardAt(limit, WHOLE, mixed), 1, NOW);
    expect(refunded(3, 0)(fold(limit, parts, NOW).state).value).toBe(tokens(6));
  });

  it("gives back nothing of what a reset has forgotten to a promise of later for the same time", () => {
    // The first promise is for NOW + 1000, and so is the second.
    const first = reserved(4)(stateOf(0, [0, 10]));
    const reset = { ...forgotten(limit, first.ts, { at: NOW + 1 }), recent: [] };
    const second = reserved(4)(advanced(1)({ ...reset, ...stateOf(1, [0, 10]) }));
    const late = advanced(1999)(second);
    expect(late.recent).toEqual(entries([1000, 4]));
    expect(kind.giveBack(limit, late, tokens(4), { takenAt: NOW, startsAt: NOW + 1000 })).toEqual(late);
  });

  it("is pruned by the period that it was written under, since another period has a bucket of its own", () => {
    const [minute, day] = [60_000, 86_400_000].map((period) => parseLimit("send", { ...config, period }).bucket);
    expect(minute).not.toBe(day);
    expect(parseLimit("send", { ...config, rate: 99 }).bucket).toBe(limit.bucket);
  });
});

describe("a split sliding window", () => {
  it("neither half owes at a time at which the whole does not, so that a promise is not covered by the other half", () => {
    const takes = fc.array(fc.record({ ms: fc.nat({ max: 90 }), count: fc.integer({ min: 1, max: 4 }) }), {
      maxLength: 12,
    });
    let promised = 0;
    forAny([takes], 500, (asked) => {
      let state = stateOf(0);
      for (const { ms, count } of asked) {
        const at = kind.advance(limit, state, state.ts + ms);
        state =
          tokens(count) <= at.value
            ? kind.take(limit, at, tokens(count))
            : kind.reserve(limit, at, tokens(count)).state;
      }
      const later = (state.recent ?? []).filter(({ at }) => at > state.ts);
      if (later.length > 0) promised++;
      const halves = splitTo(limit, shardAt(limit, WHOLE, state), 1, state.ts);
      for (const { at: time } of later) {
        for (const { limit: half, state: own } of halves) {
          const counted = (own.recent ?? []).filter(({ at }) => at > time - 1000 && at <= time);
          // Each entry is cut in whole units.
          expect(half.capacity - counted.reduce((sum, { units }) => sum + units, 0)).toBeGreaterThanOrEqual(
            -counted.length,
          );
        }
      }
    });
    expect(promised).toBeGreaterThan(100);
  });

  it("cuts each entry and keeps its time", () => {
    const cut = (...list: Entries) =>
      splitTo(limit, shardAt(limit, WHOLE, stateOf(0, ...list)), 1, NOW).map(({ state }) => state);
    const half = { value: tokens(2), ts: NOW, recent: entries([-10, 2], [0, 1]) };
    expect(cut([-10, 4], [0, 2])).toEqual([half, half]);
    expect(cut([-10, 1], [0, 1]).map(({ recent }) => recent)).toEqual([entries([0, 1]), entries([-10, 1])]);
  });

  it("keeps the later of two last writes, so that no take of the other row expires earlier", () => {
    const moved = { at: NOW + 300, units: tokens(2), from: NOW };
    expect(kind.join(limit, [stateOf(0, [0, 1]), stateOf(300, [300, 1])])).toEqual({
      ...stateOf(300, [300, 2]),
      recent: [moved],
    });
    expect(
      kind.join(limit, [
        { ...stateOf(0), seen: 3 },
        { ...stateOf(0), seen: 2 },
      ]),
    ).toEqual({ ...stateOf(0), seen: 2 });
  });

  it("leaves the end of a pause in each part", () => {
    const parts = splitTo(limit, shardAt(limit, WHOLE, stopped(500, [900, 5])), 1, NOW);
    expect(parts.map(({ state }) => state.value)).toEqual([tokens(-2.5), tokens(-2.5)]);
    expect(fold(limit, parts, NOW).state).toEqual(stopped(500, [900, 5]));
  });

  it.each([opened(500, 4), owing(500, 7), opened(500, 10)])(
    "parts what was given, or is owed, at the end of a pause",
    (whole) => {
      const parts = splitTo(limit, shardAt(limit, WHOLE, whole), 2, NOW);
      const values = parts.map(({ state }) => state.value);
      expect(values.reduce((sum, value) => sum + value)).toBe(whole.value);
      expect(fold(limit, parts, NOW).state).toEqual(whole);
      // Also under another rate: what is there then is what was given, and no more.
      const raised = parts.map((part) =>
        kind.advance(
          kind.shareOf(parseLimit("send", { ...config, rate: 40 }), { index: 0, count: 4 }),
          part.state,
          NOW,
        ),
      );
      expect(raised.map(({ value }) => value)).toEqual(values);
    },
  );

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
      const { status, taken } = decide(many, state, { now, pausedUntil: 0 }, demandOf(many, { count, reserve }));
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
