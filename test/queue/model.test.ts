// @vitest-environment node
/**
 * The queue against the exact queue, on the simulated backend: callers at once, cancels, refunds, charges, plain calls and resets of the
 * same limit, runs whose server dies, a deploy that stops them for a minute, clocks that are apart. QUEUE_WORLDS says how many worlds
 * are played (default 16); QUEUE_SEED plays others.
 */
import { describe, expect, it } from "vitest";
import { createRandom, wholeNumber } from "../../bench/simulator/random.js";
import type { ExactLimit } from "../model/exact/config.js";
import { play, type Setting, type Told } from "./world.js";

const WORLDS = Number(process.env["QUEUE_WORLDS"] ?? 16);
const SEED = process.env["QUEUE_SEED"] ?? "1";

/** Each world has its own mix; over sixteen of them every two features meet. */
function settingOf(world: number, seed: string): Setting {
  const random = createRandom(`${seed}/setting`);
  const among = <T>(...values: readonly [T, ...T[]]): T =>
    values[wholeNumber(random, 0, values.length - 1)] ?? values[0];
  const period = among(500, 1000, 3000);
  const isSparse = world % 4 === 1;
  const rate = (isSparse ? wholeNumber(random, 3, 6) : wholeNumber(random, 20, 80)) * (period / 500);
  const reserving = { maxReserved: among<number | undefined>(undefined, undefined, 0, 15) };
  const limits: readonly [ExactLimit, ExactLimit, ExactLimit] = [
    { kind: "token bucket", rate, period, capacity: among(10, 40), ...reserving },
    { kind: "fixed window", rate, period, capacity: rate, start: 0, ...reserving },
    { kind: "sliding window", rate, period, ...reserving },
  ];
  const spanMs = isSparse ? 0 : among(4000, 8000, 90_000);
  return {
    place: world % 2 === 0 ? "tables" : "component",
    limit: limits[world % 3] ?? limits[0],
    priorities: among(1, 2, 4, 10),
    aging: among(0, 200, 1000, 60_000),
    fair: world % 8 >= 4,
    operations: 150,
    cancels: among(0.1, 0.3),
    plain: among(0, 0.15),
    skewMs: among(0, 0, 40, 400),
    crashes: among(0, 0.2, 0.5),
    ...(spanMs > 60_000 && { pause: { fromMs: 0.32 * spanMs, toMs: 0.32 * spanMs + 60_000 } }),
    users: among(2, 6),
    mostCount: isSparse ? 4 : 10,
    spanMs,
    isSparse,
  };
}

const told: Told[] = [];

describe("the queue does what the exact queue does", () => {
  it.each(Array.from({ length: WORLDS }, (_, i) => [i, settingOf(i, `${SEED}/${i}`)] as const))(
    "world %i: %j",
    async (world, setting) => {
      told.push(await play(setting, `${SEED}/${world}`));
    },
  );

  it("and has met all that these worlds are for", () => {
    const total = (what: keyof Told) => told.reduce((sum, one) => sum + one[what], 0);
    expect(told).toHaveLength(WORLDS);
    expect(total("ran") + total("canceled")).toBe(total("jobs"));
    for (const what of ["canceled", "tooLate", "positions", "overtaken"] as const) {
      expect(total(what), what).toBeGreaterThan(WORLDS);
    }
  });
});
