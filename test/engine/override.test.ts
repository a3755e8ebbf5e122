/** Overrides of one key: what may be stored, and how it changes the bucket. */
import type { RateLimitConfig } from "convex-rate-limits";
import type { RateLimitOverride } from "convex-rate-limits/admin";
import { describe, expect, it } from "vitest";
import { overrideOf, parseOverride } from "../../src/engine/control.js";
import { bucketOf } from "../../src/engine/request.js";
import { END_OF_TIME } from "../../src/engine/time.js";

const config: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000 };
const NOW = 1_700_000_000_000;

describe("an override", () => {
  it("is stored with its defaults filled in, and without shards of its own", () => {
    const stored = { config: { ...config, capacity: 10 } };
    expect(parseOverride("send", { config: { ...config, shards: 8 } })).toStrictEqual(stored);
    const note = "x".repeat(500);
    expect(parseOverride("send", { block: true, until: NOW, note })).toStrictEqual({ block: true, until: NOW, note });
    expect(parseOverride("send", { unlimited: true, note: "" })).toStrictEqual({ unlimited: true, note: "" });
  });

  const KNOWN = "which has config, block, unlimited, until, note.";
  const ONE = "an override must have exactly one of config, block and unlimited";
  const NOTE = "a well-formed string of at most 500 characters (UTF-16 units)";
  const UNTIL = "a whole number of milliseconds since the epoch above 0 and at most 8640000000000000";
  it.each<[object, string]>([
    [{}, `${ONE}, got none of them.`],
    [{ config, unlimited: true }, `${ONE}, got config and unlimited.`],
    [{ config: null }, "config must be a config, got null."],
    [{ config: 5 }, "config must be a config, got 5."],
    [{ config: { ...config, rate: 0 } }, "rate must be a number above 0 and at most 1e12, got 0."],
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
    expect(overrideOf(bucket, { block: true, until: NOW })).toEqual({ reason: "blocked", until: NOW });
    expect(overrideOf(bucket, { unlimited: true })).toEqual({ unlimited: true, until: END_OF_TIME });
  });

  it("replaces the limit at the same key, with the bucket's own number of rows", () => {
    const stored: RateLimitOverride = { config: { kind: "fixed window", rate: 100, period: 3_600_000 } };
    const limitIn = (own: RateLimitConfig, key: string) => {
      const override = overrideOf(bucketOf({ name: "send", key, config: own }), stored);
      return override.limit;
    };
    expect(limitIn(config, "alice")).toMatchObject({ name: "send", levels: { most: 0 } });
    expect(limitIn({ ...config, shards: 8 }, "alice")?.levels.most).toBe(3);
    const startAt = (key: string) => {
      const limit = limitIn(config, key);
      return limit?.kind.shownConfig?.(limit);
    };
    expect(startAt("alice")).not.toEqual(startAt("bob"));
  });

  it("lets nothing through if the package cannot have written it", () => {
    const damaged = { config: { ...config, rate: -1 } };
    const problem = "cannot be used, so nothing is let through; clearRateLimitOverride removes it.";
    const rate = 'Rate limit "send": rate must be a number above 0 and at most 1e12, got -1.';
    const error = (ofKey: string) => `Rate limit "send": the stored override${ofKey} ${problem} ${rate}`;
    expect(() => overrideOf(bucket, damaged)).toThrow(error(' of key "alice"'));
    expect(() => overrideOf({ ...bucket, key: undefined }, damaged)).toThrow(error(""));
  });
});
