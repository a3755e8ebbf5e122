/** What an operator decided: overrides of one key, pauses and resets, and how they change the bucket. */
import type { RateLimitOverride } from "convex-rate-limits/admin";
import { describe, expect, it } from "vitest";
import type { TokensConfig } from "../support/configs.js";
import {
  applyControl,
  type Control,
  NO_CONTROL,
  overrideOf,
  parseOverride,
  pausedUntil,
  withoutPause,
  withPause,
  withReset,
} from "../../src/engine/control.js";
import { bucketOf } from "../../src/engine/request.js";
import { END_OF_TIME } from "../../src/engine/time.js";

const config: TokensConfig = { kind: "token bucket", rate: 10, period: 1000 };
const NOW = 1_700_000_000_000;

describe("an override", () => {
  it("is stored with its defaults filled in, and without shards of its own", () => {
    const stored = { config: { ...config, capacity: 10 } };
    expect(parseOverride("send", { config: { ...config, shards: 8 } })).toStrictEqual(stored);
    const note = "x".repeat(500);
    expect(parseOverride("send", { block: true, until: NOW, note })).toStrictEqual({ block: true, until: NOW, note });
    expect(parseOverride("send", { unlimited: true, note: "" })).toStrictEqual({ unlimited: true, note: "" });
  });

  const KNOWN = "which has config, more, block, unlimited, until, note.";
  const ONE = "an override must have exactly one of config, more, block and unlimited";
  const NOTE = "a well-formed string of at most 500 characters (UTF-16 units)";
  const UNTIL = "a whole number of milliseconds since the epoch above 0 and at most 8640000000000000";
  it.each<[object, string]>([
    [{}, `${ONE}, got none of them.`],
    [{ config, unlimited: true }, `${ONE}, got config and unlimited.`],
    [{ config: null }, "config must be a config, got null."],
    [{ config: 5 }, "config must be a config, got 5."],
    [{ config: { ...config, rate: 0 } }, "rate must be a number at least 1e-12 and at most 1e12, got 0."],
    [{ more: 0 }, "more must be a number above 0 and at most 1e12, got 0."],
    [{ more: 5, config }, `${ONE}, got config and more.`],
    [{ block: false }, "block must be true, got false."],
    [{ unlimited: 1 }, "unlimited must be true, got 1."],
    [{ block: true, until: 0 }, `until must be ${UNTIL}, got 0.`],
    [{ block: true, until: NOW + 0.5 }, `until must be ${UNTIL}, got ${NOW + 0.5}.`],
    [{ block: true, note: ["late"] }, `note must be ${NOTE}, got ["late"].`],
    [{ block: true, note: "x".repeat(501) }, `note must be ${NOTE}, got "${"x".repeat(79)}….`],
    [{ block: true, note: "\uD834" }, `note must be ${NOTE}, got "\\ud834".`],
    [{ block: true, why: "late" }, `"why" is not a field of overrideRateLimit, ${KNOWN}`],
  ])("is refused: %j", (given, problem) => {
    expect(() => parseOverride("send", given as RateLimitOverride)).toThrow(`Rate limit "send": ${problem}`);
  });
});

describe("an override in force", () => {
  const bucket = bucketOf({ name: "send", key: "alice", config });

  it("blocks the bucket or lifts the limit, until it ends or for ever", () => {
    expect(overrideOf(bucket, { override: { block: true, until: NOW }, count: 0 }, NOW - 1)).toEqual({
      reason: "blocked",
      until: NOW,
    });
    expect(overrideOf(bucket, { override: { block: true, until: NOW }, count: 0 }, NOW)).toBeUndefined();
    expect(overrideOf(bucket, NO_CONTROL, NOW)).toBeUndefined();
    expect(overrideOf(bucket, { override: { unlimited: true }, count: 0 }, NOW)).toEqual({
      unlimited: true,
      until: END_OF_TIME,
    });
  });

  it("replaces the limit at the same key, with the bucket's own number of rows", () => {
    const stored: RateLimitOverride = { config: { kind: "fixed window", rate: 100, period: 3_600_000 } };
    const limitIn = (own: TokensConfig, key: string) => {
      return overrideOf(bucketOf({ name: "send", key, config: own }), { count: 0, override: stored }, NOW)?.limit;
    };
    expect(limitIn(config, "alice")).toMatchObject({ name: "send", levels: { most: 0 } });
    expect(limitIn({ ...config, shards: 8 }, "alice")?.levels.most).toBe(3);
    const startAt = (key: string) => {
      const limit = limitIn(config, key);
      return limit?.kind.runsFrom?.(limit, NOW);
    };
    expect(startAt("alice")).not.toEqual(startAt("bob"));
  });

  it("adds tokens to the plan or config in force: to the capacity too, if the kind has one", () => {
    const added = (own: TokensConfig, more = 5) =>
      overrideOf(bucketOf({ name: "send", config: own }), { count: 0, override: { more } }, NOW)?.limit?.config;
    expect(added(config)).toMatchObject({ rate: 15, capacity: 15 });
    expect(added({ ...config, capacity: 30 })).toMatchObject({ rate: 15, capacity: 35 });
    expect(added({ kind: "sliding window", rate: 10, period: 1000 })).toMatchObject({ rate: 15 });
    // As decimals, since a window cannot count 0.30000000000000004 beside so many; and no more than a config may name.
    const window = { kind: "fixed window", rate: 0.1, period: 1000, capacity: 1_000_000 } as const;
    expect(added(window, 0.2)).toMatchObject({ rate: 0.3, capacity: 1_000_000.2 });
    expect(added({ ...config, rate: 6e11 }, 6e11)).toMatchObject({ rate: 1e12, capacity: 1e12 });
  });

  it("lets nothing through if the package cannot have written it", () => {
    const damaged = { count: 0, override: { config: { ...config, rate: -1 } } };
    const problem = "cannot be used, so nothing is let through; clearRateLimitOverride removes it.";
    const rate = 'Rate limit "send": rate must be a number at least 1e-12 and at most 1e12, got -1.';
    const error = (ofKey: string) => `Rate limit "send": the stored override${ofKey} ${problem} ${rate}`;
    expect(() => overrideOf(bucket, damaged, NOW)).toThrow(error(' of key "alice"'));
    expect(() => overrideOf({ ...bucket, key: undefined }, damaged, NOW)).toThrow(error(""));
  });
});

describe("a control row", () => {
  const { limit } = bucketOf({ name: "send", config });
  const { capacity, unitsPerToken, kind } = limit;
  const tokens = (count: number) => count * unitsPerToken;
  const paused = withPause(NO_CONTROL, NOW, NOW + 5000);
  const reset = withReset(NO_CONTROL, NOW);
  const of = (held: number, ts = NOW - 100, seen = 0) => ({ value: tokens(held), ts, ...(seen > 0 && { seen }) });

  it("counts each pause and each reset; a later pause never ends sooner, and a reset ends it", () => {
    expect(paused).toEqual({ count: 1, pause: { count: 1, at: NOW, until: NOW + 5000 } });
    for (const until of [NOW + 1000, NOW + 5000]) expect(withPause(paused, NOW + 10, until)).toBe(paused);
    const again = withPause(paused, NOW + 10, NOW + 5001);
    expect(again).toEqual({ count: 2, pause: { count: 2, at: NOW + 10, until: NOW + 5001, after: NOW + 5000 } });
    expect(withPause(paused, NOW + 5000, NOW + 6000).pause).toEqual({ count: 2, at: NOW + 5000, until: NOW + 6000 });
    const ended = { count: 3, reset: { count: 3, at: NOW + 20, after: NOW + 5001 } };
    expect(withReset(again, NOW + 20)).toEqual(ended);
    expect(withReset(ended, NOW + 30)).toEqual({ count: 4, reset: { count: 4, at: NOW + 30 } });
    expect(withoutPause(paused)).toEqual({ count: 1 });
    expect([NO_CONTROL, paused, reset].map(pausedUntil)).toEqual([0, NOW + 5000, 0]);
  });

  it.each<[what: string, control: Control, held: ReturnType<typeof of>, value: number, ts: number]>([
    ["says nothing to a row that has seen as much", paused, of(3, NOW - 100, 1), 3, NOW - 100],
    ["empties a row that has not seen its pause", paused, of(3), 0, NOW + 5000],
    ["leaves a row in debt at the end of a pause what it then owes", paused, of(-61, NOW), -11, NOW + 5000],
    ["fills a row that has not seen its reset", reset, of(-3), 10, NOW],
    ["fills a row that a clock ahead has written before the reset", reset, of(-3, NOW + 900), 10, NOW],
    ["first fills, then empties after a reset and a pause", withPause(reset, NOW, NOW + 9), of(-30), 0, NOW + 9],
    ["only fills after a pause and a reset", withReset(paused, NOW + 7), of(3), 10, NOW + 7],
    ["only empties a row that has seen the reset", withPause(reset, NOW, NOW + 9), of(-30, NOW, 1), -29.91, NOW + 9],
    [
      "applies a second pause that ends later again",
      withPause(paused, NOW + 1, NOW + 5001),
      of(4, NOW, 1),
      0,
      NOW + 5001,
    ],
  ])("%s", (_what, control, before, value, ts) => {
    const after = applyControl(limit, before, control);
    expect(after).toMatchObject({ value: tokens(value), ts, seen: Math.max(1, control.count) });
    // What was applied once is not applied again.
    expect(applyControl(limit, after, control)).toBe(after);
  });

  it("forgets all that was taken before a reset: it never comes back, by any clock that is up to a minute ahead", () => {
    const takenAt = NOW + 900;
    const before = { value: tokens(4), ts: takenAt, headroom: [{ at: takenAt, units: 0 }] };
    const state = applyControl(limit, before, reset);
    const used = kind.take(limit, kind.advance(limit, state, NOW + 1), tokens(10));
    const back = (ms: number) => {
      const later = kind.advance(limit, used, NOW + ms);
      return kind.giveBack(limit, later, tokens(6), { takenAt, startsAt: takenAt }).value - later.value;
    };
    expect([1, 5, 900, 950].map(back)).toEqual([0, 0, 0, 0]);
  });

  it("gives back what is taken after a reset that ended a pause, also before that would have ended", () => {
    const log = bucketOf({ name: "send", config: { kind: "sliding window", rate: 10, period: 1000 } }).limit;
    const row = { value: log.capacity, ts: NOW + 5000, recent: [] };
    const state = applyControl(log, row, withReset(paused, NOW + 100));
    const used = log.kind.take(log, log.kind.advance(log, state, NOW + 101), log.capacity);
    const dates = { takenAt: NOW + 101, startsAt: NOW + 101 };
    expect(log.kind.giveBack(log, used, log.capacity, dates).value).toBe(log.capacity);
  });

  it("lets what was taken before a pause come back only to what the bucket owes at its end", () => {
    const at = (units: number) => ({ value: units, ts: NOW, headroom: [{ at: NOW, units: 0 }] });
    const back = (held: number) => {
      const state = applyControl(limit, at(tokens(held)), withPause(NO_CONTROL, NOW, NOW + 1000));
      return kind.giveBack(limit, state, tokens(40), { takenAt: NOW, startsAt: NOW }).value - state.value;
    };
    // Ten arrive in the pause.
    expect([3, -10, -15].map(back)).toEqual([0, 0, tokens(5)]);
  });

  it("holds nothing at the end of a pause also under a larger capacity, for every kind", () => {
    const window = { rate: 10, period: 60_000 } as const;
    const kinds: TokensConfig[] = [
      { kind: "token bucket", ...window },
      { kind: "fixed window", start: 0, ...window },
      { kind: "sliding window", ...window },
    ];
    for (const own of kinds) {
      const [small, large] = [own, { ...own, rate: 1000 }].map(
        (each) => bucketOf({ name: "send", config: each }).limit,
      );
      if (!small || !large) throw new Error("There are two limits.");
      const full = { value: small.capacity, ts: 0 };
      const stopped = applyControl(small, full, paused);
      expect(large.kind.advance(large, stopped, NOW + 5000).value).toBeLessThanOrEqual(0);
    }
    expect(capacity).toBe(tokens(10));
  });
});
