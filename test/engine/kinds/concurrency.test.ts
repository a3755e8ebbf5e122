/** Concurrency: slots whose dates name their leases. test/oracle/slots.test.ts plays whole worlds against an exact twin. */
import { describe, expect, it } from "vitest";
import type { Limit, State } from "../../../src/engine/kinds/kind.js";
import { fullState } from "../../../src/engine/kinds/kind.js";
import { parseLimit } from "../../../src/engine/kinds/limit.js";
import { fromStored } from "../../../src/engine/units.js";
import { NOW } from "../../support/clock.js";

const LEASE = 1000;
const limit = parseLimit("jobs", { kind: "concurrency", slots: 3, lease: LEASE });
const slot = limit.unitsPerToken;
const { kind } = limit;

function taken(state: State, now: number, own: Limit = limit): State {
  return kind.take(own, kind.advance(own, state, now), slot);
}
const datesOf = ({ recent = [] }: State) => recent.map(({ at }) => at);
const freeIn = (state: State) => kind.advance(limit, state, state.ts).value / slot;

describe("a slot", () => {
  it("is dated by the clock, and after all others", () => {
    const first = taken(fullState(limit), NOW);
    const second = taken(first, NOW);
    // A clock that is behind.
    const third = taken(second, NOW - 500);
    expect(datesOf(third)).toEqual([NOW, NOW + 1, NOW + 2]);
    expect(datesOf(taken(third, NOW + LEASE))).toEqual([NOW + 1, NOW + 2, NOW + LEASE]);
  });

  it("is freed by its date alone", () => {
    const held = taken(taken(fullState(limit), NOW), NOW);
    for (const date of [NOW - 1, NOW + 2, 0]) expect(kind.release?.(limit, held, date)).toBe(held);
    const freed = kind.release?.(limit, held, NOW + 1) ?? held;
    expect(freeIn(freed)).toBe(2);
    expect(kind.release?.(limit, freed, NOW + 1)).toBe(freed);
    // The date that was freed last is not used again.
    expect(datesOf(taken(freed, NOW))).toEqual([NOW, NOW + 2]);
  });

  it("does not come back as a token does", () => {
    const held = taken(fullState(limit), NOW);
    const taking = { takenAt: NOW, startsAt: NOW };
    expect(kind.giveBack(limit, held, slot, taking)).toBe(held);
    expect(kind.giveBack(limit, held, slot)).toBe(held);
  });

  it("frees none that a row too damaged to be counted holds, also if it is taken without a bound", () => {
    const damaged = fromStored(limit, { value: 0, ts: NOW, recent: [{ at: NOW, count: 1e300 }] }, undefined);
    expect([freeIn(damaged), freeIn(taken(damaged, NOW))]).toEqual([0, -1]);
  });

  it("stays taken in a pause, after which the others are free", () => {
    const held = taken(fullState(limit), NOW);
    expect(kind.pause(limit, held, { at: NOW, until: NOW + 500 })).toBe(held);
  });
});

describe("rows that each stand for the whole bucket, since runs wrote them that do not see each other", () => {
  const here = taken(taken(fullState(limit), NOW), NOW + 10);
  const there = taken({ ...fullState(limit), seen: 2 }, NOW);

  it("become one that holds all leases at their dates", () => {
    const one = kind.join(limit, [here, { ...there, seen: 1 }]);
    expect(datesOf(one)).toEqual([NOW, NOW + 10]);
    expect(freeIn(one)).toBe(0);
    expect(one).not.toHaveProperty("seen");
    expect(kind.join(limit, [{ ...here, seen: 2 }, there])).toHaveProperty("seen", 2);
  });

  it("free a lease that is theirs alone, and none that two took in one millisecond", () => {
    const one = kind.join(limit, [here, there]);
    expect(kind.release?.(limit, one, NOW)).toBe(one);
    expect(freeIn(kind.release?.(limit, one, NOW + 10) ?? one)).toBe(1);
  });
});
