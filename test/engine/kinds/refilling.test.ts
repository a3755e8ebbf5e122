/** The common behaviour of token buckets and fixed windows: taking, owing, refunding, splitting and joining. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { remembering } from "../../../src/engine/headroom.js";
import { fullState, type Limit, type State, withUsed } from "../../../src/engine/kinds/kind.js";
import { parseLimit } from "../../../src/engine/kinds/limit.js";
import { fold, shardAt, splitTo } from "../../../src/engine/sharding/shard.js";
import { WHOLE } from "../../../src/engine/sharding/interval.js";
import { MAX_UNITS } from "../../../src/engine/units.js";
import { forAny, runs } from "../../support/random.js";

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
    expect(kind.pause(limit, state(-2, pairs([0, 1])), { at: NOW, until: NOW })).toMatchObject(
      state(-2, pairs([0, 1], [1, 2])),
    );
  });

  it("is empty at the end of a pause, and lets later refunds pay what it still owes then, and no more", () => {
    const pause = (value: number, ms: number, headroom?: State["headroom"]) =>
      kind.pause(limit, { value: tokens(value), ts: NOW, ...(headroom && { headroom }) }, { at: NOW, until: NOW + ms });
    expect([pause(3, 0), pause(0, 0), pause(-1, 7000)]).toMatchObject([
      { value: 0, ts: NOW },
      { value: 0, ts: NOW },
      { value: 0, ts: NOW + 7000 },
    ]);
    const { value, ...after } = pause(-10, 600, [{ at: NOW, units: tokens(3) }]);
    const paid = { at: NOW + 1, units: -value };
    const kept = -value > tokens(3) ? [{ at: NOW, units: tokens(3) }, paid] : [paid];
    expect(after).toMatchObject({ ts: NOW + 600, headroom: kept });
  });

  it("holds at once what it has", () => {
    const state = { value: tokens(5), ts: NOW };
    expect([3, 5].map((count) => kind.whenHolding(limit, state, tokens(count)))).toEqual([NOW, NOW]);
  });

  it("can be refunded up to the capacity, with a date or without; nothing comes back of a time to come", () => {
    const headroom = [{ at: NOW, units: 0 }];
    for (const taking of [undefined, { takenAt: NOW, startsAt: NOW + 7 }, { takenAt: NOW + 1, startsAt: NOW + 1 }]) {
      const back = (held: number) =>
        kind.giveBack(limit, { value: tokens(held), ts: NOW, headroom }, tokens(2), taking).value;
      const after = taking?.takenAt === NOW + 1 ? [3, 9, -9] : [5, 10, -7];
      expect([3, 9, -9].map(back)).toEqual(after.map(tokens));
    }
  });

  it("can reserve again once no more than maxReserved would be owed", () => {
    const at = kind.whenReservable(limit, { value: -tokens(5), ts: NOW }, tokens(2));
    const held = (now: number) => kind.advance(limit, { value: -tokens(5), ts: NOW }, now).value;
    expect([at - 1, at].map((now) => tokens(2) - held(now) <= limit.maxReserved)).toEqual([false, true]);
  });

  it("is joined at the latest time of its parts", () => {
    const states = [
      { value: 1, ts: NOW },
      { value: -2, ts: NOW + 5 },
    ];
    expect(kind.join(limit, states)).toEqual({ value: -1, ts: NOW + 5 });
    const seen = [3, 2].map((count) => ({ value: 1, ts: NOW, seen: count }));
    expect(kind.join(limit, seen)).toEqual({ value: 2, ts: NOW, seen: 2 });
    const dated = { value: 1, ts: NOW, headroom: [{ at: NOW, units: 3 }] };
    expect(kind.join(limit, [dated, dated])).toEqual({ value: 2, ts: NOW, headroom: [{ at: NOW, units: 6 }] });
  });
});

it("a window that is split and joined again keeps all that it used, also above its capacity, in debt and after a pause", () => {
  const limit = parseLimit("window", { kind: "fixed window", rate: 10, period: 1000, start: 0 });
  const { unitsPerToken } = limit;
  const used = fc.oneof(fc.nat(25 * unitsPerToken), fc.constant(Infinity));
  forAny(
    [used, fc.integer({ min: -20 * unitsPerToken, max: 0 }), fc.integer({ min: 1, max: 3 })],
    300,
    (many, debt, level) => {
      const value = debt < 0 ? debt : Math.max(0, limit.capacity - many);
      const window = withUsed({ since: NOW }, Math.max(many, limit.capacity - value));
      const whole = { value, ts: NOW, window };
      const parts = splitTo(limit, shardAt(limit, WHOLE, whole), level, NOW);
      expect(fold(limit, parts, NOW).state).toEqual(whole);
    },
  );
});

describe("a fixed window whose config changes and whose takes are undone by date", () => {
  const PERIOD = 10;
  const rates = fc.integer({ min: 1, max: 12 });
  // All are quotas, or all save tokens up: of plans of both sorts a refund may give what only one of them would hold.
  const configs = fc
    .tuple(fc.boolean(), fc.array(fc.tuple(rates, rates), { minLength: 1, maxLength: 3 }))
    .map(([saves, terms]) =>
      terms.map(([rate, more]) => ({ rate, capacity: saves ? rate + more : Math.max(1, rate - (more % 3)) })),
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

  it("holds no more than without those takes, and exactly that much under one config", () => {
    forAny([configs, steps, fc.boolean()], runs(10_000), (terms, asked, charges) => {
      const all = terms.map((each) =>
        parseLimit("window", { kind: "fixed window", ...each, period: PERIOD, start: 0 }),
      );
      const [first] = all as [Limit];
      interface Write {
        readonly limit: Limit;
        readonly now: number;
        readonly units: number;
      }
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
        const advanced = limit.kind.advance(limit, state, now);
        if (write) {
          state = limit.kind.giveBack(limit, advanced, write.units, { takenAt: write.now, startsAt: write.now });
          const others = writes.map((each) => (each === write ? { ...each, units: 0 } : each));
          writes = [...others, { limit, now, units: 0 }];
        } else if (charges || units <= advanced.value) {
          state = remembering(limit.kind.take(limit, advanced, units), now);
          writes.push({ limit, now, units });
        } else continue;
        const untaken = after(writes);
        if (all.length === 1) expect(state.value).toBe(untaken.value);
        for (const each of all) {
          const held = each.kind.advance(each, state, now).value;
          expect(held).toBeLessThanOrEqual(each.kind.advance(each, untaken, now).value);
        }
      }
    });
  });
});
