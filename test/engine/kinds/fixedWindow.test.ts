/** The arrival of a fixed window's tokens: at the boundaries of its period, or of the calendar. */
import type { FixedWindowConfig } from "../../../src/wire/configs.js";
import { describe, expect, it } from "vitest";
import { fullState, type Limit, unitsPerMs } from "../../../src/engine/kinds/kind.js";
import { parseLimit } from "../../../src/engine/kinds/limit.js";
import { hashedStart } from "../../../src/engine/phase.js";
import { END_OF_TIME } from "../../../src/engine/time.js";

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

  it("forgets in each window as much of the use under a larger capacity as the window brings", () => {
    const small = parseLimit("small", { ...config, capacity: 5 });
    const tokens = (count: number) => count * small.unitsPerToken;
    const state = { value: 0, ts: 300, window: { since: 250, used: tokens(5), excess: tokens(12) } };
    const excess = [300, 1250, 2250, 3250].map((now) => small.kind.advance(small, state, now).window?.excess);
    expect(excess).toEqual([tokens(12), tokens(12), tokens(7), tokens(2)]);
    // Also of a window that began after another kind.
    const adopted = { ...state, window: { since: 249.5, used: tokens(17) } };
    expect(small.kind.advance(small, adopted, 1250).window?.excess).toBe(tokens(12));
    // A debt is no sign that the capacity was lowered.
    const owing = { value: tokens(-2), ts: 300, window: { since: 250, used: tokens(7) } };
    expect(small.kind.advance(small, owing, 400)).toEqual({ ...owing, ts: 400 });
  });

  it("knows all of a window that began by 1970 if the bucket was never written, and not what another kind used of it", () => {
    const few = parseLimit("few", { ...config, period: 1e15, start: -9, capacity: 5 });
    const { kind, unitsPerToken } = few;
    const many = { ...few, capacity: 1000 * unitsPerToken };
    const found = [0, 260].map((ts) => {
      const taken = kind.take(few, kind.advance(few, { ...fullState(few), ts }, 300), 2 * unitsPerToken);
      return [kind.advance(many, taken, 300).value / unitsPerToken, kind.shortStep?.(few, taken)?.units];
    });
    expect(found).toEqual([
      [998, undefined],
      [3, unitsPerToken],
    ]);
  });

  it("starts at the hash of its key, unless the config has a start", () => {
    const hashed = parseLimit("send", { kind: "fixed window", rate: 1, period: HOUR });
    const startOf = (key: string | undefined) => {
      const limit = at(hashed, key);
      return (limit.kind.shownConfig?.(limit) as FixedWindowConfig).start;
    };
    expect(startOf(undefined)).toBe(hashedStart("send", HOUR));
    expect(startOf("alice")).toBe(hashedStart("alice", HOUR));
    const alice = at(hashed, "alice");
    expect(alice.kind.whenReset?.(alice, fullState(alice), 0)).toBe(hashedStart("alice", HOUR));
    expect(window.kind.shownConfig?.(window)).toEqual(config);
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
    expect(month.kind.shownConfig?.(month)).toEqual({ ...base, capacity: 5, timeZone: "UTC", anchor: 1 });
    expect(month.kind.whenReset?.(month, fullState(month), Date.UTC(2026, 1, 5))).toBe(Date.UTC(2026, 2, 1));
    expect(unitsPerMs(month)).toBe((5 * month.unitsPerToken) / ((365.2425 / 12) * DAY));
  });
});
