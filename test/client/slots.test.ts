import { MINUTE, type RateLimitDefinitions } from "convex-rate-limits";
import type { RateLimitLease } from "convex-rate-limits/jobs";
import { projectRateLimit, usageOf } from "convex-rate-limits/client";
import { vRateLimitLease } from "convex-rate-limits/schema";
import { validate } from "convex-helpers/validators";
import { makeFunctionReference } from "convex/server";
import { describe, expect, it, vi } from "vitest";
import { NOW, useClock } from "../support/clock.js";
import { type Calls, useBackend } from "../support/limits.js";
import { placeNames } from "../support/places.js";

const LEASE = 10 * MINUTE;
const jobs = { kind: "concurrency", slots: 2, lease: LEASE, keyed: true } as const;
const next = makeFunctionReference<"mutation", { cursor?: string }>("upkeep:sweep");
const ann = { name: "jobs", key: "ann" };

describe.each(placeNames)("slots in the %s", (place) => {
  useClock(NOW, "Date");
  const { define, mutation, rows, cost } = useBackend(place);
  const open = (more: RateLimitDefinitions = {}) => define({ jobs, ...more });

  /** Takes a slot that must be free. */
  async function take({ rateLimit }: Pick<Calls, "rateLimit">, args: object = ann): Promise<RateLimitLease> {
    const status = await rateLimit(args);
    expect(status).toMatchObject({ ok: true });
    return (status as unknown as { lease: RateLimitLease }).lease;
  }
  const isFree = async ({ checkRateLimit }: Pick<Calls, "checkRateLimit">, args: object = ann) =>
    (await checkRateLimit(args)).ok;

  /** Expects that a sweep deletes the only row at this time, and not a millisecond earlier. */
  async function isSweptAt({ sweepRateLimits }: Pick<Calls, "sweepRateLimits">, time: number) {
    for (const [now, left] of [
      [time - 1, 1],
      [time, 0],
    ] as const) {
      vi.setSystemTime(now);
      await sweepRateLimits({ next });
      expect(await rows()).toHaveLength(left);
    }
  }
  /** Takes as many slots in one transaction. */
  const takeAtOnce = (limits: ReturnType<typeof open>, count: number) =>
    mutation((ctx) => Promise.all(Array.from({ length: count }, () => take(limits.within(ctx)))));

  it("gives each run a slot and a lease, and says when the next slot is free", async () => {
    const limits = open();
    expect(await limits.rateLimit(ann)).toEqual({
      ok: true,
      remaining: 1,
      resetAt: NOW + LEASE,
      lease: { ...ann, takenAt: NOW, until: NOW + LEASE },
    });
    vi.setSystemTime(NOW + 1000);
    await take(limits);
    expect(await limits.rateLimit(ann)).toEqual({
      ok: false,
      retryAt: NOW + LEASE,
      remaining: 0,
      resetAt: NOW + 1000 + LEASE,
    });
    vi.setSystemTime(NOW + LEASE - 1);
    expect(await isFree(limits)).toBe(false);
    vi.setSystemTime(NOW + LEASE);
    await take(limits);
    expect(await isFree(limits)).toBe(false);
  });

  it("gives a slot back once, however often its lease is released", async () => {
    const limits = open();
    const [first, second] = [await take(limits), await take(limits)];
    expect(await limits.releaseRateLimit(first)).toBe(null);
    const third = await take(limits);
    await limits.releaseRateLimit(first);
    expect(await isFree(limits)).toBe(false);
    await limits.releaseRateLimit(second);
    await limits.releaseRateLimit(second);
    expect(await limits.checkRateLimit(ann)).toMatchObject({ ok: true, remaining: 0 });
    await limits.releaseRateLimit(third);
    // The next take of this millisecond is the fourth.
    expect(await limits.checkRateLimit(ann)).toMatchObject({ ok: true, remaining: 1, resetAt: NOW + 3 + LEASE });
  });

  it("releases nothing twice within one mutation, whose clock stands still", async () => {
    const limits = open({ jobs: { ...jobs, slots: 1 } });
    await mutation(async (ctx) => {
      const calls = limits.within(ctx);
      const first = await take(calls);
      await calls.releaseRateLimit(first);
      const second = await take(calls);
      expect(second.takenAt).toBe(first.takenAt + 1);
      await Promise.all([calls.releaseRateLimit(first), calls.releaseRateLimit(first)]);
      expect(await isFree(calls)).toBe(false);
      await Promise.all([calls.releaseRateLimit(second), calls.releaseRateLimit(second)]);
      expect(await isFree(calls)).toBe(true);
    });
  });

  it("gives takes at once leases of their own", async () => {
    const limits = open();
    const leases = await mutation(async (ctx) => {
      const calls = limits.within(ctx);
      const statuses = await Promise.all([calls.rateLimit(ann), calls.rateLimit(ann), calls.rateLimit(ann)]);
      expect(statuses.map(({ ok }) => ok)).toEqual([true, true, false]);
      return statuses.flatMap((status) => (status as unknown as { lease?: RateLimitLease }).lease ?? []);
    });
    expect(leases.map(({ takenAt }) => takenAt)).toEqual([NOW, NOW + 1]);
    await mutation(async (ctx) => {
      const { releaseRateLimit } = limits.within(ctx);
      await Promise.all([...leases, ...leases].map((lease) => releaseRateLimit(lease)));
    });
    expect(await limits.checkRateLimit(ann)).toMatchObject({ remaining: 1, resetAt: NOW + 2 + LEASE });
  });

  it("writes nothing for a denial, and nothing for a lease that holds no slot", async () => {
    const limits = open();
    const lease = await take(limits);
    await take(limits);
    const before = await rows();
    await limits.rateLimit(ann);
    await limits.releaseRateLimit({ ...lease, takenAt: lease.takenAt - 1, until: lease.until - 1 });
    await limits.releaseRateLimit({ ...lease, key: "bob" });
    await limits.releaseRateLimit({ ...lease, name: "others" });
    await limits.releaseRateLimit({ ...lease, until: lease.until + 1 });
    expect(await rows()).toEqual(before);
  });

  it("reads nothing for a lease that has ended", async () => {
    const limits = open();
    const lease = await take(limits);
    const release = (calls: Calls) => calls.releaseRateLimit(lease);
    vi.setSystemTime(lease.until - 1);
    expect(await cost(limits, release)).toMatchObject({ ranges: 1, documentsWritten: 1 });
    vi.setSystemTime(lease.until);
    expect(await cost(limits, release)).toMatchObject({ ranges: 0, documentsWritten: 0 });
  });

  it("frees all slots by a reset, after which old leases release nothing, also in the same millisecond", async () => {
    const limits = open();
    const old = [await take(limits), await take(limits)];
    await limits.resetRateLimit(ann);
    await take(limits);
    const last = await take(limits);
    for (const lease of old) await limits.releaseRateLimit(lease);
    expect(await isFree(limits)).toBe(false);
    await limits.releaseRateLimit(last);
    expect(await isFree(limits)).toBe(true);
  });

  it("starts nothing during a pause, and runs that hold a slot go on and give it back", async () => {
    const limits = open();
    const lease = await take(limits);
    await limits.pauseRateLimit({ ...ann, until: NOW + 1000 });
    expect(await limits.rateLimit(ann)).toEqual({ ok: false, retryAt: NOW + 1000, remaining: 0, resetAt: NOW + LEASE });
    await limits.releaseRateLimit(lease);
    vi.setSystemTime(NOW + 1000);
    expect(await limits.rateLimit(ann)).toMatchObject({ ok: true, remaining: 1 });
    await take(limits);
    expect(await isFree(limits)).toBe(false);
  });

  it("says the end of a pause if that is later than the end of the first lease, and the reverse", async () => {
    const limits = open();
    await take(limits);
    await take(limits);
    await limits.pauseRateLimit({ ...ann, until: NOW + LEASE - 1 });
    expect(await limits.checkRateLimit(ann)).toMatchObject({ ok: false, retryAt: NOW + LEASE });
    await limits.pauseRateLimit({ ...ann, until: NOW + LEASE + 1 });
    expect(await limits.checkRateLimit(ann)).toMatchObject({ ok: false, retryAt: NOW + LEASE + 1 });
  });

  it("gives each plan its number of slots, of the same ones", async () => {
    const plans = { free: { slots: 1 }, pro: { slots: 3 } };
    const limits = open({ jobs: { kind: "concurrency", lease: LEASE, plans } });
    const [free, pro] = [
      { ...ann, plan: "free" },
      { ...ann, plan: "pro" },
    ];
    const lease = await take(limits, free);
    expect(await isFree(limits, free)).toBe(false);
    await take(limits, pro);
    await take(limits, pro);
    expect(await isFree(limits, pro)).toBe(false);
    await limits.releaseRateLimit(lease);
    expect([await isFree(limits, free), await isFree(limits, pro)]).toEqual([false, true]);
    // A call without a plan follows the rows, also after a release.
    expect(await limits.getRateLimit(ann)).toMatchObject({ plan: "pro", tokens: 3 });
  });

  it("releases under the length that a lease has, whatever the limit was deployed as since", async () => {
    const limits = open();
    const [lease, kept] = [await take(limits), await take(limits)];
    const shorter = open({ jobs: { ...jobs, lease: MINUTE } });
    await take(shorter);
    const after = await take(shorter);
    await shorter.releaseRateLimit(lease);
    expect([await isFree(shorter), await isFree(limits)]).toEqual([false, true]);
    const tokens = open({ jobs: { kind: "token bucket", rate: 1, period: MINUTE, keyed: true } });
    expect((await tokens.rateLimit(ann)).ok).toBe(true);
    await tokens.releaseRateLimit(after);
    await tokens.releaseRateLimit(kept);
    expect([await isFree(tokens), await isFree(shorter)]).toEqual([false, true]);
    expect(await limits.checkRateLimit(ann)).toMatchObject({ remaining: 1, resetAt: NOW + 2 + LEASE });
  });

  it("takes slots of several limits together, or none", async () => {
    const all = { kind: "concurrency", slots: 1, lease: MINUTE } as const;
    const limits = open({ all });
    const both = [ann, { name: "all" }];
    const first = await limits.rateLimitAll(both);
    expect(first).toMatchObject({
      ok: true,
      statuses: [{ lease: { ...ann, takenAt: NOW } }, { lease: { name: "all", takenAt: NOW, until: NOW + MINUTE } }],
    });
    const before = await rows();
    expect(await limits.checkRateLimitAll(both)).toMatchObject({ ok: false, retryAt: NOW + MINUTE });
    const denied = await limits.rateLimitAll(both);
    expect(denied).toMatchObject({ ok: false, retryAt: NOW + MINUTE, statuses: [{ ok: true }, { ok: false }] });
    expect(await rows()).toEqual(before);
    await mutation(async (ctx) => {
      const { releaseRateLimit } = limits.within(ctx);
      const leases = [...first.statuses, ...denied.statuses].flatMap((each) => (each.ok ? (each.lease ?? []) : []));
      expect(leases).toHaveLength(3);
      await Promise.all(leases.map((lease) => releaseRateLimit(lease)));
    });
    expect(await limits.rateLimitAll(both)).toMatchObject({ ok: true, statuses: [{ remaining: 1 }, { remaining: 0 }] });
  });

  it("gives leases under overrides: more slots, all, none, and another kind", async () => {
    const limits = open();
    const leases = [await take(limits), await take(limits)];
    await limits.overrideRateLimit({ ...ann, more: 1 });
    leases.push(await take(limits));
    expect(await isFree(limits)).toBe(false);
    await limits.overrideRateLimit({ ...ann, unlimited: true });
    leases.push(await take(limits), await take(limits));
    await limits.overrideRateLimit({ ...ann, block: true });
    expect(await limits.rateLimit(ann)).toMatchObject({ ok: false, reason: "blocked" });
    for (const lease of leases.slice(1)) await limits.releaseRateLimit(lease);
    await limits.clearRateLimitOverride(ann);
    expect(await limits.checkRateLimit(ann)).toMatchObject({ ok: true, remaining: 0 });
    await limits.overrideRateLimit({ ...ann, config: { kind: "token bucket", rate: 5, period: MINUTE } });
    const none = await take(limits);
    expect(none).toEqual({ ...ann, takenAt: 0, until: LEASE });
    await limits.releaseRateLimit(none);
    await limits.clearRateLimitOverride(ann);
    expect(await limits.checkRateLimit(ann)).toMatchObject({ ok: true, remaining: 0 });
  });

  it("holds at most 64 slots, whatever an override adds", async () => {
    const limits = open({ jobs: { ...jobs, slots: 63 } });
    await limits.overrideRateLimit({ ...ann, more: 1e12 });
    const leases = await takeAtOnce(limits, 64);
    expect(await isFree(limits)).toBe(false);
    for (const lease of leases) await limits.releaseRateLimit(lease);
    expect(await limits.checkRateLimit(ann)).toMatchObject({ ok: true, remaining: 63 });
  });

  it("never frees a slot of another when an override lets more than 64 through: the joined ones end by time", async () => {
    const limits = open();
    await limits.overrideRateLimit({ ...ann, unlimited: true });
    const leases = await takeAtOnce(limits, 70);
    expect(new Set(leases.map(({ takenAt }) => takenAt)).size).toBe(70);
    for (const lease of [...leases, ...leases]) await limits.releaseRateLimit(lease);
    await limits.clearRateLimitOverride(ann);
    const [{ recent = [] } = {}] = await rows();
    const held = recent.reduce((sum, { count }) => sum + count, 0);
    // Six joins: each leaves two leases or more in an entry, which nobody frees.
    expect(held).toBeGreaterThanOrEqual(7);
    expect(held).toBeLessThanOrEqual(12);
    vi.setSystemTime(NOW + LEASE + 70);
    expect(await limits.checkRateLimit(ann)).toMatchObject({ ok: true, remaining: 1 });
  });

  it("lets everybody through in shadow, with leases that may hold nothing", async () => {
    const limits = open({ jobs: { ...jobs, slots: 1, mode: "shadow" } });
    const lease = await take(limits);
    const status = await limits.rateLimit(ann);
    expect(status).toMatchObject({ ok: true, shadow: { ok: false, retryAt: NOW + LEASE } });
    expect(status).toMatchObject({ lease: { ...ann, takenAt: 0, until: LEASE } });
    await limits.releaseRateLimit(await take(limits));
    expect(await limits.checkRateLimit(ann)).toMatchObject({ shadow: { ok: false } });
    await limits.releaseRateLimit(lease);
    expect(await limits.checkRateLimit(ann)).toMatchObject({ shadow: { ok: true } });
  });

  it("shows in a snapshot how many slots are taken, and when the next one is free", async () => {
    const limits = open();
    const lease = await take(limits);
    const { value: __, ...sameMs } = projectRateLimit(await limits.getRateLimit(ann), { now: NOW });
    expect(sameMs).toEqual(await limits.checkRateLimit(ann));
    vi.setSystemTime(NOW + 5);
    await take(limits);
    const snapshot = await limits.getRateLimit(ann);
    for (const now of [NOW + 5, NOW + LEASE - 1, NOW + LEASE, NOW + LEASE + 5]) {
      vi.setSystemTime(now);
      const { value: _, ...projected } = projectRateLimit(snapshot, { now });
      expect(projected).toEqual(await limits.checkRateLimit(ann));
    }
    expect(usageOf(snapshot, NOW + 5)).toEqual({ used: 2, of: 2, resetAt: NOW + 5 + LEASE });
    expect(projectRateLimit(snapshot, { now: NOW + 5, reserve: true })).toMatchObject({
      ok: false,
      retryAt: lease.until,
    });
    vi.setSystemTime(NOW + 6);
    await limits.releaseRateLimit(lease);
    expect(projectRateLimit(await limits.getRateLimit(ann), { now: NOW + 6 })).toMatchObject({
      ok: true,
      remaining: 0,
    });
  });

  it("shows the keys that hold slots in a list, and sweeps them when they hold none", async () => {
    const limits = open();
    const lease = await take(limits);
    await take(limits);
    const { page } = await limits.listRateLimits({ name: "jobs", onlyLimited: true });
    expect(page).toMatchObject([{ key: "ann", ok: false, retryAt: NOW + LEASE, value: 0 }]);
    await limits.releaseRateLimit(lease);
    expect(await limits.listRateLimits({ name: "jobs", onlyLimited: true })).toMatchObject({ page: [] });
    await isSweptAt(limits, NOW + 1 + LEASE + MINUTE);
  });

  it("sweeps what a deploy has left behind, when the leases have ended", async () => {
    await take(open());
    const tokens = open({ jobs: { kind: "token bucket", rate: 1, period: MINUTE, keyed: true } });
    await isSweptAt(tokens, NOW + LEASE + MINUTE);
  });

  const COUNT = 'Rate limit "jobs": count must be 1 (a call takes one slot), got';
  const RESERVE = 'Rate limit "jobs": reserve must be false or left out: slots cannot be reserved, got';
  const REFUND = 'Rate limit "jobs": refundable must be false or left out: a slot comes back by its lease, got true.';
  const TOKENS = 'is for limits with tokens, and this one has slots (kind "concurrency").';
  const MORE = 'Rate limit "jobs": more must be a whole number of slots above 0 and at most 1e12, got';
  it.each<[call: string, problem: string, args: unknown[]]>([
    ["rateLimit", `${COUNT} 2.`, [{ ...ann, count: 2 }]],
    ["rateLimit", `${COUNT} 0.`, [{ ...ann, count: 0 }]],
    ["checkRateLimit", `${COUNT} 3.`, [{ ...ann, count: 3 }]],
    ["rateLimit", `${RESERVE} {"within":5}.`, [{ ...ann, reserve: { within: 5 } }]],
    ["rateLimitAll", `${RESERVE} true.`, [[{ ...ann, reserve: true }]]],
    ["rateLimit", REFUND, [{ ...ann, refundable: true }]],
    ["adjustRateLimit", `Rate limit "jobs": adjustRateLimit ${TOKENS}`, [{ ...ann, count: -1 }]],
    ["scheduleRateLimited", `Rate limit "jobs": scheduleRateLimited ${TOKENS}`, [ann, "jobs:run"]],
    ["overrideRateLimit", `${MORE} 0.5.`, [{ ...ann, more: 0.5 }]],
    ["overrideRateLimit", `${MORE} 1.5.`, [{ ...ann, more: 1.5 }]],
  ])("refuses what slots cannot do, and writes nothing: %s, %s", async (call, problem, args) => {
    await expect(open()[call as "rateLimit"](...args)).rejects.toThrow(problem);
    expect(await rows()).toEqual([]);
  });

  it("refuses slots as the override of a limit with tokens, whose jobs and refunds give tokens back", async () => {
    const limits = open({ tokens: { kind: "token bucket", rate: 9, period: MINUTE, keyed: true } });
    const config = { kind: "concurrency", slots: 2, lease: LEASE };
    await expect(limits.overrideRateLimit({ ...ann, name: "tokens", config })).rejects.toThrow(
      'Rate limit "tokens": config must be of a kind with tokens, as the limit is, got a concurrency.',
    );
    expect(await rows()).toEqual([]);
    await limits.overrideRateLimit({ ...ann, config });
  });

  const SLOTS = "slots must be a whole number at least 1 and at most 64, got";
  const LEASE_MS = "lease must be a whole number of milliseconds above 0 and at most 1e15, got";
  const notField = (field: string) => `"${field}" is not a field of a concurrency limit, which has kind, slots, lease.`;
  it.each([
    [{ slots: 65 }, `${SLOTS} 65.`],
    [{ slots: 1.5 }, `${SLOTS} 1.5.`],
    [{ slots: 0 }, `${SLOTS} 0.`],
    [{ lease: 0 }, `${LEASE_MS} 0.`],
    [{ lease: undefined }, `${LEASE_MS} undefined.`],
    [{ shards: 4 }, notField("shards")],
    [{ rate: 4 }, notField("rate")],
    [{ queue: {} }, 'queue must be left out with kind "concurrency": nobody knows when a slot is free.'],
    [
      {
        plans: {
          free: { kind: "concurrency", slots: 1, lease: 1 },
          strict: { kind: "sliding window", rate: 1, period: 1 },
        },
      },
      'kind must be the same in all plans if one is "concurrency", got "sliding window".',
    ],
  ])("refuses a definition with %o", (more, problem) => {
    const definition = "plans" in more ? more : { ...jobs, ...more };
    expect(() => define({ jobs: definition as never })).toThrow(`Rate limit "jobs": ${problem}`);
  });

  const lease = { ...ann, takenAt: NOW, until: NOW + LEASE };
  const changed = [{ takenAt: NaN }, { takenAt: undefined }, { until: NOW }, { seen: 0.5 }, { name: 3 }, { key: 3 }];
  it.each([undefined, null, 3, {}, ...changed.map((more) => ({ ...lease, ...more }))])(
    "%o is no lease",
    async (wrong) => {
      const problem = "releaseRateLimit needs the lease that rateLimit returned, got";
      await expect(open().releaseRateLimit(wrong)).rejects.toThrow(problem);
    },
  );

  it("releases a lease in a document that has more fields", async () => {
    const limits = open();
    await limits.releaseRateLimit({ ...(await take(limits)), _id: "k17", note: "mine" });
    expect(await limits.checkRateLimit(ann)).toMatchObject({ remaining: 1 });
  });

  it("refuses a lease with an empty key", async () => {
    await expect(open().releaseRateLimit({ ...lease, key: "" })).rejects.toThrow("key must be a non-empty string");
  });

  it("gives a lease that documents and jobs can hold", async () => {
    const limits = open();
    await limits.pauseRateLimit({ ...ann, until: NOW + 1 });
    vi.setSystemTime(NOW + 1);
    const lease = await take(limits);
    expect(lease).toEqual({ ...ann, takenAt: NOW + 1, until: NOW + 1 + LEASE, seen: 1 });
    expect(validate(vRateLimitLease, lease)).toBe(true);
    expect(JSON.parse(JSON.stringify(lease))).toEqual(lease);
    const stored = JSON.parse(JSON.stringify(lease)) as RateLimitLease;
    await limits.releaseRateLimit(stored);
    expect(await limits.checkRateLimit(ann)).toMatchObject({ remaining: 1 });
  });
});
