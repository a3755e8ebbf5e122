/** What token buckets and fixed windows have in common: taking, owing, giving back, splitting and joining. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseLimit } from "../../../src/engine/limit.js";
import { fold, shardAt, splitTo } from "../../../src/engine/sharding/shard.js";
import { WHOLE } from "../../../src/engine/sharding/interval.js";
import { MAX_UNITS } from "../../../src/engine/units.js";

const NOW = 1_000_000;
const terms = { rate: 10, period: 1000, maxReserved: 5 };
const limits = [
  parseLimit("token bucket", { kind: "token bucket", ...terms }),
  parseLimit("fixed window", { kind: "fixed window", start: 0, ...terms }),
];

describe.each(limits)("a $name", (limit) => {
  const { kind, capacity, unitsPerToken } = limit;
  const tokens = (count: number) => count * unitsPerToken;

  it("serves at most the capacity, and with a reservation what may be owed besides", () => {
    expect(kind.most(limit, false)).toBe(tokens(10));
    expect(kind.most(limit, true)).toBe(tokens(15));
  });

  it("is taken from, below zero if need be, down to what can be counted", () => {
    expect(kind.take(limit, { value: tokens(3), ts: NOW }, tokens(2))).toEqual({ value: tokens(1), ts: NOW });
    expect(kind.take(limit, { value: tokens(3), ts: NOW }, tokens(5))).toEqual({ value: -tokens(2), ts: NOW });
    expect(kind.take(limit, { value: 0, ts: NOW }, 2 * MAX_UNITS)).toMatchObject({ value: -MAX_UNITS, ts: NOW });
    const larger = { value: -2 * MAX_UNITS, ts: NOW };
    expect(kind.take(limit, larger, 0)).toEqual(larger);
    const window = { since: NOW, used: tokens(10) };
    expect(kind.take(limit, { value: 0, ts: NOW, window }, tokens(1)).window).toEqual({ since: NOW, used: tokens(11) });
    // The debt can still be counted, but not what was used in the window.
    expect(kind.take(limit, { value: 0, ts: NOW, window }, MAX_UNITS)).toEqual({ value: -MAX_UNITS, ts: NOW });
  });

  it("owes what is below zero", () => {
    expect(kind.owed({ value: -tokens(2), ts: NOW })).toBe(tokens(2));
    expect(kind.owed({ value: tokens(2), ts: NOW })).toBe(0);
  });

  it("reserves for the moment at which its debt is paid", () => {
    const { at, state, owed } = kind.reserve(limit, { value: tokens(1), ts: NOW }, tokens(3));
    expect(state).toEqual({ value: -tokens(2), ts: NOW });
    expect(owed).toBe(tokens(2));
    expect(at).toBe(kind.whenHolding(limit, state, 0));
    expect(kind.advance(limit, state, at).value).toBeGreaterThanOrEqual(0);
    expect(kind.advance(limit, state, at - 1).value).toBeLessThan(0);
  });

  it("can reserve again once no more than maxReserved would be owed", () => {
    const state = { value: -tokens(5), ts: NOW };
    const at = kind.whenReservable(limit, state, tokens(2));
    const owed = (now: number) => kind.reserve(limit, kind.advance(limit, state, now), tokens(2)).owed;
    expect(owed(at)).toBeLessThanOrEqual(limit.maxReserved);
    expect(owed(at - 1)).toBeGreaterThan(limit.maxReserved);
  });

  it("is given back to, never above the capacity, whatever the moment of the promise", () => {
    expect(kind.giveBack(limit, { value: tokens(3), ts: NOW }, tokens(2))).toEqual({ value: tokens(5), ts: NOW });
    expect(kind.giveBack(limit, { value: tokens(9), ts: NOW }, tokens(2))).toEqual({ value: capacity, ts: NOW });
    expect(
      kind.giveBack(limit, { value: -tokens(9), ts: NOW }, tokens(2), { takenAt: NOW, startsAt: NOW + 7 }),
    ).toEqual({
      value: -tokens(7),
      ts: NOW,
    });
  });

  it("is split and joined without making or losing a unit", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: capacity }), (value) => {
        const halves = splitTo(limit, shardAt(limit, WHOLE, { value, ts: NOW }), 1, NOW);
        const [left, right] = halves.map((half) => half.state.value) as [number, number];
        expect(left + right).toBe(value);
        for (const half of halves) {
          expect(half.state.value).toBeGreaterThanOrEqual(0);
          expect(half.state.value).toBeLessThanOrEqual(half.limit.capacity);
        }
        expect(fold(limit, WHOLE, halves, NOW).state).toMatchObject({ value, ts: NOW });
      }),
    );
  });

  it("is joined as of the latest of its parts' moments", () => {
    const states = [
      { value: 1, ts: NOW },
      { value: -2, ts: NOW + 5 },
    ];
    expect(kind.join(limit, states)).toEqual({ value: -1, ts: NOW + 5 });
  });
});

describe("a fixed window whose capacity was lowered after it was used", () => {
  const [, limit] = limits;
  if (!limit) throw new Error("There is no fixed window.");
  const tokens = (count: number) => count * limit.unitsPerToken;
  /** 14 of this window count as used, and 3 of those before it, where a full bucket holds 10. */
  const state = { value: 0, ts: NOW, window: { since: NOW, used: tokens(14), excess: tokens(3) } };

  it.each([
    { back: 2, used: 14, excess: 1 },
    { back: 3, used: 14, excess: 0 },
    { back: 4, used: 13, excess: 0 },
  ])("gets $back back by date: as many fewer count as used, and none is there", ({ back, used, excess }) => {
    const after = limit.kind.giveBack(limit, state, tokens(back), { takenAt: NOW, startsAt: NOW });
    const window = { since: NOW, used: tokens(used), ...(excess > 0 && { excess: tokens(excess) }) };
    expect(after).toEqual({ value: 0, ts: NOW, window });
  });

  it("gets back by date what only this window used", () => {
    const only = { since: NOW, used: tokens(14) };
    const after = limit.kind.giveBack(limit, { ...state, window: only }, tokens(3), { takenAt: NOW, startsAt: NOW });
    expect(after).toEqual({ value: 0, ts: NOW, window: { since: NOW, used: tokens(11) } });
  });

  it("keeps all that counts as used when its row is split and merged again", () => {
    const halves = splitTo(limit, shardAt(limit, WHOLE, state), 1, NOW);
    expect(halves).toHaveLength(2);
    expect(fold(limit, WHOLE, halves, NOW).state.window).toMatchObject({ since: NOW });
    const { used = 0, excess = 0 } = fold(limit, WHOLE, halves, NOW).state.window ?? {};
    expect(used + excess).toBe(tokens(17));
  });
});
