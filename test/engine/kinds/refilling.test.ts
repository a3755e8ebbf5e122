/** The common behaviour of token buckets and fixed windows: taking, owing, refunding, splitting and joining. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { remembering } from "../../../src/engine/headroom.js";
import { fullState, type State, usedIn } from "../../../src/engine/kinds/kind.js";
import { parseLimit } from "../../../src/engine/kinds/limit.js";
import { adjustOnAll } from "../../../src/engine/sharding/pool.js";
import { fold, shardAt, splitTo } from "../../../src/engine/sharding/shard.js";
import { WHOLE } from "../../../src/engine/sharding/interval.js";
import { MAX_UNITS } from "../../../src/engine/units.js";
import { forAny } from "../../support/random.js";

const NOW = 1_000_000;
const terms = { rate: 10, period: 1000, maxReserved: 5 };
const limits = [
  parseLimit("token bucket", { kind: "token bucket", ...terms }),
  parseLimit("fixed window", { kind: "fixed window", start: 0, ...terms }),
];

describe.each(limits)("a $name", (limit) => {
  const { kind, unitsPerToken } = limit;
  const tokens = (count: number) => count * unitsPerToken;

  it("can be charged below zero, down to the largest countable debt", () => {
    expect(kind.take(limit, { value: tokens(3), ts: NOW }, tokens(2))).toEqual({ value: tokens(1), ts: NOW });
    expect(kind.take(limit, { value: tokens(3), ts: NOW }, tokens(5))).toEqual({ value: -tokens(2), ts: NOW });
    expect(kind.take(limit, { value: 0, ts: NOW }, 2 * MAX_UNITS)).toMatchObject({ value: -MAX_UNITS, ts: NOW });
    expect(kind.take(limit, { value: 0, ts: NOW }, MAX_UNITS)).toEqual({ value: -MAX_UNITS, ts: NOW });
    const larger = { value: -2 * MAX_UNITS, ts: NOW };
    expect(kind.take(limit, larger, 0)).toEqual(larger);
    const window = { since: NOW, used: tokens(10) };
    expect(kind.take(limit, { value: 0, ts: NOW, window }, tokens(1)).window).toEqual({ since: NOW, used: tokens(11) });
  });

  it("remembers through a take, a gift and a pause what may come back", () => {
    const pairs = (...list: [ms: number, count: number][]) =>
      list.map(([ms, count]) => ({ at: NOW + ms, units: tokens(count) }));
    const state = (held: number, headroom: State["headroom"]): State => ({ value: tokens(held), ts: NOW, headroom });
    expect(kind.take(limit, state(3, pairs([0, 7])), tokens(1))).toEqual(state(2, pairs([0, 7])));
    expect(kind.giveBack(limit, state(3, pairs([0, 7])), tokens(2))).toEqual(state(5, pairs([1, 5])));
    expect(kind.pause(limit, state(-2, pairs([0, 1])), NOW)).toMatchObject(state(-2, pairs([0, 1], [0.5, 2])));
  });

  it("is empty after a pause, also if that ends now, and is the same state if it was paused", () => {
    const empty = { value: 0, ts: NOW };
    expect(kind.pause(limit, { value: tokens(3), ts: NOW }, NOW)).toMatchObject(empty);
    expect(kind.pause(limit, empty, NOW)).toBe(empty);
    expect(kind.pause(limit, { value: -tokens(1), ts: NOW }, NOW + 7000)).toMatchObject({ value: 0, ts: NOW + 7000 });
  });

  it("lets later refunds pay what it still owes when a longer pause ends, and no more", () => {
    const headroom = [{ at: NOW + 0.5, units: tokens(10) }];
    const { value, ...after } = kind.pause(limit, { value: -tokens(10), ts: NOW, headroom }, NOW + 600);
    expect(after).toMatchObject({ ts: NOW + 600, headroom: [{ at: NOW + 600.5, units: -value }] });
  });

  it("holds at once what it has", () => {
    const state = { value: tokens(5), ts: NOW };
    expect([3, 5].map((count) => kind.whenHolding(limit, state, tokens(count)))).toEqual([NOW, NOW]);
  });

  it("can be refunded up to the capacity, with a date or without", () => {
    for (const taking of [undefined, { takenAt: NOW, startsAt: NOW + 7 }]) {
      const back = (held: number) => kind.giveBack(limit, { value: tokens(held), ts: NOW }, tokens(2), taking).value;
      expect([3, 9, -9].map(back)).toEqual([5, 10, -7].map(tokens));
    }
  });

  it("can reserve again once no more than maxReserved would be owed", () => {
    const at = kind.whenReservable(limit, { value: -tokens(5), ts: NOW }, tokens(2));
    const held = (now: number) => kind.advance(limit, { value: -tokens(5), ts: NOW }, now).value;
    expect([at - 1, at].map((now) => tokens(2) - held(now) <= limit.maxReserved)).toEqual([false, true]);
  });

  it("is joined at the latest time of its parts, and owes what is below zero", () => {
    const states = [
      { value: 1, ts: NOW },
      { value: -2, ts: NOW + 5 },
    ];
    expect(kind.join(limit, states)).toEqual({ value: -1, ts: NOW + 5 });
    expect(states.map((state) => kind.owed(state))).toEqual([0, 2]);
    const dated = { value: 1, ts: NOW, headroom: [{ at: NOW, units: 3 }] };
    expect(kind.join(limit, [dated, dated])).toEqual({ value: 2, ts: NOW, headroom: [{ at: NOW, units: 6 }] });
  });
});

/** What a window remembers, in tokens and in ms after NOW. */
interface Used {
  used: number;
  excess?: number;
  loweredAt?: number;
}

describe("a fixed window whose capacity was lowered after it was used", () => {
  const [, limit] = limits;
  if (!limit) throw new Error("There is no fixed window.");
  const tokens = (count: number) => count * limit.unitsPerToken;
  const windowOf = ({ used, excess, loweredAt }: Used) => ({
    since: NOW,
    used: tokens(used),
    ...(excess !== undefined && { excess: tokens(excess) }),
    ...(loweredAt !== undefined && { loweredAt: NOW + loweredAt }),
  });
  /** This window used 14 tokens and earlier windows 3, although a full bucket holds 10. */
  const state = { value: 0, ts: NOW, window: windowOf({ used: 14, excess: 3 }) };

  it.each<[before: Used, back: number, after: Used]>([
    [{ used: 14, excess: 3 }, 2, { used: 14, excess: 1 }],
    [{ used: 14, excess: 3 }, 3, { used: 14 }],
    [{ used: 14, excess: 3 }, 4, { used: 13 }],
    [{ used: 14 }, 3, { used: 11 }],
  ])("that has %o holds none after a refund of %d by date, and has %o", (before, back, after) => {
    const taking = { takenAt: NOW, startsAt: NOW };
    const refunded = limit.kind.giveBack(limit, { ...state, window: windowOf(before) }, tokens(back), taking);
    expect(refunded).toEqual({ value: 0, ts: NOW, window: windowOf(after) });
  });

  it.each<[what: string, held: number, used: Used, takenMs: number, heldAfter: number, usedAfter: Used]>([
    ["in this window", 4, { used: 6, excess: 3 }, 0, 6, { used: 4, excess: 3 }],
    ["before it", 4, { used: 6, excess: 3 }, -10, 4, { used: 6, excess: 1 }],
    ["before it, lowered", 0, { used: 14, excess: 3, loweredAt: -50 }, -10, 0, { used: 14, excess: 1, loweredAt: -50 }],
    ["all that was used beyond the capacity", 0, { used: 12, loweredAt: 2 }, 1, 0, { used: 10 }],
    ["after it was lowered, and owed", -2, { used: 14, loweredAt: 1 }, 2, 0, { used: 12, loweredAt: 1 }],
    ["when it began, lowered", 0, { used: 14, loweredAt: -50 }, 0, 2, { used: 12, loweredAt: -50 }],
    ["at the last write", 0, { used: 14, loweredAt: 2 }, 5, 2, { used: 12, loweredAt: 2 }],
    ["promised for later", 0, { used: 14, loweredAt: 2 }, 7, 0, { used: 12, loweredAt: 2 }],
  ])(
    "counts two tokens that come back against the use that they were: %s",
    (_what, held, used, takenMs, heldAfter, usedAfter) => {
      const before = { value: tokens(held), ts: NOW + 5, headroom: [{ at: NOW + 5, units: tokens(17) }] };
      const taking = { takenAt: NOW + takenMs, startsAt: NOW + takenMs };
      const after = limit.kind.giveBack(limit, { ...before, window: windowOf(used) }, tokens(2), taking);
      expect(after.value).toBe(tokens(heldAfter));
      expect(after.window).toEqual(windowOf(usedAfter));
    },
  );

  it("is refunded without a date first what this window used, then the excess", () => {
    const used = { value: tokens(3), ts: NOW, window: { since: NOW, used: tokens(1), excess: tokens(3) } };
    const { value, window } = limit.kind.giveBack(limit, used, tokens(2));
    expect({ value, window }).toEqual({ value: tokens(5), window: { since: NOW, used: 0, excess: tokens(2) } });
  });

  it.each<[what: string, held: number, used: number, ms: number, after: Used]>([
    ["keeps what was used beyond a lowered capacity", 0, 20, 3000, { used: 10, excess: 10 }],
    ["forgets a debt that has been paid by then", -10, 20, 1000, { used: 10 }],
    ["has used the same in debt", -2, 12, 0, { used: 12 }],
  ])("that is paused %s", (_what, held, used, ms, after) => {
    const before = { value: tokens(held), ts: NOW, window: { since: NOW, used: tokens(used) } };
    const { window } = limit.kind.pause(limit, before, NOW + ms);
    expect(window).toEqual({ ...windowOf(after), since: NOW + ms });
  });

  it("is joined as a window that began when the latest part did, after the latest use before it", () => {
    const window = { since: NOW, used: tokens(1), excess: tokens(4), before: NOW - 9 };
    const last = { value: 0, ts: NOW + 5, window: { since: NOW + 5, used: tokens(2) } };
    const joined = limit.kind.join(limit, [{ ...last, window }, last]).window;
    expect(joined).toEqual({ ...window, since: NOW + 5, used: tokens(3) });
  });

  it("keeps its own use after a refund of an earlier take", () => {
    const [before, ts] = [NOW - 5, NOW + 1];
    const headroom = [
      { at: before, units: 0 },
      { at: ts, units: tokens(10) },
    ];
    const window = { since: NOW, used: tokens(7), excess: tokens(3) };
    const taking = { takenAt: before, startsAt: before };
    expect(limit.kind.giveBack(limit, { value: 0, ts, headroom, window }, tokens(2), taking)).toMatchObject({
      value: tokens(2),
      window: { since: NOW, used: tokens(7), excess: tokens(1) },
    });
  });

  it("keeps all its used tokens when its row is split and merged again", () => {
    const halves = splitTo(limit, shardAt(limit, WHOLE, state), 1, NOW);
    expect(halves).toHaveLength(2);
    expect(fold(limit, halves, NOW).state.window).toMatchObject({ since: NOW });
    const { used = 0, excess = 0 } = fold(limit, halves, NOW).state.window ?? {};
    expect(used + excess).toBe(tokens(17));
  });
});

describe("a fixed window whose config changes and whose takes are undone by date", () => {
  const PERIOD = 10;
  const configs = fc.array(
    fc.record({ rate: fc.integer({ min: 1, max: 12 }), capacity: fc.integer({ min: 1, max: 20 }) }),
    { minLength: 1, maxLength: 3 },
  );
  const steps = fc.array(
    fc.record({
      ms: fc.integer({ min: 1, max: 15 }),
      config: fc.nat(2),
      count: fc.integer({ min: 1, max: 12 }),
      /** The index of the take that is undone, if any. */
      undone: fc.option(fc.nat(3), { freq: 2 }),
    }),
    { minLength: 3, maxLength: 8 },
  );

  it("has the same use as without those takes, and holds no more", () => {
    forAny([configs, steps], 3000, (terms, asked) => {
      const all = terms.map((each) =>
        parseLimit("window", { kind: "fixed window", ...each, period: PERIOD, start: 0 }),
      );
      const [first = limits[0]] = all;
      if (!first) return;
      type Write = { readonly limit: typeof first; readonly now: number; readonly units: number };
      const after = (writes: readonly Write[]) =>
        writes.reduce<State>(
          (state, { limit, now, units }) => limit.kind.take(limit, limit.kind.advance(limit, state, now), units),
          fullState(first),
        );
      let state = fullState(first);
      let writes: Write[] = [];
      let now = NOW;
      for (const { ms, config, count, undone } of asked) {
        now += ms;
        const limit = all[config % all.length] ?? first;
        const units = count * limit.unitsPerToken;
        const open = writes.filter((write) => write.units > 0);
        const write = undone === null ? undefined : open[undone % open.length];
        if (write) {
          const taking = { takenAt: write.now, startsAt: write.now };
          const [shard] = adjustOnAll(limit, [shardAt(limit, WHOLE, state)], now, { units: -write.units, taking });
          state = limit.kind.advance(limit, shard?.state ?? state, now);
          const others = writes.map((each) => (each === write ? { ...each, units: 0 } : each));
          writes = [...others, { limit, now, units: 0 }];
          const { value, window } = after(writes);
          expect(state.value).toBeLessThanOrEqual(value);
          expect(state.window && usedIn(state.window)).toBe(window && usedIn(window));
        } else {
          const advanced = limit.kind.advance(limit, state, now);
          if (units > advanced.value) continue;
          state = remembering(limit.kind.take(limit, advanced, units));
          writes.push({ limit, now, units });
        }
      }
    });
  });
});
