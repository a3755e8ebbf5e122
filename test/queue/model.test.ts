/**
 * Compares the queue with the exact queue on the simulated backend. Worlds have simultaneous callers, cancels, deadlines, refunds, charges,
 * settlements and jobs that run again, at once or later, and plain calls, reservations, pauses and resets of the same limit. In some,
 * servers die during runs, a deploy stops runs for a minute or changes `attempts`, sweeps come between, or clocks differ. QUEUE_WORLDS is
 * the number of worlds (default 6, and 8 with EFFORT=1); QUEUE_SEED plays others.
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createRandom, wholeNumber } from "../../tools/simulator/random.js";
import type { ExactLimit } from "../support/exact/config.js";
import { effort } from "../support/random.js";
import { play, type Setting, type Told } from "./world.js";

const WORLDS = Number(process.env["QUEUE_WORLDS"] ?? (effort < 1 ? 6 : 8));
const SEED = process.env["QUEUE_SEED"] ?? "1";
/** Of each event. Another seed may have few of one. */
const LEAST_EVENTS = SEED === "1" ? WORLDS : 0;

function choicesOf(seed: string) {
  const random = createRandom(seed);
  const among = <T>(...values: readonly [T, ...T[]]): T =>
    values[wholeNumber(random, 0, values.length - 1)] ?? values[0];
  return { random, among };
}

/** The setting of one world. Each world has its own mix; in sixteen worlds, every two features meet. */
function settingOf(world: number, seed: string): Setting {
  const { random, among } = choicesOf(`${seed}/setting`);
  const period = among(500, 1000, 3000);
  const isSparse = world % 4 === 1;
  const rate = (isSparse ? wholeNumber(random, 3, 6) : wholeNumber(random, 20, 80)) * (period / 500);
  const reserving = { maxReserved: among<number | undefined>(undefined, undefined, 0, 15) };
  const limits: readonly [ExactLimit, ExactLimit, ExactLimit] = [
    { kind: "token bucket", rate, period, capacity: among(10, 40), ...reserving },
    { kind: "fixed window", rate, period, capacity: rate, start: 0, ...reserving },
    { kind: "sliding window", rate, period, ...reserving },
  ];
  const limit = limits[world % 3] ?? limits[0];
  const spanMs = isSparse ? 0 : among(4000, 8000, 90_000);
  return {
    place: world % 2 === 0 ? "tables" : "component",
    limit,
    priorities: among(1, 2, 4, 10),
    aging: among(0, 200, 1000, 60_000),
    fair: world % 8 >= 4,
    operations: effort < 1 ? 110 : 150,
    cancels: among(0.1, 0.3),
    plain: among(0, 0.15),
    settles: among(0, 0.3),
    damages: among(0, 0.08),
    skewMs: among(0, 0, 40, 400),
    crashes: among(0, 0.2, 0.5),
    ...(spanMs > 60_000 && { pause: { fromMs: 0.32 * spanMs, toMs: 0.32 * spanMs + 60_000 } }),
    users: among(2, 6),
    mostCount: isSparse ? 3 : mostCountOf(limit, among(10, 30)),
    spanMs,
    isSparse,
  };
}

/** The most tokens that a job asks for. Jobs larger than a full bucket wait for future tokens, if the limit lets them reserve. */
function mostCountOf(limit: ExactLimit, count: number): number {
  if (limit.kind === "sliding window") return 10;
  return Math.min(count, limit.capacity + (limit.maxReserved ?? Infinity));
}

/**
 * A setting whose rows split under fast plain calls and merge for every debt: its rates let the queue catch up now and then. In a calm
 * world no job waits, so the bucket is split whenever the worker pays.
 */
function splitSettingOf(world: number, seed: string): Setting {
  const { random, among } = choicesOf(`${seed}/split`);
  const isCalm = world % 4 === 3;
  const rate = isCalm ? 500 : wholeNumber(random, 150, 500);
  const reserving = { maxReserved: among<number | undefined>(undefined, undefined, 0, 40) };
  const limits: readonly [ExactLimit, ExactLimit, ExactLimit] = [
    { kind: "token bucket", rate, period: 1000, capacity: among(100, 300), ...reserving },
    { kind: "fixed window", rate, period: 500, capacity: rate, start: 0, ...reserving },
    { kind: "sliding window", rate, period: 1000, ...reserving },
  ];
  return {
    ...settingOf(world, seed),
    limit: limits[world % 3] ?? limits[0],
    shards: among<Setting["shards"]>(16, "auto", { atLeast: 4 }, { atLeast: 8 }),
    operations: effort < 1 ? 250 : 400,
    cancels: 0.1,
    plain: among(0.75, 0.85),
    settles: world % 2 === 0 ? 0 : 0.9,
    damages: 0,
    ...(isCalm && { mostCount: 3 }),
    // With windows, a clock that is behind may charge one row for a window that has ended already in another. An exact bucket has one time.
    skewMs: world % 3 === 0 ? among(0, 40) : 0,
    spanMs: 3000,
    isSparse: false,
    pause: undefined,
  };
}

/** A setting whose jobs also take from a second limit, which others also use. Each of the two is the shorter one at times. */
function secondSettingOf(world: number, seed: string): Setting {
  const { random, among } = choicesOf(`${seed}/second`);
  const setting = settingOf(world, seed);
  const period = among(500, 1000, 3000);
  const rate = wholeNumber(random, 4, 16) * (period / 500);
  const limits: readonly [ExactLimit, ExactLimit, ExactLimit] = [
    { kind: "token bucket", rate, period, capacity: among(3, 10, 30) },
    { kind: "fixed window", rate, period, capacity: rate, start: 0 },
    { kind: "sliding window", rate, period },
  ];
  const held = setting.limit.kind === "sliding window" ? setting.limit.rate : setting.limit.capacity;
  return {
    ...setting,
    // A job that is larger than the bucket would be too large.
    mostCount: Math.min(setting.mostCount, held),
    plain: among(0, 0.1),
    second: { limit: limits[Math.floor(world / 3) % 3] ?? limits[0], count: among(1, 2) },
    ofSecond: among(0.05, 0.2),
  };
}

beforeEach(() => {
  // The worker logs an error for a job whose function is gone.
  const silent = vi.spyOn(console, "error").mockReturnValue();
  return () => {
    silent.mockRestore();
  };
});

const results: Told[] = [];
const splitResults: Told[] = [];

describe("the queue decides as the exact queue does", () => {
  it.each(Array.from({ length: WORLDS }, (_, i) => [i, settingOf(i, `${SEED}/${i}`)] as const))(
    "world %i: %j",
    async (world, setting) => {
      results.push(await play(setting, `${SEED}/${world}`));
    },
  );

  it("the worlds together cover every event that they are for", () => {
    const total = (what: keyof Told) => results.reduce((sum, one) => sum + one[what], 0);
    expect(results).toHaveLength(WORLDS);
    expect(total("ran") + total("canceled") + total("dropped")).toBe(total("jobs"));
    expect(total("dropped")).toBeGreaterThan(total("expired"));
    const events = ["canceled", "tooLate", "positions", "overtaken", "settled", "damaged", "again", "later"] as const;
    for (const what of [...events, "expired"] as const) expect(total(what), what).toBeGreaterThan(LEAST_EVENTS);
    for (const what of ["paused", "deployed"] as const) expect(total(what), what).toBeGreaterThan(LEAST_EVENTS / 4);
    expect(total("split")).toBe(0);
  });
});

describe("a queue with a second limit decides as one with two exact buckets does", () => {
  const told: Told[] = [];
  it.each(Array.from({ length: WORLDS }, (_, i) => [i, secondSettingOf(i, `${SEED}/second ${i}`)] as const))(
    "world %i: %j",
    async (world, setting) => {
      told.push(await play(setting, `${SEED}/second ${world}`));
    },
  );

  it("the worlds together cover every event that they are for", () => {
    const total = (what: keyof Told) => told.reduce((sum, one) => sum + one[what], 0);
    expect(total("ran") + total("canceled") + total("dropped")).toBe(total("jobs"));
    for (const what of ["ran", "canceled", "positions", "settled", "ofSecond"] as const) {
      expect(total(what), what).toBeGreaterThan(LEAST_EVENTS);
    }
  });
});

describe("law 13, liveness: every waiting job starts, once, also after crashes, refunds, pauses, cancelled runs and deleted rows", () => {
  it.each(Array.from({ length: WORLDS / 2 }, (_, i) => [i, settingOf(i, `${SEED}/damaged ${i}`)] as const))(
    "world %i: %j",
    async (world, setting) => {
      const damaged = { ...setting, operations: 60, damages: 0.3, crashes: 0.3, settles: 0.3, plain: 0.15 };
      const { jobs, ran, canceled, dropped, damaged: changes } = await play(damaged, `${SEED}/damaged ${world}`);
      expect(ran + canceled + dropped).toBe(jobs);
      expect(changes).toBeGreaterThan(0);
    },
  );
});

describe("on several rows no interval gets more than one bucket gives, and every job starts once, in its turn", () => {
  it.each(
    Array.from({ length: Math.ceil(WORLDS / 3) }, (_, i) => [i, splitSettingOf(i, `${SEED}/split ${i}`)] as const),
  )("world %i: %j", async (world, setting) => {
    splitResults.push(await play(setting, `${SEED}/split ${world}`));
  });

  it("the bucket was split in some of the payments", () => {
    const total = (what: keyof Told) => splitResults.reduce((sum, one) => sum + one[what], 0);
    expect(total("ran") + total("canceled") + total("dropped")).toBe(total("jobs"));
    for (const what of ["ran", "canceled", "settled"] as const) {
      expect(total(what), what).toBeGreaterThan(LEAST_EVENTS);
    }
    expect(total("split")).toBeGreaterThan(LEAST_EVENTS / 8);
  });
});
