import { defineSchema, defineTable, internalMutationGeneric, makeFunctionReference } from "convex/server";
import { v } from "convex/values";
import { describe, expect, it } from "vitest";
import { Backend, type BackendOptions, type Call } from "../backend.js";
import type { SimulatedCtx } from "../context.js";
import { mostBackoffMs, PLATFORM } from "../platform.js";
import { Transaction } from "../transaction.js";
import { randomFrom } from "../../../test/support/random.js";

const schema = defineSchema({
  counters: defineTable({ name: v.string(), value: v.number() }).index("by_name", ["name"]),
});

async function increment({ db }: SimulatedCtx): Promise<number> {
  const row = await db
    .query("counters")
    .withIndex("by_name", (q) => q.eq("name", "n"))
    .unique();
  const value = Number(row?.["value"] ?? 0) + 1;
  if (row) await db.patch(row._id, { value });
  else await db.insert("counters", { name: "n", value });
  return value;
}

const nothing = (): Promise<void> => Promise.resolve();

/** A deployment that runs one mutation at a time. */
const NARROW = { mutationPermits: 1, jobsAtOnce: 1, bytesWrittenPerSecond: 1e9 };

async function read({ db }: SimulatedCtx): Promise<number> {
  const row = await db.query("counters").first();
  return Number(row?.["value"] ?? 0);
}

type Body<T> = (ctx: SimulatedCtx, call: number) => Promise<T>;
/** Starts `calls` calls, `gapMs` apart, and waits until all have ended. */
async function run<T>(backend: Backend, body: Body<T>, calls: number, gapMs: number) {
  const ended: Call<T>[] = [];
  for (let i = 0; i < calls; i++) {
    backend.agenda.plan(i * gapMs, () => {
      backend.call(
        (ctx) => body(ctx, i),
        (call) => ended.push(call),
      );
    });
  }
  await backend.agenda.run();
  expect(ended).toHaveLength(calls);
  return ended;
}

/** The calls in the order of their starts. */
const inOrder = <T>(calls: readonly Call<T>[]) => calls.toSorted((a, b) => a.startedMs - b.startedMs);

function committed<Result>(calls: readonly Call<Result>[]): Result[] {
  return calls.flatMap(({ outcome }) => (outcome.kind === "committed" ? [outcome.value] : []));
}

describe("the simulated backend", () => {
  it("keeps documents as they were written: a function may change objects that it has inserted or read", async () => {
    const backend = new Backend({ schema }, { seed: "copies" });
    const own = { name: "n", value: 1, parts: [{ left: 1 }] };
    const insertAndChange = async ({ db }: SimulatedCtx) => {
      await db.insert("counters", own);
      own.parts[0] = { left: 2 };
    };
    const readAndChange = async ({ db }: SimulatedCtx) => {
      const parts = ((await db.query("counters").first())?.["parts"] ?? []) as { left: number }[];
      const left = parts[0]?.left;
      parts[0] = { left: 3 };
      return left;
    };
    await run(backend, insertAndChange, 1, 0);
    expect([await backend.runAlone(readAndChange, 0), await backend.runAlone(readAndChange, 0)]).toEqual([1, 1]);
  });

  it("loses no update: a counter counts exactly the calls that committed", async () => {
    const backend = new Backend({ schema }, { seed: "counter" });
    const calls = await run(backend, increment, 500, 5);
    const values = committed(calls);
    expect(calls.some(({ attempts }) => attempts > 1)).toBe(true);
    expect([...values].sort((a, b) => a - b)).toEqual(values.map((_, i) => i + 1));
    expect(await backend.runAlone(read, 0)).toBe(values.length);
  });

  it("validates read-only calls from browsers, but not those from actions", async () => {
    const attemptsOf = async (browser: boolean) => {
      const either: Body<number> = (ctx, i) => (i % 4 === 0 ? increment(ctx) : read(ctx));
      const calls = await run(new Backend({ schema }, { seed: "readers", browser }), either, 200, 4);
      const readers = inOrder(calls).filter((_, i) => i % 4 !== 0);
      return Math.max(...readers.map(({ attempts }) => attempts));
    };
    expect(await attemptsOf(false)).toBe(1);
    expect(await attemptsOf(true)).toBeGreaterThan(1);
  });

  it("takes the time of an execution from the model: its own time, reads, and other work", async () => {
    const timesOf = async (body: (ctx: SimulatedCtx) => Promise<unknown>, holdMs = 0, executionMs?: number) => {
      const options = { seed: "times", browser: false, holdMs, executionMs };
      const calls = await run(new Backend({ schema }, options), body, 4000, 2000);
      return calls.map(({ startedMs, endedMs }) => endedMs - startedMs).sort((a, b) => a - b);
    };
    const idle = await timesOf(nothing);
    // Three standard errors of the quantiles of 4000 draws.
    expect(Math.abs((idle[2000] ?? 0) / PLATFORM.execution.median - 1)).toBeLessThan(0.041);
    expect(Math.abs((idle[3960] ?? 0) / PLATFORM.execution.p99 - 1)).toBeLessThan(0.125);
    const longer = (times: readonly number[]) => times.map((ms, i) => Math.round((ms - (idle[i] ?? 0)) * 1e6) / 1e6);
    const reading = await timesOf(async (ctx) => {
      await Promise.all([read(ctx), read(ctx), read(ctx)]);
      await read(ctx);
    });
    expect(new Set(longer(reading))).toEqual(new Set([2 * PLATFORM.readMs]));
    expect(new Set(longer(await timesOf(nothing, 90)))).toEqual(new Set([90]));
    const twice = async () => await timesOf(nothing, 0, 2 * PLATFORM.execution.median);
    expect((await twice()).map((ms, i) => Math.round((1e6 * ms) / (idle[i] ?? 0)) / 1e6)).toEqual(Array(4000).fill(2));
  });

  it("freezes the clock within an attempt, and with skewMs clocks differ between attempts", async () => {
    const clock = async () => {
      const before = Date.now();
      await Promise.resolve();
      return Date.now() === before ? before : NaN;
    };
    const clocksAt = async (skewMs: number) =>
      committed(await run(new Backend({ schema }, { seed: "clock", skewMs, epochMs: 0 }), clock, 100, 1));
    const exact = [...(await clocksAt(0))].sort((a, b) => a - b);
    expect(exact).toEqual(exact.map((_, i) => i));
    const skewed = await clocksAt(50);
    expect(skewed.every(Number.isInteger)).toBe(true);
    expect(Math.min(...skewed)).toBeLessThan(0);
  });

  it("gives production code seeded random numbers, new for each attempt, and restores Math.random afterwards", async () => {
    const random = () => Promise.resolve(Math.random());
    const draw = async () => committed(await run(new Backend({ schema }, { seed: "dice" }), random, 20, 100));
    const values = await draw();
    expect(new Set(values).size).toBe(20);
    expect(await draw()).toEqual(values);
    // Other code may have replaced Math.random meanwhile, as each test file here does.
    Math.random = randomFrom(7);
    expect(await draw()).toEqual(values);
    expect(Math.random()).toBe(randomFrom(7)());
    expect(Math.abs(Date.now() - performance.timeOrigin - performance.now())).toBeLessThan(60_000);
  });

  it("does not retry code that threw, and discards its writes", async () => {
    const backend = new Backend({ schema }, { seed: "error" });
    const fail = async (ctx: SimulatedCtx) => {
      await increment(ctx);
      throw new Error("no");
    };
    const [call] = await run(backend, fail, 1, 0);
    expect(call).toMatchObject({ outcome: { kind: "threw" }, attempts: 1 });
    expect(await backend.runAlone(read, 0)).toBe(0);
  });

  it("throws on a second attempt while one is running", async () => {
    const backend = new Backend({ schema }, { seed: "nested" });
    await expect(backend.runAlone(async () => await backend.runAlone(read, 0), 0)).rejects.toThrow("running already");
  });

  it("fixes the snapshot before the wait for a permit, so commits during the wait conflict", async () => {
    const attemptsOf = async (gapMs: number) => {
      const backend = new Backend({ schema }, { seed: "wait", platform: NARROW, holdMs: 100 });
      const either: Body<unknown> = (ctx, i) => (i === 1 ? nothing() : increment(ctx));
      return inOrder(await run(backend, either, 3, gapMs)).map(({ attempts }) => attempts);
    };
    // The third call runs 200 ms after the first began, and the first has committed by then. The third call's snapshot is older.
    expect(await attemptsOf(1)).toEqual([1, 1, 2]);
    expect(await attemptsOf(1000)).toEqual([1, 1, 1]);
  });

  const classes = [
    { platform: "S16", permits: 16, jobs: 8 },
    { platform: "S256", permits: 256, jobs: 40 },
  ] as const;
  it.each(classes)("$platform runs as many mutations at once as permits: $permits", async ({ platform, permits }) => {
    const backend = new Backend({ schema }, { seed: "permits", platform, holdMs: 1000 });
    const calls = await run(backend, nothing, 300, 0);
    const first = calls.filter(({ outcome, decidedMs }) => outcome.kind === "committed" && decidedMs < 1000);
    expect(first).toHaveLength(permits);
  });

  it("fails a call that has waited 5 s for a permit", async () => {
    const calls = await run(new Backend({ schema }, { seed: "late", platform: NARROW, holdMs: 3000 }), read, 3, 0);
    expect(calls.map(({ outcome }) => outcome.kind).sort()).toEqual(["committed", "committed", "overloaded"]);
    expect(calls.find(({ outcome }) => outcome.kind === "overloaded")?.endedMs).toBe(5000);
  });

  /** Inserts a row and writes it every millisecond, the duration of the shortest attempt, until `untilMs`. */
  function contendUntil(backend: Backend, untilMs: number) {
    const counters = "/counters";
    const first = new Transaction(backend.store, 0);
    const id = first.insert(counters, { name: "n", value: 0 });
    first.commit();
    for (let { nowMs: atMs } = backend.agenda; atMs < untilMs; atMs++) {
      backend.agenda.plan(atMs, () => {
        const transaction = new Transaction(backend.store, 0);
        transaction.patch(id, { value: -atMs });
        // This bypasses the committer: no transaction waits to be published, since every call conflicts.
        transaction.commit();
      });
    }
  }

  it("retries after min(100 ms × 2^n, 2 s) × uniform(0, 1)", async () => {
    const backend = new Backend({ schema }, { seed: "retries" });
    contendUntil(backend, 20_000);
    const starts = new Map<number, number[]>();
    const calls = 400;
    let ended = 0;
    for (let i = 0; i < calls; i++) {
      const own: number[] = [];
      starts.set(i, own);
      backend.agenda.plan(10 * i, () => {
        backend.call(
          async (ctx) => {
            own.push(backend.agenda.nowMs);
            await increment(ctx);
          },
          ({ outcome }) => {
            expect(outcome.kind).toBe("exhausted");
            ended++;
          },
        );
      });
    }
    await backend.agenda.run();
    expect(ended).toBe(calls);
    // The mean of the execution's distribution (10.2 ms), and of one read.
    const executionMs = 10.16 + PLATFORM.readMs;
    for (let n = 0; n < 4; n++) {
      const gaps = [...starts.values()].map((own) => (own[n + 1] ?? NaN) - (own[n] ?? NaN));
      const mean = gaps.reduce((a, b) => a + b, 0) / calls;
      const mostMs = 100 * 2 ** n;
      // Three standard errors, of the uniform wait and of the execution (standard deviation 8 ms).
      expect(Math.abs(mean - executionMs - mostMs / 2)).toBeLessThan(
        (3 * Math.hypot(mostMs / Math.sqrt(12), 8)) / Math.sqrt(calls),
      );
    }
    expect([0, 3, 4, 5, 9].map((n) => mostBackoffMs(PLATFORM.backoff, n))).toEqual([100, 800, 1600, 2000, 2000]);
    expect([0, 9, 10].map((n) => mostBackoffMs(PLATFORM.jobBackoff, n))).toEqual([100, 51_200, 60_000]);
  });

  it("a browser reconnects and resends a call that was given up; an action gets the error", async () => {
    const callWith = async (options: { browser: boolean; resendsUntilMs: number }) => {
      const backend = new Backend({ schema }, { seed: "resend", ...options });
      contendUntil(backend, 10_000);
      const [call] = await run(backend, increment, 1, 0);
      return call;
    };
    const resent = await callWith({ browser: true, resendsUntilMs: 60_000 });
    expect(resent?.outcome.kind).toBe("committed");
    expect(resent?.sends).toBeGreaterThan(1);
    // Each send has all its attempts.
    expect(resent?.attempts).toBeGreaterThan(5 * ((resent?.sends ?? NaN) - 1));
    expect(resent?.endedMs).toBeGreaterThan(10_000);
    for (const browser of [true, false]) {
      const given = await callWith({ browser, resendsUntilMs: browser ? 0 : 60_000 });
      expect(given).toMatchObject({ outcome: { kind: "exhausted" }, sends: 1, attempts: 5 });
    }
  });

  /** A job that increments the counter, and a mutation that schedules `count` of them. */
  function jobs(backendOptions: BackendOptions) {
    const started: number[] = [];
    const record = internalMutationGeneric({
      handler: async (ctx) => {
        started.push(backend.agenda.nowMs);
        await increment(ctx as unknown as SimulatedCtx);
      },
    });
    const backend = new Backend({ schema, modules: { jobs: { record } } }, backendOptions);
    const scheduleJobs = async (count: number, onScheduled: () => void = () => undefined) => {
      const schedule = async ({ scheduler }: SimulatedCtx) => {
        for (let i = 0; i < count; i++)
          await scheduler.runAfter(0, makeFunctionReference<"mutation">("jobs:record"), {});
      };
      backend.call(schedule, onScheduled);
      await backend.agenda.run();
    };
    return { backend, started, scheduleJobs };
  }

  it.each(classes)("$platform runs $jobs of 40 scheduled functions at once", async ({ platform, jobs: atOnce }) => {
    const { started, scheduleJobs } = jobs({ seed: "jobs", platform, holdMs: 5000 });
    await scheduleJobs(40);
    const first = started[0] ?? NaN;
    expect(started.filter((atMs) => atMs < first + 5000)).toHaveLength(atOnce);
  });

  it("retries a scheduled function that conflicts until it commits, long after a call would have failed", async () => {
    const { backend, started, scheduleJobs } = jobs({ seed: "until" });
    await scheduleJobs(1, () => {
      contendUntil(backend, 30_000);
    });
    expect(started.length).toBeGreaterThan(1 + PLATFORM.retries);
    expect(started.at(-1)).toBeGreaterThan(29_900);
    expect(backend.background.runs).toBe(1);
  });

  it("answers a denial to an action without waiting for a commit or a publication", async () => {
    const platform = { ...NARROW, bytesWrittenPerSecond: 1 };
    const [call] = await run(new Backend({ schema }, { seed: "no commit", browser: false, platform }), read, 1, 0);
    expect(call?.endedMs).toBeLessThan(200);
  });
});
