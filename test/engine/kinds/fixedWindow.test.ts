/** The arrival of a fixed window's tokens: at the boundaries of its period, or of the calendar. */
import type { FixedWindowConfig } from "../../../src/wire/configs.js";
import { describe, expect, it } from "vitest";
import { remembering } from "../../../src/engine/headroom.js";
import { fullState, type Limit, unitsPerMs } from "../../../src/engine/kinds/kind.js";
import { parseLimit } from "../../../src/engine/kinds/limit.js";
import { hashedStart } from "../../../src/engine/kinds/fixedWindow.js";
import { END_OF_TIME } from "../../../src/engine/time.js";
import { fromStored, toStored } from "../../../src/engine/units.js";

/** The limit as it applies to a key. */
const at = (limit: Limit, key: string | undefined) => limit.kind.forKey?.(limit, key) ?? limit;

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const config: FixedWindowConfig = { kind: "fixed window", rate: 5, period: 1000, start: 250, capacity: 1000 };
const window = parseLimit("window", config);
const perWindow = 5 * window.unitsPerToken;
/** The state of a bucket that was emptied in a window long ago. */
const empty = (limit: Limit, ts: number) => ({ value: 0, ts, window: { since: -1e9, used: limit.capacity } });
const arrived = (limit: Limit, from: number, to: number) => limit.kind.advance(limit, empty(limit, from), to).value;
const when = (limit: Limit, ts: number, units: number) => limit.kind.whenHolding(limit, empty(limit, ts), units);

describe("a fixed window", () => {
  const later = parseLimit("later", { ...config, start: 1e9 + 250 });
  const ages = parseLimit("ages", { ...config, period: 1e15 });

  it("refills at each boundary, up to the capacity, but not when the clock steps back over one", () => {
    const windows = (from: number, to: number) => arrived(window, from, to) / perWindow;
    expect([windows(250, 1249), windows(1249, 1250), windows(249, 3250), windows(1250, 1249)]).toEqual([0, 1, 4, 0]);
    expect(arrived(later, 0, 1250)).toBe(2 * perWindow);
    expect(arrived(window, 250, 1e9)).toBe(window.capacity);
  });

  it("waits for the boundary that brings enough", () => {
    const times = [0, 1, perWindow, perWindow + 1].map((units) => when(window, 300, units));
    expect(times).toEqual([300, 1250, 1250, 2250]);
    expect(when(ages, 300, ages.capacity)).toBe(END_OF_TIME);
  });

  it("is reset at the start of the window after now and the last write, also before a start in the future", () => {
    const resetAt = (limit: Limit, ts: number, now: number) => limit.kind.whenReset?.(limit, { value: 0, ts }, now);
    expect([1249, 1250].map((now) => resetAt(window, 300, now))).toEqual([1250, 2250]);
    expect(resetAt(window, 5000, 300)).toBe(5250);
    expect([0, 249, 250].map((now) => resetAt(later, 0, now))).toEqual([250, 250, 1250]);
  });

  it("brings part of the next window's tokens, or none, if a window with another start began during the current one", () => {
    const { kind } = window;
    const since = (ms: number) => ({ value: 0, ts: ms, window: { since: ms, used: window.capacity } });
    const tokens = (count: number) => count * window.unitsPerToken;
    // Of 5 tokens, 3 in 749 ms, and none in 199 ms.
    expect([250, 501, 1051].map((ms) => kind.advance(window, since(ms), 1250).value / window.unitsPerToken)).toEqual([
      5, 3, 0,
    ]);
    const decimal = parseLimit("decimal", { ...config, rate: 2.5 });
    const whole = { value: 0, ts: 250, window: { since: 250, used: decimal.capacity } };
    expect(decimal.kind.advance(decimal, whole, 1250).value).toBe(2.5 * decimal.unitsPerToken);
    const run = { start: 250, period: 1000, count: 1 };
    expect([250, 501, 1051].map((ms) => kind.shortStep?.(window, since(ms)))).toEqual([
      undefined,
      { ...run, units: tokens(2) },
      { ...run, units: tokens(5) },
    ]);
    expect([1100, 1250, 2250].map((now) => kind.whenReset?.(window, since(1051), now))).toEqual([2250, 2250, 3250]);
    expect(kind.whenReset?.(window, since(501), 1100)).toBe(1250);
  });

  it("starts at the hash of its key, unless the config has a start", () => {
    const hashed = parseLimit("send", { kind: "fixed window", rate: 1, period: HOUR });
    const startOf = (key: string | undefined, limit = hashed) => {
      const own = at(limit, key);
      return own.kind.whenReset?.(own, fullState(own), 0);
    };
    expect(startOf(undefined)).toBe(hashedStart("send", HOUR));
    expect(startOf("alice")).toBe(hashedStart("alice", HOUR));
    expect(at(window, "alice")).toBe(window);
  });

  it("tells clients the window that contains a time, also if it began before 1970", () => {
    // Days begin one minute before midnight, and the first has the number -1.
    const days = { period: "day", timeZone: "Asia/Kathmandu", anchor: 1439 } as const;
    const day = parseLimit("send", { kind: "fixed window", rate: 5, ...days });
    expect(day.kind.runsFrom?.(day, 1)[0]?.start).toBeLessThan(1);
  });

  it("begins with a calendar month: by default on its first day in UTC", () => {
    const base = { kind: "fixed window" as const, rate: 5, period: "month" as const };
    const month = parseLimit("send", base);
    expect(month.config).toEqual({ ...base, capacity: 5, timeZone: "UTC", anchor: 1 });
    expect(month.kind.whenReset?.(month, fullState(month), Date.UTC(2026, 1, 5))).toBe(Date.UTC(2026, 2, 1));
    expect(unitsPerMs(month)).toBe((5 * month.unitsPerToken) / ((365.2425 / 12) * DAY));
  });
});

/** A step in the life of a quota, of which other capacities come and go. */
interface Step {
  /** The rate, which is the capacity unless a plan saves tokens up. */
  readonly of: number;
  readonly capacity?: number;
  readonly start?: number;
  /** After NOW. */
  readonly ms?: number;
  readonly take?: number;
  readonly reserve?: number;
  readonly back?: number;
  /** When the tokens that come back were taken, in ms after NOW; a gift without it. */
  readonly from?: number;
  /** How long a pause is. */
  readonly pause?: number;
  readonly holds: number;
}

/** "of 10 take 4 holds 6; of 20 holds 16": names and numbers. */
function stepsOf(story: string): Step[] {
  const pairsOf = (step: string) =>
    Array.from(step.matchAll(/(\w+) (-?\d+)/g), ([, name, number]) => [name, Number(number)]);
  return story.split("; ").map((step) => Object.fromEntries(pairsOf(step)) as Step);
}

describe("a quota under several plans", () => {
  const NOW = 1_000_000;
  const quota = (rate: number, start = 0, capacity = rate) =>
    parseLimit("quota", { kind: "fixed window", rate, period: 1000, start, capacity });

  const stories = {
    "counts what this window used, whatever the plan was":
      "of 10 take 4 holds 6; of 20 holds 16; of 5 holds 1; of 3 holds 0; of 10 holds 6",
    "is whole in a new window": "of 20 take 14 holds 6; of 5 ms 1000 holds 5; of 20 ms 1000 holds 20",
    "counts a charge beyond its capacity as used: a larger plan has the rest at once":
      "of 10 take 12 holds -2; of 20 holds 8; of 10 holds 0; of 20 ms 1000 holds 20; of 10 ms 2000 holds 10",
    "still owes what it has promised, under a larger plan too, and pays once":
      "of 10 reserve 12 holds -2; of 20 holds -2; of 20 ms 1000 holds 18; of 10 ms 2000 holds 10",
    "takes a refund first for what was used above the capacity":
      "of 20 take 14 holds 6; of 10 back 3 from 0 holds 0; of 10 back 2 from 0 holds 1; of 20 holds 11",
    "takes a gift so, too: none makes tokens of a plan that comes back":
      "of 1000 take 1000 holds 0; of 100 back 10 holds 0; of 1000 holds 10",
    "pays no debt with a take that a larger plan would have held":
      "of 20 take 14 holds 6; of 10 ms 1 take 1 holds -1; of 10 ms 2 back 4 from 0 holds -1; " +
      "of 20 ms 3 back 1 from 0 holds 5; of 10 ms 4 back 1 from 1 holds 0",
    "nor in the next window, which has forgotten that take":
      "of 20 take 14 holds 6; of 10 ms 1 take 1 holds -1; of 10 ms 1000 back 4 from 0 holds 9",
    "holds nothing after a pause, until the next window, and then all":
      "of 10 take 4 holds 6; of 10 pause 500 holds 0; of 50 ms 700 holds 0; of 50 ms 1000 holds 50",
    "holds what a window that began early brought, and no more under a larger plan":
      "of 100 take 100 holds 0; of 20 start 300 ms 300 take 5 holds 1; " +
      "of 100 start 300 ms 301 holds 1; of 100 start 300 ms 1300 holds 100",
    "gives back nothing of what a window of a smaller plan, which began early, has forgiven":
      "of 10 take 4 holds 6; of 10 ms 100 take 4 holds 2; " +
      "of 1 start 700 ms 700 holds 0; of 1 start 700 ms 701 back 4 from 0 holds 0",
    "counts what this window used, also if what was taken before it comes back to a plan that saves up":
      "of 7 capacity 26 take 23 holds 3; of 7 capacity 26 ms 1000 take 4 holds 6; " +
      "of 7 capacity 26 ms 1001 back 7 from 0 holds 13; of 7 ms 1002 holds 3",
    "counts what was used after a date, also if tokens of that date come back to a plan that saves up":
      "of 7 take 3 holds 4; of 7 capacity 26 ms 100 take 4 holds 0; " +
      "of 7 capacity 26 ms 101 back 7 from 50 holds 7; of 7 ms 102 holds 3",
    "holds what was used of it since, once a plan that saves up has got it back":
      "of 7 capacity 26 take 3 holds 23; of 7 capacity 26 ms 1 take 2 holds 21; " +
      "of 7 capacity 26 ms 2 back 3 from 0 holds 24; of 7 ms 3 holds 5",
    "holds what it was given after a pause, and no more under a larger plan":
      "of 10 pause 500 holds 0; of 10 ms 600 back 2 holds 2; of 1000 ms 700 holds 2; of 1000 ms 800 take 1 holds 1",
    "owes after a pause what it owed": "of 10 take 13 holds -3; of 10 pause 500 holds -3; of 50 ms 1000 holds 47",
  };
  it.each(Object.entries(stories))("%s", (_what, story) => {
    let state = fullState(quota(10));
    for (const [i, step] of stepsOf(story).entries()) {
      const { of, capacity, start, ms = 0, take = 0, reserve = 0, back = 0, from, pause, holds } = step;
      const limit = quota(of, start, capacity);
      const { kind, unitsPerToken } = limit;
      const now = NOW + ms;
      if (pause !== undefined) state = kind.pause(limit, state, { at: now, until: now + pause });
      state = kind.advance(limit, state, now);
      if (take > 0) state = remembering(kind.take(limit, state, take * unitsPerToken), now);
      if (reserve > 0) state = kind.reserve(limit, state, reserve * unitsPerToken).state;
      const taking = from === undefined ? undefined : { takenAt: NOW + from, startsAt: NOW + from };
      if (back > 0) state = kind.giveBack(limit, state, back * unitsPerToken, taking);
      const after = kind.advance(limit, state, now);
      expect([i, after.value / unitsPerToken]).toEqual([i, holds]);
      // It is stored as it is, and read again.
      state = fromStored(limit, toStored(limit, state), undefined);
    }
  });

  it("that saves tokens up keeps what it holds, as a token bucket does", () => {
    const saving = (rate: number) =>
      parseLimit("saving", { kind: "fixed window", rate, period: 1000, start: 0, capacity: 30 });
    const state = {
      value: 12 * saving(10).unitsPerToken,
      ts: NOW,
      window: { since: NOW, used: 18 * saving(10).unitsPerToken },
    };
    const held = [10, 29].map((rate) => saving(rate).kind.advance(saving(rate), state, NOW).value);
    expect(held).toEqual([state.value, state.value]);
  });
});
