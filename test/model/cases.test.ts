/** Counterexamples: what the fuzzer, or an attack, found once, each by its name. All of them are played in both places. */
import { beforeEach, afterEach, describe, expect, it, vi } from "vitest";
import { placeNames } from "../support/places.js";
import { type Job, make } from "./calls.js";
import type { ExactLimit } from "./exact/config.js";
import { play, T0 } from "./fuzz.js";
import type { Intent, Scenario, Step } from "./scenario.js";
import { jobs, lightStage, type Shards, type Stage, wholeStage } from "./stage.js";

beforeEach(() => {
  vi.useFakeTimers({ now: T0 });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const stages = placeNames.flatMap((place) => [
  { title: `in the ${place}`, open: () => lightStage(place) },
  { title: `in the ${place} of a whole backend`, open: () => wholeStage(place) },
]);
const NAME = { name: "limit" };
const PLACE = { name: "limit", key: undefined } as const;

function bucket(fields: Partial<ExactLimit & { capacity: number }> = {}): ExactLimit {
  return { kind: "token bucket", rate: 1, period: 60_000, capacity: 20, ...fields } as ExactLimit;
}

/** All of a bucket but `left` tokens is taken. */
async function leave(stage: Stage, limit: ExactLimit, left: number): Promise<void> {
  const size = limit.kind === "sliding window" ? limit.rate : limit.capacity;
  await stage.mutation((ctx) => stage.limits(limit, undefined).rateLimit(ctx, { ...NAME, count: size - left }));
}

async function scheduleOne(stage: Stage, limit: ExactLimit): Promise<Job> {
  const call = { act: "schedule", ...PLACE, count: 1, spread: 0 } as const;
  const reply = await stage.mutation((ctx) => make(stage.limits(limit, undefined), ctx, call, Date.now()));
  if (reply.is !== "scheduled") throw new Error(`not scheduled: ${JSON.stringify(reply)}`);
  return { handle: reply.job, ...PLACE, count: 1 };
}

async function remaining(stage: Stage, limit: ExactLimit, shards?: number) {
  const limits = stage.limits(limit, shards);
  return (await stage.mutation((ctx) => limits.checkRateLimit(ctx, { ...NAME, count: 0 }))).remaining;
}

describe.each(stages)("$title", ({ open }) => {
  it("of twenty calls at once on four tokens, four are allowed", async () => {
    const [stage, limit] = [open(), bucket()];
    await leave(stage, limit, 4);
    const limits = stage.limits(limit, undefined);
    const statuses = await stage.mutation((ctx) =>
      Promise.all(Array.from({ length: 20 }, () => limits.rateLimit(ctx, NAME))),
    );
    expect(statuses.filter(({ ok }) => ok)).toHaveLength(4);
    expect(await remaining(stage, limit)).toBe(0);
  });

  it("of ten calls at once, each with its own wrapper around ctx.db, five are allowed, and the bucket works", async () => {
    const [stage, limit] = [open(), bucket({ capacity: 5 })];
    const limits = stage.limits(limit, undefined);
    const wrap = (ctx: object) => ("db" in ctx ? { ...ctx, db: new Proxy(ctx.db as object, {}) } : ctx);
    const statuses = await stage.mutation((ctx) =>
      Promise.all(Array.from({ length: 10 }, () => limits.rateLimit(wrap(ctx) as typeof ctx, NAME))),
    );
    expect(statuses.filter(({ ok }) => ok)).toHaveLength(5);
    expect(await remaining(stage, limit)).toBe(0);
  });

  it("twenty calls at once on a bucket that was never used leave one that works", async () => {
    const [stage, limit] = [open(), bucket()];
    const limits = stage.limits(limit, undefined);
    await stage.mutation((ctx) => Promise.all(Array.from({ length: 19 }, () => limits.rateLimit(ctx, NAME))));
    expect(await remaining(stage, limit)).toBe(1);
  });

  it("ten jobs scheduled at once start one after the other", async () => {
    const [stage, limit] = [open(), bucket({ capacity: 1 })];
    const limits = stage.limits(limit, undefined);
    const results = await stage.mutation((ctx) =>
      Promise.all(Array.from({ length: 10 }, () => limits.scheduleRateLimited(ctx, NAME, jobs.run))),
    );
    const starts = results.map((result) => (result.ok ? result.runAt : undefined));
    expect(starts.sort()).toEqual(Array.from({ length: 10 }, (_each, i) => T0 + i * 60_000));
  });

  it("a job that is cancelled twice at once is given back once", async () => {
    const [stage, limit] = [open(), bucket()];
    const job = await scheduleOne(stage, limit);
    await leave(stage, limit, 5);
    const limits = stage.limits(limit, undefined);
    const before = await remaining(stage, limit);
    const results = await stage.mutation((ctx) =>
      Promise.all([limits.cancelRateLimited(ctx, job.handle), limits.cancelRateLimited(ctx, job.handle)]),
    );
    expect(results).toContainEqual({ canceled: true });
    expect(results).toContainEqual({ canceled: false, state: "canceled" });
    expect(await remaining(stage, limit)).toBe(before + 1);
  });

  it("a call that throws takes no other's turn away", async () => {
    const [stage, limit] = [open(), bucket({ capacity: 3 })];
    const limits = stage.limits(limit, undefined);
    const replies = await stage.mutation((ctx) => {
      const take = { act: "take", ...PLACE, count: 1, reserve: false, throws: true } as const;
      const calls = [take, { act: "misuse", ...PLACE } as const, take, take, take, take];
      return Promise.all(calls.map((call) => make(limits, ctx, call, T0)));
    });
    const kinds = replies.map(({ is }) => is).sort();
    expect(kinds).toEqual(["error", "status", "status", "status", "thrown denial", "thrown denial"]);
    expect(await remaining(stage, limit)).toBe(0);
  });

  it.each([64, 32, 2])("scheduling, cancelling and taking in turn makes no token on %i rows", async (shards) => {
    const stage = open();
    const limit = bucket({ rate: 1024, period: 86_400_000, capacity: 1024 });
    const limits = stage.limits(limit, shards);
    let granted = 0;
    for (let round = 0; round < 60; round++) {
      await stage.mutation(async (ctx) => {
        const scheduled = await limits.scheduleRateLimited(ctx, { ...NAME, count: 100 }, jobs.run);
        if (scheduled.ok) await limits.cancelRateLimited(ctx, scheduled.job);
        const taken = await limits.rateLimit(ctx, { ...NAME, count: 50 });
        if (taken.ok) granted += 50;
      });
    }
    expect(granted).toBeLessThanOrEqual(1024);
    expect(granted).toBeGreaterThan(900);
  });

  it("settling up and down in turn makes no token on several rows", async () => {
    const stage = open();
    const limit = bucket({ rate: 1000, period: 86_400_000, capacity: 1000 });
    const limits = stage.limits(limit, 16);
    let granted = 0;
    for (let round = 0; round < 100; round++) {
      await stage.mutation(async (ctx) => {
        await limits.adjustRateLimit(ctx, { ...NAME, count: 300 });
        await limits.adjustRateLimit(ctx, { ...NAME, count: -300 });
        if ((await limits.rateLimit(ctx, { ...NAME, count: 40 })).ok) granted += 40;
      });
    }
    expect(granted).toBeLessThanOrEqual(1000);
    expect(granted).toBeGreaterThan(900);
  });

  it("a late job that is cancelled gives no room in a sliding window that its moment has left", async () => {
    const [stage, limit] = [open(), { kind: "sliding window", rate: 1, period: 1000 } as const];
    const job = await scheduleOne(stage, limit);
    vi.setSystemTime(T0 + 5000);
    const limits = stage.limits(limit, undefined);
    const take = () => stage.mutation((ctx) => limits.rateLimit(ctx, NAME));
    expect(await take()).toMatchObject({ ok: true });
    expect(await stage.mutation((ctx) => limits.cancelRateLimited(ctx, job.handle))).toEqual({ canceled: true });
    expect(await take()).toMatchObject({ ok: false, retryAt: T0 + 6000 });
  });

  it("rows of a sliding window that a clock ahead has written bring nothing back to clocks that are behind it", async () => {
    const [stage, limit] = [open(), { kind: "sliding window", rate: 64, period: 1000 } as const];
    const take = (shards: Shards) => stage.mutation((ctx) => stage.limits(limit, shards).rateLimit(ctx, NAME));
    const split = { atLeast: 16 };
    for (let ms = 1; ms <= 8; ms++) {
      vi.setSystemTime(T0 + ms);
      await take(split);
    }
    vi.setSystemTime(T0 + 5000);
    await take(split);
    vi.setSystemTime(T0 + 2000);
    let taken = 0;
    for (let call = 0; call < 150; call++) {
      if ((await take(call < 75 ? split : 1)).ok) taken++;
    }
    expect(taken).toBeGreaterThan(0);
    expect(taken).toBeLessThanOrEqual(64);
  });

  it("a gift that filled the bucket is not had again by cancelling a job of the same millisecond", async () => {
    const [stage, limit] = [open(), bucket()];
    const limits = stage.limits(limit, undefined);
    const first = await scheduleOne(stage, limit);
    await stage.mutation((ctx) => limits.adjustRateLimit(ctx, { ...NAME, count: -1 }));
    await scheduleOne(stage, limit);
    await stage.mutation((ctx) => limits.cancelRateLimited(ctx, first.handle));
    // Had the first job never been, the gift would have found the bucket full.
    expect(await remaining(stage, limit)).toBe(19);
  });

  it.each([
    { used: 18, then: 2, raised: 82 },
    { used: 22, then: 0, raised: 78 },
  ])("a refund of what was used beyond a lowered limit pays for that first, and once ($used used)", async (each) => {
    const stage = open();
    const [large, small] = [100, 20].map(
      (rate) => ({ kind: "fixed window", rate, capacity: rate, period: 60_000, start: 0 }) as const,
    ) as [ExactLimit, ExactLimit];
    await leave(stage, large, 100 - each.used);
    const call = { ...NAME, count: 4, refundable: true };
    const status = await stage.mutation((ctx) => stage.limits(large, undefined).rateLimit(ctx, call));
    if (!status.ok) throw new Error("denied");
    const refund = { ...NAME, count: -4, takenAt: status.takenAt };
    await stage.mutation((ctx) => stage.limits(small, undefined).adjustRateLimit(ctx, refund));
    expect(await remaining(stage, small)).toBe(each.then);
    expect(await remaining(stage, large)).toBe(each.raised);
  });

  it.each(cases())("$title", async ({ scenario }) => {
    const played = await play(open(), scenario);
    expect(played).toBeGreaterThan(0);
  });
});

function take(count: number, reserve = false, key?: string): Intent {
  return { act: "take", throws: false, of: { place: { name: "limit", key }, portion: { tokens: count }, reserve } };
}

function step(waitMs: number, ...calls: Intent[]): Step {
  return { wait: { ms: waitMs }, plan: 0, shards: 0, runs: 0, isUndone: false, calls };
}

/** Found by the fuzzer, and cut down by it. */
function cases(): { title: string; scenario: Scenario }[] {
  const one = { other: bucket(), shards: [undefined], random: { seed: 0 } } as const;
  return [
    {
      title: "a sweep leaves a row that became full in the last minute, by a clock that is behind it",
      scenario: {
        ...one,
        plans: [bucket({ period: 1, capacity: 1 })],
        steps: [
          step(65_000, take(1)),
          step(-86_400_000, { act: "refund", place: PLACE, portion: { tokens: 1 } }),
          step(1, { act: "sweep" }),
          step(65_000, take(1)),
          step(0, take(1)),
        ],
      },
    },
  ];
}
