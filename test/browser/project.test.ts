/** The client's projection equals the server's decision, on any rows, at any time. */
import type { RateLimitStatus } from "convex-rate-limits";
import { type ProjectedStatus, projectRateLimit } from "convex-rate-limits/client";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TokensConfig } from "../support/configs.js";
import { END_OF_TIME } from "../../src/browser/bucket.js";
import type { Limit } from "../../src/engine/kinds/kind.js";
import { parseLimit } from "../../src/engine/kinds/limit.js";
import { demandOf } from "../../src/engine/request.js";
import { isFast } from "../../src/engine/sharding/policy.js";
import { decideOnAll, servedFrom } from "../../src/engine/sharding/pool.js";
import { fullShard, type Shard, splitTo } from "../../src/engine/sharding/shard.js";
import { snapshotOf } from "../../src/engine/snapshot.js";
import { present } from "../../src/wire/present.js";
import { blocked, lastStartIn, snapshotBy } from "../support/snapshots.js";
import { forAny, runs } from "../support/random.js";
import { anyConfigs } from "../laws/arbitraries.js";

const NOW = 1_800_000_000_000;
const at = (now: number) => ({ now, pausedUntil: 0 });

const shards = fc.constantFrom<TokensConfig["shards"]>(1, 2, 16, 1024, "auto");
const anyConfig = fc.oneof(
  { weight: 4, arbitrary: anyConfigs.tokenBucket },
  { weight: 4, arbitrary: anyConfigs.fixedWindow },
  { weight: 4, arbitrary: anyConfigs.slidingWindow },
  { weight: 1, arbitrary: anyConfigs.calendarWindow },
);
const config = fc.tuple(anyConfig, shards).map(([config, shards]) => present({ ...config, shards }));

const anyShare = fc.double({ min: 0, max: 1, noNaN: true });
const anyTake = fc.record({ row: fc.nat({ max: 20 }), share: anyShare, ago: fc.nat(3000) });
/** The history of a bucket: rows split, and each row takes, owes or reserves at its own time. */
const history = fc.record({
  splits: fc.array(fc.nat({ max: 20 }), { maxLength: 6 }),
  takes: fc.array(anyTake, { maxLength: 12 }),
  reserved: fc.array(fc.nat({ max: 40 }), { maxLength: 3 }),
});
type History = typeof history extends fc.Arbitrary<infer Value> ? Value : never;

function shardsAfter(config: TokensConfig, { splits, takes, reserved }: History) {
  const limit = parseLimit("any", config);
  let shards: Shard[] = [fullShard(limit)];
  for (const pick of splits) {
    const at = pick % shards.length;
    const shard = shards[at];
    if (!shard || shard.interval.length >= limit.levels.most) continue;
    const parts = splitTo(limit, shard, shard.interval.length + 1, NOW - 3000);
    shards = shards.flatMap((one, i) => (i === at ? parts : one));
  }
  for (const { row, share, ago } of [...takes].sort((a, b) => b.ago - a.ago)) {
    const at = row % shards.length;
    shards = shards.map((shard, i) => {
      if (i !== at) return shard;
      const { kind } = shard.limit;
      const state = kind.advance(shard.limit, shard.state, NOW - ago);
      const units = Math.floor(Math.max(0, state.value) * share);
      return { ...shard, state: kind.take(shard.limit, state, units) };
    });
  }
  const [only] = shards;
  if (only && shards.length === 1) {
    for (const tokens of reserved) {
      const { kind } = only.limit;
      const state = kind.advance(only.limit, shards[0]?.state ?? only.state, NOW - 100);
      const units = Math.min(tokens * limit.unitsPerToken, limit.capacity);
      shards = [{ ...only, state: kind.reserve(only.limit, state, units).state }];
    }
  }
  return { limit, shards };
}

const question = fc.record({
  now: fc.oneof(fc.integer({ min: -4000, max: 5000 }), fc.integer({ min: 0, max: 10_000_000 })).map((ms) => NOW + ms),
  count: fc.oneof(
    fc.integer({ min: 0, max: 20 }),
    fc.constantFrom(0.25, 1 / 3, 0.001),
    // Products of decimals differ slightly from the whole numbers that they mean.
    fc.integer({ min: 1, max: 1000 }).map((hundredths) => hundredths / 100),
    fc.integer({ min: 0, max: 300 }),
  ),
  reserve: fc.boolean(),
});

/** On several rows, times depend on the rows that a call takes from: that of a denial suffices. */
function agreesOnRows(
  limit: Limit,
  shards: readonly Shard[],
  ask: { count?: number; reserve?: boolean },
  projected: Omit<ProjectedStatus, "value">,
  { ok, remaining = NaN }: RateLimitStatus,
) {
  expect(projected.ok).toBe(ok);
  // If a unit is a whole token, joining rows may round one away.
  expect(Math.abs(projected.remaining - remaining)).toBeLessThanOrEqual(limit.unitsPerToken === 1 ? 1 : 0);
  if (ok || projected.retryAt === undefined || projected.retryAt === END_OF_TIME) return;
  expect(decideOnAll(limit, shards, at(projected.retryAt), demandOf(limit, ask)).status.ok).toBe(true);
}

function without(status: ProjectedStatus): Omit<ProjectedStatus, "value"> {
  const { value, ...own } = status;
  expect(value).not.toBeNaN();
  return own;
}

/** The server's decision on all rows. It must equal the client's projection from their snapshot. */
function agreed(limit: Limit, shards: readonly Shard[], now: number, ask: { count?: number; reserve?: boolean }) {
  const decided = decideOnAll(limit, shards, at(now), demandOf(limit, ask)).status;
  const projected = without(projectRateLimit(snapshotOf(limit, shards), { now, ...ask }));
  if (shards.length === 1) expect(projected).toEqual(decided);
  else agreesOnRows(limit, shards, ask, projected, decided);
  return decided;
}

type Act = "take" | "reserve" | "refund";
/** A step is made `ms` after the one before. A refund with `startsAt` is that of a reservation that was made at NOW. */
type Step = { act: Act; count: number; ms: number; startsAt?: number };
const stepOf =
  (act: Act) =>
  (count: number, ms = 0, startsAt?: number): Step => ({ act, count, ms, ...(startsAt !== undefined && { startsAt }) });
const [take, reserve, refund] = [stepOf("take"), stepOf("reserve"), stepOf("refund")];

/** A sliding window of 10 tokens a second on one row after these steps. A take or a reservation that it denies changes nothing. */
function slidingAfter(steps: readonly Step[], maxReserved?: number) {
  const bound = maxReserved === undefined ? {} : { maxReserved };
  const limit = parseLimit("slide", { kind: "sliding window", rate: 10, period: 1000, ...bound });
  const { kind } = limit;
  const shard = fullShard(limit);
  let { state } = shard;
  let now = NOW;
  for (const { act, count, ms, startsAt } of steps) {
    now += ms;
    state = kind.advance(limit, state, now);
    const units = count * limit.unitsPerToken;
    const dates = startsAt === undefined ? undefined : { takenAt: NOW, startsAt: NOW + startsAt };
    if (act === "refund") state = kind.giveBack(limit, state, units, dates);
    else if (units <= state.value) state = kind.take(limit, state, units);
    else if (act === "reserve") ({ state } = kind.reserve(limit, state, units));
  }
  return { limit, now, shards: [{ ...shard, state }] };
}

describe("projectRateLimit", () => {
  it("equals the server's decision on all rows", () => {
    let several = 0;
    forAny([config, history, question], runs(4000), (config, history, { now, count, reserve }) => {
      const { limit, shards } = shardsAfter(config, history);
      if (shards.length > 1) several++;
      const snapshot = snapshotOf(limit, shards);
      const { value, ...status } = projectRateLimit(snapshot, { now, count, reserve });
      expect(value).toBeLessThanOrEqual(limit.capacity / limit.unitsPerToken);
      const decided = decideOnAll(limit, shards, at(now), demandOf(limit, { count, reserve })).status;
      const isListed = (decided.retryAt ?? 0) <= lastStartIn(snapshot);
      if (shards.length > 1) agreesOnRows(limit, shards, { count, reserve }, status, decided);
      // For a debt beyond the windows that a snapshot lists, the projection only reports that its end is unknown.
      else expect(status).toEqual(isListed ? decided : { ...decided, retryAt: END_OF_TIME });
    });
    expect(several).toBeGreaterThan(runs(500));
  });

  it.each(["token bucket", "fixed window", "sliding window"] as const)(
    "a %s promises on all rows together what is larger than the share of each",
    (kind) => {
      const base = { rate: 10, period: 1000, maxReserved: 20, shards: 2 };
      const config =
        kind === "token bucket" ? { kind, ...base } : { kind, ...base, ...(kind === "fixed window" && { start: 0 }) };
      for (const share of [0, 0.5, 1]) {
        const takes = [0, 1].map((row) => ({ row, share, ago: 100 }));
        const { limit, shards } = shardsAfter(config, { splits: [0], takes, reserved: [] });
        expect(shards).toHaveLength(2);
        for (const count of [6, 10, 11, 20, 30]) agreed(limit, shards, NOW, { count, reserve: true });
      }
    },
  );

  // Too few random limits are short of tokens on several rows at once, or owe.
  const short = fc.record({
    config: fc.record({
      kind: fc.constantFrom("token bucket" as const, "fixed window" as const, "sliding window" as const),
      rate: fc.integer({ min: 20, max: 400 }),
      period: fc.constantFrom(50, 1000),
      shards: fc.constantFrom(4, 16, 1024),
      maxReserved: fc.constantFrom(0, 3),
    }),
    splits: fc.array(fc.nat(20), { minLength: 1, maxLength: 6 }),
    takes: fc.array(fc.record({ row: fc.nat(6), share: fc.constantFrom(0.9, 0.99, 1), ago: fc.nat(20) }), {
      minLength: 7,
      maxLength: 14,
    }),
    now: fc.integer({ min: -5, max: 20 }).map((ms) => NOW + ms),
    count: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constantFrom(0.1, 0.5)),
  });

  it("reports when a fast limit that is short on several rows can serve a call, and no sooner after a block", () => {
    let denied = 0;
    const scene = fc.tuple(short, fc.integer({ min: 1, max: 300 }));
    forAny([scene, fc.boolean()], runs(1500), ([{ config, splits, takes, now, count }, ms], reserve) => {
      const { limit, shards } = shardsAfter(config, { splits, takes, reserved: [] });
      fc.pre(count * limit.unitsPerToken <= limit.capacity);
      const demand = { count, reserve };
      if (!agreed(limit, shards, now, demand).ok) denied++;
      const until = NOW + 20 + ms;
      const snapshot = blocked(snapshotOf(limit, shards), until);
      const asked = demandOf(limit, demand);
      // A slow limit also reserves on all rows together.
      const first = reserve && !isFast(limit, asked.units) ? until : servedFrom(limit, shards, at(until), asked);
      const { retryAt = 0 } = projectRateLimit(snapshot, { now, ...demand });
      // Of several rows a call may find the emptiest.
      expect(retryAt).toBeGreaterThanOrEqual(first);
      expect(projectRateLimit(snapshot, { now: retryAt, ...demand }).ok).toBe(true);
    });
    expect(denied).toBeGreaterThan(runs(200));
  });

  it.each(["token bucket", "fixed window"] as const)(
    "reports when a %s that is full on two rows is full after a call",
    (kind) => {
      const limit = parseLimit("send", { kind, rate: 10, period: 1000, shards: 2 });
      const shards = splitTo(limit, fullShard(limit), 1, NOW);
      const { resetAt = Infinity } = projectRateLimit(snapshotOf(limit, shards), { now: NOW });
      expect(resetAt).toBeGreaterThan(NOW);
      expect(resetAt).toBeLessThanOrEqual(NOW + 1000);
    },
  );

  it("reports the end of a block as retryAt for a fast limit on several rows, even if the clock is before the last write", () => {
    const limit = parseLimit("send", { kind: "token bucket", rate: 1, period: 1, capacity: 20, shards: 4 });
    const shards = splitTo(limit, { ...fullShard(limit), state: { value: limit.capacity - 1, ts: NOW } }, 1, NOW);
    const until = NOW - 1000;
    expect(servedFrom(limit, shards, at(until), demandOf(limit, { count: 1 }))).toBe(until);
    const snapshot = blocked(snapshotOf(limit, shards), until);
    expect(projectRateLimit(snapshot, { now: NOW - 2000 })).toMatchObject({ ok: false, retryAt: until });
  });

  it("of a limit without capacity, reservations are granted up to maxReserved, and none above", () => {
    const limit = parseLimit("spaced", { kind: "token bucket", rate: 1, period: 1000, capacity: 0, maxReserved: 2 });
    const shards = [fullShard(limit)];
    expect(agreed(limit, shards, NOW, { count: 2, reserve: true })).toMatchObject({ ok: true, retryAt: NOW + 2000 });
    expect(agreed(limit, shards, NOW, { count: 3, reserve: true })).toMatchObject({ ok: false, reason: "too large" });
  });

  it("grants nothing at once if the capacity is less than a unit", () => {
    const limit = parseLimit("tiny", { kind: "token bucket", rate: 1, period: 1000, capacity: 1e-20 });
    const shards = [fullShard(limit)];
    expect(agreed(limit, shards, NOW, { count: 1e-20, reserve: true })).toMatchObject({ ok: true, retryAt: NOW + 1 });
  });

  it("treats a count that equals the capacity except for rounding as the whole capacity", () => {
    const limit = parseLimit("third", { kind: "token bucket", rate: 1, period: 1000, capacity: 1 / 3 });
    expect(1 - 2 / 3).toBeGreaterThan(1 / 3);
    expect(agreed(limit, [fullShard(limit)], NOW, { count: 1 - 2 / 3 })).toMatchObject({ ok: true, remaining: 0 });
  });

  it("charges a decimal count as the units that it means, where the product is a little more", () => {
    const limit = parseLimit("send", { kind: "token bucket", rate: 10, period: 1000 });
    const value = 7_168_000;
    expect(0.07 * limit.unitsPerToken).toBeGreaterThan(value);
    const shards = [{ ...fullShard(limit), state: { value, ts: NOW } }];
    expect(agreed(limit, shards, NOW, { count: 0.07 })).toMatchObject({ ok: true, remaining: 0 });
  });

  it("grants part of the next window's tokens after a window that began elsewhere", () => {
    const limit = parseLimit("send", { kind: "fixed window", rate: 5, period: 1000, start: 0 });
    const state = { value: 0, ts: NOW + 400, window: { since: NOW + 400, used: limit.capacity } };
    const shards = [{ ...fullShard(limit), state }];
    // At five tokens a second, 600 ms bring three.
    const after = [999, 1000, 2000].map((ms) => agreed(limit, shards, NOW + ms, { count: 3 }));
    expect(after).toMatchObject([{ ok: false, retryAt: NOW + 1000 }, { remaining: 0 }, { remaining: 2 }]);
    expect(agreed(limit, shards, NOW + 1000, { count: 4 })).toMatchObject({ ok: false, retryAt: NOW + 2000 });
  });

  it("uses the limit itself from the end of an override on, also if the wait ends at the same time", () => {
    const config = { kind: "token bucket", rate: 10, period: 1000, capacity: 10 } as const;
    const by = (value: number) => snapshotBy({ name: "send", value, ts: NOW, config });
    const snapshot = { ...by(-5), override: { ...by(0), capacity: by(10).capacity / 2, until: NOW + 100 } };
    expect(projectRateLimit(snapshot, { now: NOW })).toMatchObject({ ok: false, retryAt: NOW + 600 });
    expect(projectRateLimit(snapshot, { now: NOW, count: 11 })).toMatchObject({ ok: false, reason: "too large" });
    const block = blocked(by(10), NOW + 100);
    const never = { ok: false, reason: "blocked", retryAt: END_OF_TIME };
    expect(projectRateLimit(block, { now: NOW, count: 11 })).toMatchObject(never);
    const reserved = projectRateLimit(block, { now: NOW, count: 11, reserve: true });
    expect(reserved).toMatchObject({ ok: false, reason: "blocked", retryAt: NOW + 100 });
  });

  it("reports that a sliding window is full when the last reserved unit is back", () => {
    // All reservations but the last are cancelled; the last keeps its start time.
    const cancelled = [2000, 1000, 0].map((startsAt) => refund(10, 0, startsAt));
    const { limit, shards } = slidingAfter([take(10), reserve(10), reserve(10), reserve(2), ...cancelled]);
    expect(agreed(limit, shards, NOW, { count: 8 })).toEqual({ ok: true, remaining: 0, resetAt: NOW + 4000 });
  });

  it("lets a reservation of 0 tokens wait for debts only, not for other reservations", () => {
    // The first reservation is cancelled; the second keeps its start time, 2 s from now.
    const { limit, shards } = slidingAfter([take(10), reserve(10), reserve(5), refund(10, 0, 1000)]);
    expect(agreed(limit, shards, NOW, { count: 0, reserve: true })).toMatchObject({ ok: true, retryAt: NOW + 1000 });
  });

  it.each([0, 312, 700])("times a reservation of 0 tokens to the millisecond, %i ms after a debt was written", (ms) => {
    // A unit takes 3 hours.
    const limit = parseLimit("slow", { kind: "token bucket", rate: 3, period: 1e15, maxReserved: 10 });
    const state = { value: -230_753, ts: NOW };
    const shards = [{ ...fullShard(limit), state }];
    const decided = agreed(limit, shards, NOW + ms, { count: 0, reserve: true });
    expect(decided).toMatchObject({ ok: true, retryAt: limit.kind.whenHolding(limit, state, 0) });
  });

  const step = fc.record({
    act: fc.constantFrom("take" as const, "reserve" as const, "reserve" as const, "refund" as const),
    count: fc.integer({ min: 1, max: 6 }),
    ms: fc.constantFrom(0, 100, 300, 700),
  });

  it("equals the server's decision for a sliding window with reservations", () => {
    let promises = 0;
    const bounds = fc.constantFrom(undefined, 3, 7, 20);
    const histories = fc.array(step, { minLength: 2, maxLength: 8 });
    const [waits, counts] = [fc.integer({ min: -300, max: 600 }), fc.integer({ min: 0, max: 10 })];
    forAny([bounds, histories, waits, counts], runs(1500), (maxReserved, steps, later, count) => {
      const { limit, now, shards } = slidingAfter(steps, maxReserved);
      const decided = agreed(limit, shards, now + later, { count, reserve: true });
      if (decided.ok && decided.retryAt) promises++;
    });
    expect(promises).toBeGreaterThan(runs(200));
  });

  // The fuzzer found this: a clock that is behind counted tokens again that had left a shortened window.
  it("reports what a sliding window holds for a clock that is behind, also after its period was shortened", () => {
    const limit = parseLimit("slide", { kind: "sliding window", rate: 1, period: 1 });
    const units = (share: number) => limit.capacity / share;
    const recent = [
      { at: NOW - 5, units: units(1000) },
      { at: NOW, units: units(4) },
    ];
    const shards = [{ ...fullShard(limit), state: { value: 0, ts: NOW, recent } }];
    for (const now of [NOW - 4500, NOW, NOW + 1]) {
      for (const count of [0.1, 1]) agreed(limit, shards, now, { count, reserve: true });
    }
    expect(projectRateLimit(snapshotOf(limit, shards), { now: NOW - 4500 }).value).toBe(0.75);
  });

  it("starts no reservation of a sliding window before earlier reservations, even if a refund made room", () => {
    // The reservation starts 1.5 s from NOW, when the later five tokens are back.
    const { limit, now, shards } = slidingAfter([take(5), take(5, 500), reserve(6), refund(5, 100)]);
    const decided = agreed(limit, shards, now, { count: 2, reserve: true });
    expect(decided).toMatchObject({ ok: true, retryAt: NOW + 1500 });
  });

  describe("for a calendar window", () => {
    const limit = parseLimit("export", { kind: "fixed window", rate: 3, period: "month", timeZone: "Europe/Berlin" });
    const decided = (ts: number, now: number, count: number) => {
      const state = { value: limit.capacity, ts };
      const shards = [{ ...fullShard(limit), state: ts === 0 ? state : limit.kind.take(limit, state, 1) }];
      return {
        projected: without(projectRateLimit(snapshotOf(limit, shards), { now, count, reserve: true })),
        checked: decideOnAll(limit, shards, at(now), demandOf(limit, { count, reserve: true })).status,
      };
    };
    const afterYears = (ts: number, years: number) => (ts || Date.UTC(2026, 0, 1)) + years * 366 * 86_400_000;

    it.each([0, NOW])("is right until ten years after the last write, or after 2026: %s", (ts) => {
      for (const years of [0, 0.5, 5, 9.9]) {
        for (const count of [0, 3, 6]) {
          const { projected, checked } = decided(ts, afterYears(ts, years), count);
          expect(projected).toEqual(checked);
        }
      }
    });

    it.each([
      ["later", NOW, afterYears(NOW, 10.2)],
      ["before 2026, if the bucket was never used", 0, Date.UTC(2025, 5, 1)],
    ])("does not report when the next window starts: %s", (_, ts, now) => {
      const { projected, checked } = decided(ts, now, 1);
      const { resetAt, ...known } = checked;
      expect(resetAt).toBeGreaterThan(now);
      expect(projected).toEqual(known);
    });
  });
});
