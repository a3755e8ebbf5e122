/** Operations on a bucket of four rows. Random numbers choose the rows that a call reads. */
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it, vi } from "vitest";
import { draw } from "../support/draw.js";
import { FakeDb } from "../support/fakeDb.js";
import { useBackend } from "../support/limits.js";
import { partsOf } from "../support/parts.js";
import { defineIn, placeNames, type StoredRow } from "../support/places.js";
import { firstOf } from "../support/random.js";
import { createRandom } from "../../tools/simulator/random.js";
import { NOW, useClock } from "../support/clock.js";

useClock();

const HOUR = 3_600_000;
/** A limit that adds a token an hour, which is long after the end of a test. */
const shared = { kind: "token bucket", rate: 1, period: HOUR, capacity: 64 } as const satisfies RateLimitConfig;
const user: RateLimitConfig = { kind: "token bucket", rate: 1, period: HOUR, capacity: 0, maxReserved: 0 };

/** The rows of a bucket, by shard or in equal parts. `ages` is the age of each row in ms. */
const rowsOf = (
  held: readonly number[] | Readonly<Record<string, number>>,
  ages: readonly number[] = [],
  { kind, period }: Pick<RateLimitConfig, "kind" | "period"> = shared,
): StoredRow[] => {
  const bucket = kind !== "token bucket" && { bucket: `${kind} ${period}` };
  const parts = Array.isArray(held) ? partsOf(Math.log2(Math.max(1, held.length))) : Object.keys(held);
  return Object.values(held).map((value: number, i) => {
    return { name: "hot", value, ts: NOW - (ages[i] ?? 0), shard: parts[i] ?? "", ...bucket };
  });
};
const each = (rows: number, value: number) => Array<number>(rows).fill(value);

const fast = { ...shared, rate: 64, period: 1000 } as const;
const window = { kind: "fixed window", rate: 64, period: 1000, capacity: 64, start: 500 } as const;

/** The tokens in the rows before and after a call, and the call. Its random numbers are 0 and then 0.3 by default. */
type Row = [what: string, held: number[] | Record<string, number>, left: number[], call?: Call];
interface Call {
  config?: RateLimitConfig;
  shards?: number;
  /** The age of each row in ms. */
  ages?: number[];
  draws?: number[];
  asked?: object;
  status?: object;
}
const ok = { ok: true };
const whole = (remaining: number, resetMs: number) => ({ ok: true, remaining, resetAt: NOW + resetMs });
const denied = (more: object = {}) => ({ ok: false, retryAt: NOW + 63, ...more });
const empty = { remaining: 0, resetAt: NOW + 1000 };
const slow = { config: shared };
const faster = { config: { ...fast, rate: 640 } };
const windows = { config: window };
const two = { count: 2 };
const ten = each(4, 10);
const owing = { ok: false, retryAt: NOW + 53 };
const later = { ok: true, retryAt: NOW + 115 };
const reserve = (count: number) => ({ count, reserve: true });
const afterAll = { ...whole(0, 100 * HOUR), retryAt: NOW + 36 * HOUR };
const tooLarge = { ok: false, retryAt: 8.64e15, reason: "too large" };
const slowTwo = { ...slow, asked: two };
const slowFive = { ...slow, asked: { count: 5 } };
const cold = each(3, 9000);
const uneven = { "000": 0.5, "001": 8, "01": 16, "1": 32 };
const reserved = { ok: true, retryAt: NOW + 53 };
const looking = { ...windows, ages: ten, draws: [0, 0.3, 0.6, 0.9] };
const twice = { ...looking, draws: [0, 0.3, 0.3], asked: two };
const newThird = { ages: [10, 10, 0, 10], status: { ok: false, retryAt: NOW + 500 } };
const dated = { asked: { count: 3, refundable: true }, status: { ok: true, takenAt: NOW } };
const known = { status: whole(31, 1000) };
const drawing = { ...windows, ages: each(32, 10), draws: each(50, 0), asked: { count: 3 }, status: whole(61, 500) };
/** Up to 8 rows, so a row that is emptied may split. */
const splitting = { ages: each(4, 1), shards: 8, draws: [0, 0.3, 0] };

const rows: Row[] = [
  ["gives from the first row", [1, 16, 16, 16], [0, 16, 16, 16], faster],
  ["gives a row's whole share", each(4, 16), [0, 16, 16, 16], { ...faster, asked: { count: 16 } }],
  ["gives from a second row if the first is short", [0, 1, 16, 16], [0, 0, 16, 16], faster],
  ["moves half of the second row's surplus to the first", [0, 16, 16, 16], [7, 8, 16, 16]],
  ["moves no more than half of the surplus", [0, 16, 16, 16], [4, 4, 16, 16], { ...faster, asked: { count: 8 } }],
  ["moves only whole tokens", [0.5, 12, 16, 16], [5.5, 6, 16, 16]],
  ["moves two tokens", [0, 5, 16, 16], [2, 2, 16, 16]],
  ["does not move fewer than two tokens", [0.5, 5, 16, 16], [0.5, 4, 16, 16]],
  // Tokens that arrived within a second make half of the surplus slightly less than 7.
  ["moves tokens between old rows", [0, 16, 16, 16], [6, 8, 16, 16], { ...slowTwo, ages: [1000, 500] }],
  ["moves none if a clock ahead wrote row 1", [0, 16, 16, 16], [0, 14, 16, 16], { ...slowTwo, ages: [-40] }],
  ["moves none if a clock ahead wrote row 2", [0, 16, 16, 16], [0, 14, 16, 16], { ...slowTwo, ages: [0, -40] }],
  ["moves none in a window", [0, 16, 16, 16], [0, 15, 16, 16], windows],
  ["moves no more than a smaller row can hold", uneven, [7.5, 8, 16, 24], { draws: [0, 0.6], shards: 8 }],
  ["splits an emptied row if one was short", [0, 1, 16, 16], [0, 0, 0, 16, 16], splitting],
  ["splits a window's in the same way", [0, 1, 9, 9], [0, 0, 0, 9, 9], { ...windows, ...splitting }],
  ["splits no emptied row if none was short", [1, 16, 16, 16], [0, 16, 16, 16], { ...splitting, draws: [0, 0, 0] }],

  ["reserves on a second row if the first is short", [0, 16, 16, 16], [7, 7, 16, 16], { ...slow, asked: { ...two, reserve: true } }], // oxfmt-ignore
  ["merges rows that hold a large count four times", [4, ...each(7, 8)], [23, ...each(4, 8)], slowFive],
  // A row of a slow limit folds if it is left with less than the count.
  ["merges more rows if less is left", [1, 1, 1, 2, 8, 8, 8, 8], [32], slowFive],
  [
    "merges all rows if those around it do not hold the count",
    [0, 0, 1, 1, ...each(4, 8)],
    [29],
    { ...slowFive, status: whole(29, 35 * HOUR) },
  ],
  ["keeps its rows while the first is in use", each(4, 12), [11, 12, 12, 12], { ...slow, ages: [1999, ...cold] }],
  ["folds an idle row with its neighbour", each(4, 12), [23, 12, 12], { ...slow, ages: [2000, 0, 9000] }],
  ["folds more rows if it was idle for longer", each(4, 12), [47], { ...slow, ages: [4000] }],

  ["folds with no row that owes", [12, -3, 12, 12], [11, -3, 12, 12], { ...slow, ages: [2000, 0, 9000] }],
  [
    "merges rows for a large reservation",
    [4, 4, 16, 16],
    [28],
    { ...slow, asked: reserve(12), status: whole(28, 36 * HOUR) },
  ],
  ["reserves it on one row if another owes", [-4, 16, 16, 16], [-4, 4, 16, 16], { ...slow, asked: reserve(12) }],
  [
    "reserves more than a row's share when all have paid, which takes as long as 16 tokens",
    [-4, 4, 4, 4],
    [-36],
    { ...slow, asked: reserve(20), status: afterAll },
  ],
  [
    "serves a reservation at once that is larger than a row's share, if the rows hold it beside a debt",
    [-4, 16, 16, 16],
    [-4, 0, 12, 16],
    { ...slow, asked: reserve(20), status: whole(28, 80 * HOUR) },
  ],

  ["denies after it read two rows", each(4, 0), each(4, 0), { ages: ten, status: denied() }],
  ["owes a reservation on one of two rows", each(4, 0), [-1, 0, 0, 0], { ages: ten, asked: { reserve: true }, status: reserved }], // oxfmt-ignore
  ["reserves on the row that serves it first", [-2, -1, 1, 1], [-2, -2, 1, 1], { ages: ten, asked: { reserve: true }, status: later }], // oxfmt-ignore
  // Rows that were written in the same ms say nothing about the others.
  ["is read whole if one row is found twice", each(4, 0), each(4, 0), { draws: [0, 0.01], status: denied(empty) }],
  ["is read whole if both rows are new", each(4, 0), each(4, 0), { status: denied(empty) }],
  ["is read whole and gives from other rows", [0.5, 0.6, 16, 16], [0.5, 0.5, 15, 16], { status: whole(32, 969) }],
  ["is read whole if only the first row is new", [0, 0, 16, 16], [0, 0, 15, 16], { ages: [0, 10, 10, 10], ...known }],
  ["is read whole if only the second row is new", [0, 0, 16, 16], [0, 0, 15, 16], { ages: [10, 0, 10, 10], ...known }],
  ["is not read whole if a clock ahead wrote both rows", each(4, 0), each(4, 0), { ages: each(4, -40), status: { ok: false, retryAt: NOW + 103 } }], // oxfmt-ignore
  ["allows a count of 0 by one row", each(4, 0), each(4, 0), { ...slow, asked: { count: 0 } }],
  ["allows a slow limit's count of 0 if two rows owe and another does not", [-1, -1, 9, 9], [-1, -1, 9, 9], { ...slow, ages: ten, asked: { count: 0 }, status: whole(18, 68 * HOUR - 10) }], // oxfmt-ignore
  [
    "denies a count of 0 if two rows owe",
    [-1, -1, 9, 9],
    [-1, -1, 9, 9],
    { ages: ten, asked: { count: 0 }, status: owing },
  ],
  ["denies a window's count of 0 if all rows owe", each(4, -1), each(4, -1), { ...looking, asked: { count: 0 }, status: { ok: false, retryAt: NOW + 500 } }], // oxfmt-ignore
  ["denies more than it can hold", each(4, 16), each(4, 16), { asked: { count: 65 }, status: tooLarge }],

  // A call reads several rows of a window, one after another, until they hold the count together. The fullest gives first.
  ["pays a window's count from several rows", [0, 1, 2, 1], [0, 0, 0, 1], { ...looking, asked: { count: 3 } }],
  ["pays a refundable count from several rows", [0, 1, 2, 1], [0, 0, 0, 1], { ...looking, ...dated }],
  ["denies even if the third row is new", each(4, 0), each(4, 0), { ...looking, ...newThird }],
  ["reads a row only once if it is drawn twice", [0, 1, 2, 1], [0, 0, 2, 0], twice],
  ["is read whole if all draws find one full row", each(32, 2), [0, 1, ...each(30, 2)], drawing],
];

describe.each(placeNames)("a bucket of four rows in the %s", (place) => {
  const { define, insert, parts } = useBackend(place);
  const { rateLimit, rateLimitAll, adjustRateLimit } = define({ hot: { ...shared, shards: 4 }, user });
  const values = async () => (await parts()).map(({ value }) => value);
  const take = (asked: object = {}) => rateLimit({ name: "hot", ...asked });

  it.each(rows)("%s: %j becomes %j", async (_what, held, left, call = {}) => {
    const { config = fast, ages, draws = [0, 0.3], asked, status = ok } = call;
    const stored = rowsOf(held, ages, config);
    await insert(...stored);
    draw(...draws);
    const { shards = stored.length } = call;
    expect(await take({ config: { ...config, shards }, ...asked })).toEqual(status);
    // The values are rounded down to half a token, since a fraction may have arrived.
    expect((await values()).map((value) => Math.floor(2 * value) / 2)).toEqual(left);
  });

  const paidAfter = (hours: number, remaining: number) => ({ ok: true, remaining, resetAt: NOW + hours * HOUR });
  it.each<[string, rows: number[], count: number, left: number[], status: object]>([
    ["refunds where most room is, within each row's share", [16, 15, 10, 4], -15, [16, 15, 13, 16], paidAfter(12, 60)],
    ["refunds no more than up to its capacity", [16, 15, 10, 4], -50, each(4, 16), paidAfter(0, 64)],
    ["has a full status if it is not split yet", [], 4, [60], paidAfter(4, 60)],
    ["owes on one of two rows what these do not hold", [1, 2, 3, 4], 13, [0, 2, 3, -8], { ok: true }],
  ])("%s", async (_what, rows, count, left, status) => {
    await insert(...rowsOf(rows));
    draw(0);
    expect(await adjustRateLimit({ name: "hot", count })).toEqual(status);
    expect(await values()).toEqual(left);
  });

  it("of a sliding window never exceeds its rate in any period, even if a clock that is behind finds a row short", async () => {
    const sliding = { kind: "sliding window", rate: 40, period: 100 } as const;
    const row = { name: "hot", bucket: "sliding window 100" };
    await insert(
      { ...row, shard: "0", value: 0, ts: NOW, recent: [{ at: NOW, count: 20 }] },
      { ...row, shard: "1", value: 20, ts: NOW - 40, recent: [] },
    );
    draw(0, 0.99);
    for (const [ms, count, ok] of [
      [-40, 1, true],
      [1, 20, false],
      [1, 19, true],
      // One of those 40 has left the window.
      [60, 2, false],
      [60, 1, true],
    ] as const) {
      vi.setSystemTime(NOW + ms);
      expect(await take({ config: { ...sliding, shards: 2 }, count }), `${ms} ${count}`).toMatchObject({ ok });
    }
  });

  it.each<[string, count: number, rows: number[], known: object]>([
    ["only ok, from one row", 1, each(4, 16), {}],
    ["a full status, from all rows together", 10, [4, 16, 16, 16], { remaining: 52, resetAt: NOW + 12 * HOUR }],
    ["a full status if it is not split yet", 1, [], { remaining: 64, resetAt: NOW }],
  ])("answers with %s if another limit denies", async (_what, count, rows, known) => {
    await insert(...rowsOf(rows));
    draw(0, 0.01);
    const inDebt = { name: "user", key: "in debt" };
    await adjustRateLimit({ ...inDebt, count: 1 });
    const hot = { name: "hot", count };
    const all = await rateLimitAll([hot, { ...inDebt, count: 0 }]);
    const unpaid = { ok: false, retryAt: NOW + HOUR, remaining: 0, resetAt: NOW + HOUR };
    expect(all).toEqual({ ok: false, retryAt: NOW + HOUR, statuses: [{ ok: true, ...known }, unpaid] });
    expect((await values()).filter((value) => value !== -1)).toEqual(rows);
  });
});

describe.each(placeNames)("concurrent calls of one mutation in the %s", (place) => {
  const { define, mutation } = useBackend(place);

  // One call looks at 20 rows of 32 before it is denied.
  it.each(["fixed window", "sliding window"] as const)("get exactly what the rows of a %s hold", async (kind) => {
    const config: RateLimitConfig = { kind, rate: 64, period: 1000, shards: { atLeast: 32, atMost: 32 } };
    const { within } = define({ hot: config });
    const statuses = await mutation((ctx) =>
      Promise.all(Array.from({ length: 128 }, () => within(ctx).rateLimit({ name: "hot" }))),
    );
    expect(statuses.filter(({ ok }) => ok)).toHaveLength(64);
  });
});

/** Calls at equal distances do not conflict with each other, so every denial here is in vain. */
describe("a window of 300 a second on several rows, called one by one", () => {
  const sliding = { kind: "sliding window", rate: 300, period: 1000, shards: "auto" } as const;
  const fixed = { kind: "fixed window", rate: 300, period: 1000, start: 0, shards: "auto" } as const;
  const loads = [
    { config: sliding, perSecond: 270, most: 0.035 },
    { config: fixed, perSecond: 240, most: 0.01 },
    { config: sliding, perSecond: 240, most: 0.01 },
    { config: fixed, perSecond: 270, most: 0.035 },
  ];
  it.each(firstOf(2, loads))(
    "denies at most $most in vain at $perSecond calls a second, $config.kind",
    async ({ config, perSecond, most }) => {
      const db = new FakeDb();
      const { rateLimit } = defineIn("tables", { hot: config });
      vi.spyOn(Math, "random").mockImplementation(createRandom("serial"));
      let denied = 0;
      const calls = 6 * perSecond;
      for (let i = 0; i < calls; i++) {
        vi.setSystemTime(NOW + Math.round((i * 1000) / perSecond));
        const { ok } = await db.transaction((ctx) => rateLimit(ctx as never, { name: "hot" }));
        if (!ok && i >= 2 * perSecond) denied++;
      }
      expect(denied / (4 * perSecond)).toBeLessThanOrEqual(most);
    },
  );
});

describe("a fixed window on several rows", () => {
  const { insert, define } = useBackend("tables");
  const start = { kind: "fixed window", period: 1000, start: 0 } as const;

  it("draws two random numbers for a denial on two rows, one for each", async () => {
    const config = { ...start, rate: 64 };
    await insert(...rowsOf([0, 0], [10, 10], config));
    const { rateLimit } = define({ hot: { ...config, shards: 2 } });
    vi.setSystemTime(NOW - 5);
    draw(0);
    expect(await rateLimit({ name: "hot" })).toMatchObject({ ok: false });
    expect(Math.random).toHaveBeenCalledTimes(2);
  });

  it.each([1, 20, 21, 40, 51])("of 256 that hold three of their four tokens serves a count of %i", async (count) => {
    const config = { ...start, rate: 1024 };
    await insert(...rowsOf(each(256, 3), each(256, -1), config));
    const { rateLimit } = define({ hot: { ...config, shards: 256 } });
    vi.setSystemTime(NOW + 2);
    expect(await rateLimit({ name: "hot", count })).toMatchObject({ ok: true });
  });
});
