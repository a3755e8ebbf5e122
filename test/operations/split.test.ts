/** Operations on a bucket of four rows, of which a call reads those that chance chooses. */
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it, vi } from "vitest";
import { draw } from "../support/draw.js";
import { FakeDb } from "../support/fakeDb.js";
import { useBackend } from "../support/limits.js";
import { partsOf } from "../support/parts.js";
import { defineIn, placeNames, type StoredRow } from "../support/places.js";
import { createRandom } from "../../bench/simulator/random.js";
import { NOW, useClock } from "../support/clock.js";

useClock();

const HOUR = 3_600_000;
/** The token that an hour brings comes long after all of this. */
const shared = { kind: "token bucket", rate: 1, period: HOUR, capacity: 64 } as const satisfies RateLimitConfig;
const user: RateLimitConfig = { kind: "token bucket", rate: 1, period: HOUR, capacity: 0, maxReserved: 0 };

/** The rows of a bucket: by their shard, or in equal parts. Each is so many ms old. */
const rowsOf = (
  held: readonly number[] | Readonly<Record<string, number>>,
  ages: readonly number[] = [],
  config: RateLimitConfig = shared,
): StoredRow[] => {
  const parts = Array.isArray(held) ? partsOf(Math.log2(Math.max(1, held.length))) : Object.keys(held);
  return Object.values(held).map((value: number, i) => {
    return { name: "hot", value, ts: NOW - (ages[i] ?? 0), shard: parts[i] ?? "", config };
  });
};
const each = (rows: number, value: number) => Array<number>(rows).fill(value);

const fast = { ...shared, rate: 64, period: 1000 } as const;
const window = { kind: "fixed window", rate: 64, period: 1000, capacity: 64, start: 500 } as const;

/** What the rows hold before a call and after it, and the call: chance draws 0 and then 0.3 for it, if nothing else is said. */
type Row = [what: string, held: number[] | Record<string, number>, left: number[], call?: Call];
interface Call {
  config?: RateLimitConfig;
  shards?: number;
  /** Of each row, in ms. */
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
const part = (count: number) => ({ count, atLeast: 1 });
const took = (taken: number, known: object = {}) => ({ ok: true, ...known, taken });
const slowFive = { ...slow, asked: { count: 5 } };
const cold = each(3, 9000);
const uneven = { "000": 0.5, "001": 8, "01": 16, "1": 32 };
const reserved = { ...whole(0, 1006), retryAt: NOW + 6 };
const looking = { ...windows, ages: ten, draws: [0, 0.3, 0.6, 0.9] };
const dated = { ok: true, takenAt: NOW };
const nextWindow = { ok: false, retryAt: NOW + 500 };
const drawing = { draws: each(50, 0), asked: { count: 3 }, status: whole(61, 500) };
/** A row that is emptied may split further. */
const splitting = { ages: each(4, 1), shards: 8 };

const rows: Row[] = [
  ["gives from the first row", [1, 16, 16, 16], [0, 16, 16, 16], faster],
  ["gives a row's whole share", each(4, 16), [0, 16, 16, 16], { ...faster, asked: { count: 16 } }],
  ["gives all, though less would do", each(4, 16), [14, 16, 16, 16], { ...faster, asked: part(2), status: took(2) }],
  ["gives from a second row if the first is short", [0, 1, 16, 16], [0, 0, 16, 16], faster],
  ["and the first half of what the second has more", [0, 16, 16, 16], [7, 8, 16, 16]],
  ["and not more than half", [0, 16, 16, 16], [4, 4, 16, 16], { ...faster, asked: { count: 8 } }],
  ["and no more than whole tokens", [0.5, 12, 16, 16], [5.5, 6, 16, 16]],
  ["if that is two tokens", [0, 5, 16, 16], [2, 2, 16, 16]],
  ["and not less than two", [0.5, 5, 16, 16], [0.5, 4, 16, 16]],
  // What came in within a second makes half of the difference a bit less than 7.
  ["also if neither was written lately", [0, 16, 16, 16], [6, 8, 16, 16], { ...slow, ages: [1000, 500], asked: two }],
  ["not if a clock ahead wrote the first", [0, 16, 16, 16], [0, 14, 16, 16], { ...slow, ages: [-40], asked: two }],
  ["nor if it wrote the second", [0, 16, 16, 16], [0, 14, 16, 16], { ...slow, ages: [0, -40], asked: two }],
  ["nor if it is a window", [0, 16, 16, 16], [0, 15, 16, 16], windows],
  ["nor more than a smaller row has room for", uneven, [7.5, 8, 16, 24], { draws: [0, 0.6], shards: 8 }],
  ["splits what it empties if one was short", [0, 1, 16, 16], [0, 0, 0, 16, 16], { ...splitting, draws: [0, 0.3, 0] }],
  ["and not if none was", [1, 16, 16, 16], [0, 16, 16, 16], { ...splitting, draws: [0, 0, 0] }],

  ["merges rows for a reservation", [0, 16, 16, 16], [14, 16, 16], { ...slow, asked: { ...two, reserve: true } }],
  ["merges rows that hold a large count four times", [4, ...each(7, 8)], [23, ...each(4, 8)], slowFive],
  // A row of a slow limit that is left with less than the count folds.
  ["merges further if less is left", [1, 1, 1, 2, 8, 8, 8, 8], [32], slowFive],
  [
    "merges all if those do not hold it",
    [0, 0, 1, 1, ...each(4, 8)],
    [29],
    { ...slowFive, status: whole(29, 35 * HOUR) },
  ],
  ["keeps its rows while the first is in use", each(4, 12), [11, 12, 12, 12], { ...slow, ages: [1999, ...cold] }],
  ["folds those around it if it is idle", each(4, 12), [23, 12, 12], { ...slow, ages: [2000, 0, 9000] }],
  ["folds more of them if it is idle for longer", each(4, 12), [47], { ...slow, ages: [4000] }],

  ["denies by two rows", each(4, 0), each(4, 0), { ages: ten, status: denied() }],
  ["but no reservation", each(4, 0), [-0.5], { ages: ten, asked: { reserve: true }, status: reserved }],
  [
    "nor if less would do",
    each(4, 2),
    [0, 1, 2, 2],
    { ...faster, ages: ten, asked: part(6), status: took(6, whole(8, 87)) },
  ],
  // Rows that were written this very ms say nothing of the others.
  ["is read whole if one row was found twice", each(4, 0), each(4, 0), { draws: [0, 0.01], status: denied(empty) }],
  ["is read whole if both rows are new", each(4, 0), each(4, 0), { status: denied(empty) }],
  ["and gives from others", [0.5, 0.6, 16, 16], [0.5, 0.5, 15, 16], { status: whole(32, 499) }],
  ["also if only the first is new", [0, 0, 16, 16], [0, 0, 15, 16], { ages: [0, 10, 10, 10], status: whole(31, 514) }],
  ["also if only the second is", [0, 0, 16, 16], [0, 0, 15, 16], { ages: [10, 0, 10, 10], status: whole(31, 514) }],
  [
    "is read whole by a count of 0",
    each(4, 12),
    each(4, 12),
    { ...slow, asked: { count: 0 }, status: whole(48, 16 * HOUR) },
  ],

  // Of a window several rows are read, one after another, until they hold a count together. The fullest gives first.
  ["pays a window's count from several rows", [0, 1, 2, 1], [0, 0, 0, 1], { ...looking, asked: { count: 3 } }],
  [
    "pays it by date, too",
    [0, 1, 2, 1],
    [0, 0, 0, 1],
    { ...looking, asked: { count: 3, refundable: true }, status: dated },
  ],
  [
    "denies though the third row is new",
    each(4, 0),
    each(4, 0),
    { ...looking, ages: [10, 10, 0, 10], status: nextWindow },
  ],
  [
    "reads a row once that is drawn twice",
    [0, 1, 2, 1],
    [0, 0, 2, 0],
    { ...looking, draws: [0, 0.3, 0.3], asked: two },
  ],
  [
    "is read whole if all draws find one full row",
    each(32, 2),
    [0, 1, ...each(30, 2)],
    { ...looking, ...drawing, ages: each(32, 10) },
  ],
];

describe.each(placeNames)("a bucket of four rows in the %s", (place) => {
  const { define, insert, parts } = useBackend(place);
  const { rateLimit, rateLimitAll, adjustRateLimit } = define({ hot: { ...shared, shards: 4 }, user });
  const values = async () => (await parts()).map(({ value }) => value);
  const take = (asked: object = {}) => rateLimit({ name: "hot", ...asked });

  it.each(rows)("%s: %j becomes %j", async (_what, held, left, call = {}) => {
    const { config = fast, ages, draws = [0, 0.3], asked, status = ok } = call;
    const stored = rowsOf(held, ages, config);
    // As calls with this config have written them.
    await insert(...stored.map((row) => ({ ...row, plan: config })));
    draw(...draws);
    const { shards = stored.length } = call;
    expect(await take({ config: { ...config, shards }, ...asked })).toEqual(status);
    // Down to halves of a token: a bit of one may have come in.
    expect((await values()).map((value) => Math.floor(2 * value) / 2)).toEqual(left);
  });

  const paidAfter = (hours: number, remaining: number) => ({ ok: true, remaining, resetAt: NOW + hours * HOUR });
  it.each<[string, rows: number[], count: number, left: number[], status: object]>([
    [
      "is given back to where most room is, and no row beyond its share",
      [16, 15, 10, 4],
      -15,
      [16, 15, 13, 16],
      paidAfter(4, 60),
    ],
    ["is given back to no further than to its capacity", [16, 15, 10, 4], -50, each(4, 16), paidAfter(0, 64)],
    ["says how it stands if it is not split yet", [], 4, [60], paidAfter(4, 60)],
    ["owes as one row what it does not hold", [1, 2, 3, 4], 13, [-3], { ...paidAfter(67, 0), retryAt: NOW + 3 * HOUR }],
  ])("%s", async (_what, rows, count, left, status) => {
    await insert(...rowsOf(rows));
    draw(0);
    expect(await adjustRateLimit({ name: "hot", count })).toEqual(status);
    expect(await values()).toEqual(left);
  });

  it("of a sliding window never starts more than its rate in any period, also when a clock that is behind finds a row short", async () => {
    const sliding = { kind: "sliding window", rate: 40, period: 100 } as const;
    const row = { name: "hot", config: sliding };
    await insert(
      { ...row, shard: "0", value: 0, ts: NOW, recent: [{ at: NOW, count: 20 }] },
      { ...row, shard: "1", value: 20, ts: NOW - 40, recent: [] },
    );
    draw(0, 0.99);
    for (const [ms, count, taken] of [
      [-40, 1, 1],
      [1, 40, 19],
      // Of those 40 the one has left the window.
      [60, 40, 1],
    ] as const) {
      vi.setSystemTime(NOW + ms);
      expect(await take({ config: { ...sliding, shards: 2 }, count, atLeast: 0 })).toMatchObject({ taken });
    }
  });

  it.each<[string, count: number, rows: number[], known: object]>([
    ["only that it is allowed, from one row", 1, each(4, 16), {}],
    ["how it stands, too, from all rows together", 10, [4, 16, 16, 16], { remaining: 52, resetAt: NOW + 12 * HOUR }],
    ["how it stands if it is not split yet", 1, [], { remaining: 64, resetAt: NOW }],
  ])("says %s, where another limit denies", async (_what, count, rows, known) => {
    await insert(...rowsOf(rows));
    draw(0, 0.01);
    await adjustRateLimit({ name: "user", key: "in debt", count: 1 });
    const all = await rateLimitAll([
      { name: "hot", count },
      { name: "user", count: 0, key: "in debt" },
    ]);
    const statuses = [
      { ok: true, ...known },
      { ok: false, retryAt: NOW + HOUR, remaining: 0, resetAt: NOW + HOUR },
    ];
    expect(all).toEqual({ ok: false, retryAt: NOW + HOUR, statuses });
    expect((await values()).filter((value) => value !== -1)).toEqual(rows);
  });
});

/** Calls at equal distances meet no other: what is denied here is denied in vain. */
describe.each(placeNames)("calls at once in one mutation, in the %s", (place) => {
  const { define, mutation } = useBackend(place);

  it.each(["fixed window", "sliding window"] as const)(
    "get all that the rows of a %s hold, and no more",
    async (kind) => {
      const config: RateLimitConfig = { kind, rate: 64, period: 1000, shards: { atLeast: 32, atMost: 32 } };
      const { within } = define({ hot: config });
      const statuses = await mutation((ctx) =>
        Promise.all(Array.from({ length: 65 }, () => within(ctx).rateLimit({ name: "hot" }))),
      );
      expect(statuses.filter(({ ok }) => ok)).toHaveLength(64);
    },
  );
});

describe("a window of 300 a second on several rows, called one by one", () => {
  const sliding = { kind: "sliding window", rate: 300, period: 1000, shards: "auto" } as const;
  const fixed = { kind: "fixed window", rate: 300, period: 1000, start: 0, shards: "auto" } as const;
  it.each([
    { config: sliding, perSecond: 240, most: 0.01 },
    { config: sliding, perSecond: 270, most: 0.035 },
    { config: fixed, perSecond: 240, most: 0.01 },
    { config: fixed, perSecond: 270, most: 0.035 },
  ])(
    "is denied in vain $most of $perSecond calls a second at most, $config.kind",
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

describe("a denial of a fast window on two rows", () => {
  const { insert, define } = useBackend("tables");

  it("looks at each of them once", async () => {
    const config = { kind: "fixed window", rate: 64, period: 1000, start: 0 } as const;
    await insert(...rowsOf([0, 0], [10, 10], { ...config, capacity: 64 }));
    const { rateLimit } = define({ hot: { ...config, shards: 2 } });
    vi.setSystemTime(NOW - 5);
    draw(0);
    expect(await rateLimit({ name: "hot" })).toMatchObject({ ok: false });
    expect(Math.random).toHaveBeenCalledTimes(2);
  });
});

describe("a window of 1024 a second on 256 rows, of which each holds three of its four tokens", () => {
  const { insert, define } = useBackend("tables");
  const config = { kind: "fixed window", rate: 1024, period: 1000, start: 0 } as const;

  it.each([1, 20, 21, 40, 51])("serves a count of %i", async (count) => {
    await insert(...rowsOf(each(256, 3), each(256, -1), { ...config, capacity: 1024 }));
    const { rateLimit } = define({ hot: { ...config, shards: 256 } });
    vi.setSystemTime(NOW + 2);
    expect(await rateLimit({ name: "hot", count })).toMatchObject({ ok: true });
  });
});
