// @vitest-environment node
import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";
import { describe, expect, it } from "vitest";
import { Backend, type Call } from "../../bench/simulator/backend.js";
import type { SimulatedCtx } from "../../bench/simulator/context.js";
import { PLATFORM } from "../../bench/simulator/platform.js";

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

async function read({ db }: SimulatedCtx): Promise<number> {
  const row = await db.query("counters").first();
  return Number(row?.["value"] ?? 0);
}

/** Starts `calls` of them `gapMs` apart, and lets them end. */
async function run<Result>(
  backend: Backend,
  body: (ctx: SimulatedCtx) => Promise<Result>,
  calls: number,
  gapMs: number,
) {
  const ended: Call<Result>[] = [];
  for (let i = 0; i < calls; i++) {
    backend.agenda.plan(i * gapMs, () => {
      backend.call(body, (call) => ended.push(call));
    });
  }
  await backend.agenda.run();
  expect(ended).toHaveLength(calls);
  return ended;
}

function committed<Result>(calls: readonly Call<Result>[]): Result[] {
  return calls.flatMap(({ outcome }) => (outcome.kind === "committed" ? [outcome.value] : []));
}

describe("the simulated backend", () => {
  it("loses no update: a counter counts every call that committed, and no other", async () => {
    const backend = new Backend({ schema }, { seed: "counter" });
    const calls = await run(backend, increment, 500, 5);
    const values = committed(calls);
    expect(calls.some(({ attempts }) => attempts > 1)).toBe(true);
    expect([...values].sort((a, b) => a - b)).toEqual(values.map((_, i) => i + 1));
    expect(await backend.runAlone(read, 0)).toBe(values.length);
  });

  it("gives a call up after four retries, and only then", async () => {
    const calls = await run(new Backend({ schema }, { seed: "crowd" }), increment, 300, 1);
    const exhausted = calls.filter(({ outcome }) => outcome.kind === "exhausted");
    expect(exhausted.length).toBeGreaterThan(0);
    expect(new Set(exhausted.map(({ attempts }) => attempts))).toEqual(new Set([1 + PLATFORM.retries]));
    expect(Math.max(...calls.map(({ attempts }) => attempts))).toBe(1 + PLATFORM.retries);
  });

  it("runs calls that are far apart once each", async () => {
    const calls = await run(new Backend({ schema }, { seed: "calm" }), increment, 50, 2000);
    expect(calls.every(({ attempts }) => attempts === 1)).toBe(true);
    expect(committed(calls)).toEqual(calls.map((_, i) => i + 1));
  });

  it("validates calls that only read when they come from browsers, never when they come from actions", async () => {
    const attemptsOf = async (browser: boolean) => {
      const backend = new Backend({ schema }, { seed: "readers", browser });
      const readers: Call<number>[] = [];
      for (let i = 0; i < 200; i++) {
        backend.agenda.plan(i * 4, () => {
          backend.call(i % 4 === 0 ? increment : read, (call) => i % 4 !== 0 && readers.push(call));
        });
      }
      await backend.agenda.run();
      return Math.max(...readers.map(({ attempts }) => attempts));
    };
    expect(await attemptsOf(false)).toBe(1);
    expect(await attemptsOf(true)).toBeGreaterThan(1);
  });

  it("does the same again for the same seed, and something else for another", async () => {
    const trace = async (seed: string) => {
      const calls = await run(new Backend({ schema }, { seed }), increment, 200, 10);
      return calls.map(({ attempts, endedMs, clock }) => [attempts, endedMs, clock]);
    };
    expect(await trace("a")).toEqual(await trace("a"));
    expect(await trace("a")).not.toEqual(await trace("b"));
  });

  it("takes execution and commit times from the model", async () => {
    const calls = await run(new Backend({ schema }, { seed: "times" }), increment, 4000, 2000);
    const times = calls.map(({ startedMs, endedMs }) => endedMs - startedMs).sort((a, b) => a - b);
    // Median 8 plus 4 to 12, 8 on average; the execution's own p99 is 40.
    expect(times[2000]).toBeGreaterThan(15);
    expect(times[2000]).toBeLessThan(18);
    expect(times[3960]).toBeGreaterThan(42);
    expect(times[3960]).toBeLessThan(56);
  });

  it("freezes the clock within an attempt and lets clocks differ between attempts when asked to", async () => {
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

  it("gives production code seeded randomness, new for each attempt, and the real one back afterwards", async () => {
    const random = () => Promise.resolve(Math.random());
    const draw = async () => committed(await run(new Backend({ schema }, { seed: "dice" }), random, 20, 100));
    const values = await draw();
    expect(new Set(values).size).toBe(20);
    expect(await draw()).toEqual(values);
    expect(Math.abs(Date.now() - performance.timeOrigin - performance.now())).toBeLessThan(60_000);
  });

  it("does not run code again that threw, and keeps nothing of it", async () => {
    const backend = new Backend({ schema }, { seed: "error" });
    const [call] = await run(
      backend,
      async (ctx) => {
        await increment(ctx);
        throw new Error("no");
      },
      1,
      0,
    );
    expect(call).toMatchObject({ outcome: { kind: "threw" }, attempts: 1 });
    expect(await backend.runAlone(read, 0)).toBe(0);
  });

  it("refuses a second attempt while one is running", async () => {
    const backend = new Backend({ schema }, { seed: "nested" });
    await expect(backend.runAlone(async () => await backend.runAlone(read, 0), 0)).rejects.toThrow("running already");
  });
});
