/**
 * Slots against an exact twin, in random worlds and in both places. The twin is a list of leases with their ends: it
 * shares no code with src, and knows neither rows nor logs.
 */
import fc from "fast-check";
import type { RateLimitLease } from "convex-rate-limits/jobs";
import { projectRateLimit } from "convex-rate-limits/client";
import { describe, expect, it, vi } from "vitest";
import { NOW, useClock } from "../support/clock.js";
import { type Calls, useBackend } from "../support/limits.js";
import { placeNames } from "../support/places.js";
import { forAnyAsync, runs } from "../support/random.js";
import { jobs } from "../support/stage.js";

const LEASE = 1000;
const PLANS = { free: 1, team: 3, large: 6 } as const;
type Plan = keyof typeof PLANS;

const plan = fc.constantFrom<Plan>("free", "team", "large");
const which = fc.nat(4);
const act = fc.oneof(
  { weight: 6, arbitrary: fc.record({ act: fc.constant("take" as const), plan }) },
  { weight: 4, arbitrary: fc.record({ act: fc.constant("release" as const), which }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("check" as const), plan }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("reset" as const) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("pause" as const), ms: fc.nat(700) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("more" as const), more: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("unlimited" as const) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("sweep" as const) }) },
);
/** The acts of one mutation, whose clock stands still, some ms after the one before. `ahead`: how wrong its clock is. */
const mutations = fc.array(
  fc.record({
    wait: fc.oneof(fc.nat(3), fc.nat(600), fc.constantFrom(LEASE, 100_000)),
    ahead: fc.integer({ min: -5000, max: 5000 }),
    atOnce: fc.boolean(),
    acts: fc.array(act, { minLength: 1, maxLength: 6 }),
  }),
  { maxLength: 25 },
);

/** A lease as the twin knows it. */
interface Held {
  readonly lease: RateLimitLease;
  isReleased: boolean;
}

class Twin {
  readonly all: Held[] = [];
  pausedUntil = 0;
  more = 0;
  isUnlimited = false;

  held(now: number): number[] {
    const ends = this.all.filter(({ isReleased, lease }) => !isReleased && lease.until > now);
    return ends.map(({ lease }) => lease.until).sort((a, b) => a - b);
  }

  /** The first time at which a take is allowed: now, or when enough leases have ended. */
  allowedFrom(plan: Plan, now: number): number {
    const ends = this.held(now);
    const tooMany = this.isUnlimited ? 0 : ends.length - (PLANS[plan] + this.more) + 1;
    return Math.max(now, this.pausedUntil, tooMany > 0 ? (ends[tooMany - 1] ?? Infinity) : 0);
  }

  release({ lease }: Held): void {
    for (const held of this.all) if (held.lease === lease) held.isReleased = true;
  }
}

describe.each(placeNames)("slots in the %s", (place) => {
  useClock(NOW, "Date");
  const { open, define, mutation, query } = useBackend(place);
  const plans = { free: { slots: PLANS.free }, team: { slots: PLANS.team }, large: { slots: PLANS.large } };
  const limits = define({ jobs: { kind: "concurrency", lease: LEASE, keyed: true, plans } });
  const bucket = { name: "jobs", key: "ann" };
  type Act = typeof act extends fc.Arbitrary<infer One> ? One : never;

  /** What an act does to rows and twin besides taking and checking. */
  async function change(calls: Calls, twin: Twin, one: Act, now: number): Promise<void> {
    if (one.act === "release") {
      const held = twin.all[twin.all.length - 1 - one.which];
      if (!held) return;
      expect(await calls.releaseRateLimit(held.lease)).toBe(null);
      twin.release(held);
    } else if (one.act === "reset") {
      await calls.resetRateLimit(bucket);
      for (const held of twin.all) held.isReleased = true;
      twin.pausedUntil = 0;
    } else if (one.act === "pause") {
      await calls.pauseRateLimit({ ...bucket, until: now + one.ms });
      if (one.ms > 0) twin.pausedUntil = Math.max(twin.pausedUntil, now + one.ms);
    } else if (one.act === "more") {
      if (one.more > 0) await calls.overrideRateLimit({ ...bucket, more: one.more });
      else await calls.clearRateLimitOverride(bucket);
      [twin.more, twin.isUnlimited] = [one.more, false];
    } else if (one.act === "unlimited") {
      await calls.overrideRateLimit({ ...bucket, unlimited: true });
      [twin.more, twin.isUnlimited] = [0, true];
    } else if (one.act === "sweep") await calls.sweepRateLimits({ next: jobs.sweep });
  }

  it("are given, denied and freed exactly as a list of leases says", async () => {
    const seen = { taken: 0, denied: 0, twice: 0 };
    await forAnyAsync([mutations], runs(500), async (history) => {
      open();
      vi.setSystemTime(NOW);
      const twin = new Twin();
      let now = NOW;
      for (const { wait, acts } of history) {
        now += wait;
        vi.setSystemTime(now);
        await mutation(async (ctx) => {
          const calls = limits.within(ctx);
          for (const one of acts) {
            if (one.act !== "take" && one.act !== "check") {
              if (one.act === "release") seen.twice += twin.all[twin.all.length - 1 - one.which]?.isReleased ? 1 : 0;
              await change(calls, twin, one, now);
              continue;
            }
            const at = { ...bucket, plan: one.plan };
            const from = twin.allowedFrom(one.plan, now);
            const status = await (one.act === "take" ? calls.rateLimit(at) : calls.checkRateLimit(at));
            expect([status.ok, status.retryAt]).toEqual(from <= now ? [true, undefined] : [false, from]);
            if (one.act === "check" || !status.ok) {
              seen.denied += status.ok ? 0 : 1;
              expect(status).not.toHaveProperty("lease");
              continue;
            }
            const { lease } = status as { lease: RateLimitLease };
            expect(lease.until).toBe(lease.takenAt + LEASE);
            expect(lease.takenAt).toBeGreaterThanOrEqual(now);
            expect(twin.all.map((held) => held.lease)).not.toContainEqual(lease);
            twin.all.push({ lease, isReleased: false });
            seen.taken++;
          }
        });
        // What a page shows agrees with the answer, now and later.
        const snapshot = await query((ctx) => limits.within(ctx).getRateLimit({ ...bucket, plan: "team" }));
        for (const later of [now, now + 400, now + LEASE]) {
          const from = twin.allowedFrom("team", later);
          const { ok, retryAt } = projectRateLimit(snapshot, { now: later });
          expect([ok, retryAt]).toEqual(from <= later ? [true, undefined] : [false, from]);
        }
      }
    });
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(20);
  });

  it("never exceed the largest plan, nor free another's slot, with clocks that disagree and calls at once", async () => {
    let taken = 0;
    await forAnyAsync([mutations], runs(500), async (history) => {
      open();
      vi.setSystemTime(NOW);
      const twin = new Twin();
      let now = NOW;
      let latest = NOW;
      for (const { wait, ahead, atOnce, acts } of history) {
        now += wait;
        vi.setSystemTime(now + ahead);
        latest = Math.max(latest, now + ahead);
        await mutation(async (ctx) => {
          const calls = limits.within(ctx);
          const play = async (one: Act) => {
            const isPlayed = one.act === "release" || (one.act === "reset" && !atOnce);
            if (isPlayed) await change(calls, twin, one, now + ahead);
            if (one.act !== "take") return;
            const status = await calls.rateLimit({ ...bucket, plan: one.plan });
            if (!status.ok) return;
            const { lease } = status as { lease: RateLimitLease };
            expect(twin.all.map((held) => held.lease)).not.toContainEqual(lease);
            twin.all.push({ lease, isReleased: false });
            taken++;
          };
          if (atOnce) await Promise.all(acts.map(play));
          else for (const one of acts) await play(one);
        });
        // By the clock that is furthest ahead, all that hold a slot: each was counted by every take.
        expect(twin.held(latest).length).toBeLessThanOrEqual(PLANS.large);
      }
      // None is lost either: what the twin holds is what the row holds.
      vi.setSystemTime(latest);
      const snapshot = await query((ctx) => limits.within(ctx).getRateLimit({ ...bucket, plan: "large" }));
      const { value } = projectRateLimit(snapshot, { now: latest });
      expect(value).toBe(PLANS.large - twin.held(latest).length);
    });
    expect(taken).toBeGreaterThan(100);
  });
});
