/** Cases that a random player, a law or an attack found once, or must never find. Each runs in both places. */
import { projectRateLimit } from "convex-rate-limits/client";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { TokensConfig } from "../support/configs.js";
import { T0 } from "./arbitraries.js";
import { type Calls, underFakeClock, type World, worldIn } from "./world.js";
import { placeNames } from "../support/places.js";

type Shards = TokensConfig["shards"];
type Play = (world: World) => Promise<void>;

underFakeClock();
// Jobs do not run, because their timers are fake.
beforeEach(() => {
  vi.useFakeTimers({ now: T0 });
});

const DAY = 86_400_000;
const MINUTE = 60_000;
const yes = { ok: true } as const;

function bucket(fields: { rate?: number; period?: number; capacity?: number; maxReserved?: number } = {}) {
  return { kind: "token bucket", rate: 1, period: MINUTE, capacity: 20, ...fields } as const;
}
function sliding(rate: number, period = 1000) {
  return { kind: "sliding window", rate, period } as const;
}
function fixed(rate: number, fields: { period?: number; start?: number; capacity?: number } = {}) {
  return { kind: "fixed window", rate, period: MINUTE, start: T0, ...fields } as const;
}
function month(rate: number, timeZone = "UTC") {
  return { kind: "fixed window", period: "month", rate, timeZone } as const;
}

const oneRow = [undefined];
const anyRows = [undefined, { atLeast: 16, atMost: 64 }];

/** Plays each case in both places, with each number of rows. The backend also checks arguments, results and documents. */
function examples(shards: readonly Shards[], all: Readonly<Record<string, Play>>): void {
  describe.each(placeNames)("in the %s", (place) => {
    describe.each(Object.entries(all))("%s", (_title, run) => {
      it.each(shards.map((each) => ({ each })))("shards: $each", ({ each }) => run(worldIn(place, each, "whole")));
    });
  });
}

/** The tokens of all rows. */
async function left(world: World, config: TokensConfig): Promise<number | undefined> {
  return projectRateLimit(await world.get({ config }), { now: Date.now(), count: 0 }).remaining;
}

/** Takes tokens that may come back, and returns the refund. */
async function take(world: World, config: TokensConfig, count: number, reserve = false) {
  const status = await world.consume({ config, count, refundable: true, reserve });
  return { config, count: -count, takenAt: status.ok ? status.takenAt : NaN };
}

async function job(world: World, config: TokensConfig) {
  const scheduled = await world.schedule({ config, count: 1 });
  if (!scheduled.ok) throw new Error("not scheduled");
  return scheduled.job;
}

describe("no token is made", () => {
  /** Repeats what must not help, each time before a call for `count` of a day's `capacity`. */
  const rounds =
    (times: number, capacity: number, count: number, help: (calls: Calls, config: TokensConfig) => Promise<void>) =>
    async (world: World) => {
      const config = bucket({ rate: capacity, period: DAY, capacity });
      let granted = 0;
      for (let round = 0; round < times; round++) {
        await world.mutation(async (calls) => {
          await help(calls, config);
          if ((await calls.consume({ config, count })).ok) granted += count;
        });
      }
      expect(granted).toBeLessThanOrEqual(capacity);
      expect(granted).toBeGreaterThan(900);
    };
  examples([64, 32, 2], {
    "by scheduling, cancelling and taking in turn": rounds(60, 1024, 50, async ({ schedule, cancel }, config) => {
      const scheduled = await schedule({ config, count: 100 });
      if (scheduled.ok) await cancel(scheduled.job);
    }),
  });
  examples([16], {
    "by settling up and down in turn": rounds(100, 1000, 40, async ({ adjust }, config) => {
      for (const count of [300, -300]) await adjust({ config, count });
    }),
  });

  examples([undefined, { atLeast: 4 }, { atLeast: 64 }], {
    "by a refund after a downgrade, of what one of its rows does not count as used before": async (world) => {
      const [large, small] = [fixed(64, { capacity: 400 }), fixed(64, { capacity: 64 })];
      const refund = await take(world, large, 400);
      world.setClock(T0 + 3 * MINUTE);
      for (let i = 0; i < 3; i++) await take(world, small, 6);
      await world.adjust({ ...refund, config: small });
      expect(await left(world, small)).toBe(64 - 18);
    },
  });

  examples(oneRow, {
    "by a refund of what a window has half forgotten: the other half comes back, also under a lowered capacity": async (
      world,
    ) => {
      const [large, small] = [fixed(6, { capacity: 20 }), fixed(6, { capacity: 10 })];
      const refund = await take(world, large, 10);
      world.setClock(T0 + MINUTE);
      // Six of the ten came back with this window.
      await take(world, large, 12);
      world.setClock(T0 + MINUTE + 2);
      await world.adjust({ ...refund, config: small });
      expect(await left(world, small)).toBe(8);
      expect(await left(world, large)).toBe(8);
    },

    "by a bucket that owes a third of a day, a charge and its refund": async (world) => {
      const config = fixed(1 / 3, { period: DAY, capacity: 1e5 });
      await world.consume({ config, count: 1e5 });
      await world.adjust({ config, count: 3e5 });
      await world.adjust({ config, count: -3e5 });
      expect(await left(world, config)).toBe(0);
    },
  });
});

describe("waits", () => {
  examples(anyRows, {
    "work that was reserved token by token fills every window and overfills none": async (world) => {
      const starts: number[] = [];
      for (let i = 0; i < 9; i++) {
        const status = await world.consume({ config: fixed(3, { period: 1000 }), reserve: true });
        starts.push((status.retryAt ?? T0) - T0);
      }
      expect(starts).toEqual([0, 0, 0, 1000, 1000, 1000, 2000, 2000, 2000]);
    },
  });

  examples(oneRow, {
    "a charge on more than a lowered sliding window can count is paid in the end": async (world) => {
      const [large, small] = [sliding(1e12), sliding(1)];
      for (const [ms, config] of [large, large, small].entries()) {
        world.setClock(T0 + ms);
        await world.adjust({ config, count: 1e10 });
      }
      expect(await world.check({ config: small })).toMatchObject({ ok: false, remaining: 0, retryAt: T0 + 1002 });
      world.setClock(T0 + 1002);
      expect(await world.check({ config: small })).toMatchObject(yes);
    },

    "a token bucket of an odd rate a millisecond is a limit as one of twice the rate in two": async (world) => {
      for (const period of [2, 1]) {
        const config = bucket({ rate: period * 0.010000000000000002, period, capacity: 0.001, maxReserved: 0 });
        expect(await world.check({ config, count: 0.001 })).toMatchObject(yes);
      }
    },

    "for a debt too large to count, which a larger limit has left, are what the snapshot says": async (world) => {
      const config = fixed(1 / 3, { capacity: 10 / 3 });
      const now = T0 + 2 * MINUTE + 1000;
      await world.adjust({ config: fixed(1e9), count: 1_115_529_859 });
      world.setClock(now);
      const { resetAt, retryAt } = await world.check({ config, count: 1 / 3 });
      const shown = projectRateLimit(await world.get({ config }), { now, count: 1 / 3 });
      expect(shown).toMatchObject({ ok: false, resetAt, retryAt });
    },
  });
});

describe("a pause", () => {
  const until = T0 + 1000;

  examples(oneRow, {
    "under a lowered limit does not forget what was used, which counts if the limit is raised again": async (world) => {
      for (const of of [(rate: number) => fixed(rate, { period: 1000 }), sliding]) {
        world.setClock(T0);
        await world.reset({ config: of(20) });
        await world.consume({ config: of(20), count: 20 });
        world.setClock(T0 + 200);
        await world.pause({ config: of(10), until: T0 + 3200 });
        expect(await left(world, of(20))).toBe(0);
        world.setClock(T0 + 5200);
        expect(await left(world, of(10))).toBe(10);
      }
    },

    // Seed 5013.
    "by a clock behind: what a sliding window held counts from the row's time": async (world) => {
      const config = sliding(10, MINUTE);
      await world.consume({ config, count: 5 });
      world.setClock(T0 + 1);
      await world.consume({ config, count: 5 });
      world.setClock(T0);
      await world.pause({ config, until: T0 + 1 });
      expect(await world.check({ config })).toMatchObject({ ok: false, retryAt: T0 + MINUTE + 1 });
    },

    "before which nothing starts, although a job promised for its end, or later, is cancelled": async (world) => {
      for (const config of [bucket({ period: 1000, capacity: 1 }), fixed(1, { period: 1000 }), sliding(1)]) {
        for (const end of [until - 300, until]) {
          world.setClock(T0);
          await world.reset({ config });
          await world.consume({ config });
          const later = await job(world, config);
          await world.pause({ config, until: end });
          await world.cancel(later);
          world.setClock(end - 1);
          expect(await world.check({ config })).toMatchObject({ ok: false });
        }
      }
    },

    "whose end is more than five years away is misuse": async (world) => {
      const most = T0 + 5 * 366 * DAY;
      const text = 'Rate limit "limit": until must be a number of milliseconds since the epoch at least 0 and at most ';
      const pause = (until: number) => world.pause({ config: bucket(), until });
      for (const until of [NaN, -1, "soon" as never, undefined as never])
        await expect(pause(until)).rejects.toThrow(text);
      await expect(pause(most + 1)).rejects.toThrow(`${text}${most}, got ${most + 1}`);
      await pause(most);
      expect(await world.rows()).toHaveLength(1);
    },
  });

  // Seeds 4002 and 4003: the row's time is the end of the pause.
  describe.each([bucket(), fixed(20)])("of a $kind", (config) => {
    examples(oneRow, {
      "by a clock behind, after which what was taken before does not come back": async (world) => {
        const taken = await take(world, config, 20, true);
        world.setClock(T0 - 1);
        await world.pause({ config, until: T0 });
        await world.adjust(taken);
        expect(await left(world, config)).toBe(0);
      },

      "after a gift in the same pause, and what was taken since the pause comes back": async (world) => {
        await world.pause({ config, until });
        const before = await take(world, config, 1, true);
        await world.adjust({ config, count: -20 });
        const between = await take(world, config, 2, true);
        await world.pause({ config, until: until + 1 });
        const after = [await take(world, config, 3, true), await take(world, config, 4, true)];
        for (const taken of [...after, between, before]) await world.adjust(taken);
        world.setClock(until + 1);
        expect(await left(world, config)).toBe(0);
      },
    });
  });
});

describe("a config that changes", () => {
  examples([...anyRows, { atLeast: 4 }], {
    "a capacity lowered a thousandfold applies at once, also if finer units cannot count the row": async (world) => {
      const daily = (rate: number) => bucket({ rate, period: DAY, capacity: rate });
      expect(await world.consume({ config: daily(1_000_000) })).toMatchObject(yes);
      expect(await world.consume({ config: daily(1000) })).toMatchObject(yes);
      expect(await left(world, daily(1000))).toBe(999);
    },

    "10 of 20 used this month, upgrade to 100,000: 99,990 are left, in any order of plans": async (world) => {
      await world.consume({ config: month(20), count: 10 });
      expect(await left(world, month(100_000))).toBe(99_990);
      await world.consume({ config: month(100_000), count: 90 });
      expect(await left(world, month(20))).toBe(0);
      expect(await left(world, month(1000))).toBe(900);
      // A charge under the small plan counts under the large one.
      await world.adjust({ config: month(20), count: 5 });
      expect(await left(world, month(1000))).toBe(895);
      world.setClock(T0 + 31 * DAY);
      expect(await left(world, month(100_000))).toBe(100_000);
      // February pays the small plan's debt of 5. What else was used in January is no use of February.
      await world.consume({ config: month(20), count: 5 });
      expect(await left(world, month(100_000))).toBe(99_990);
    },

    "a customer who moves loses hours, not a month": async (world) => {
      const [before, after] = [month(1000, "America/Los_Angeles"), month(1000, "Europe/Berlin")];
      await world.consume({ config: before, count: 1 });
      world.setClock(T0 + 20 * DAY);
      expect(await world.consume({ config: before, count: 1000 })).toMatchObject(yes);
      // January began at 08:00 UTC there, and in Berlin February begins at 23:00 UTC the day before: 9 of 744 hours are missing.
      world.setClock(T0 + 31 * DAY - 60 * MINUTE);
      expect(await left(world, after)).toBe(987);
      world.setClock(T0 + 59 * DAY);
      expect(await left(world, after)).toBe(1000);
    },
  });

  // Of several rows those that no call has written keep theirs.
  examples(oneRow, {
    "tokens that a lowered capacity let go by stay away when it is raised again": async (world) => {
      const plan = (capacity: number) => bucket({ period: 60 * MINUTE, capacity });
      await world.consume({ config: plan(100), count: 10 });
      expect(await world.consume({ config: plan(5), count: 1 })).toMatchObject(yes);
      expect(await left(world, plan(5))).toBe(4);
      expect(await left(world, plan(100))).toBe(4);
    },
  });
});

describe.each(placeNames)("where clocks disagree, in the %s", (place) => {
  const config = sliding(40);
  const halves = ["0", "1"].map((shard) => ({
    name: "limit",
    shard,
    value: 20,
    ts: T0 - 200,
    recent: [],
    bucket: "sliding window 1000",
  }));
  const [FIRST, SECOND] = [0, 0.99];

  it.each([
    { on: "one row", rows: [], shards: 1 },
    { on: "two rows", rows: halves, shards: { atLeast: 2, atMost: 2 } },
  ])("on $on a clock 300 ms ahead begins a window 300 ms early, with or without refunds", async ({ rows, shards }) => {
    const world = worldIn(place, shards, "whole");
    for (const row of rows) await world.plant(row);
    const goes = async (row: number, ms: number) => {
      world.setClock(T0 + ms);
      world.draw(row);
      return (await world.consume({ config })).ok;
    };
    const went: boolean[] = [];
    for (let i = 0; i < 20; i++) went.push(await goes(FIRST, -200));
    for (let i = 0; i < 20; i++) went.push(await goes(SECOND, 650));
    // It is 700; a clock that shows 1000 sees the first twenty leave.
    expect(await goes(FIRST, 700)).toBe(false);
    went.push(await goes(FIRST, 1000));
    for (let i = 0; i < 19; i++) {
      went.push(await goes(FIRST, 700));
      world.draw(SECOND);
      await world.adjust({ config, count: -1 });
      went.push(await goes(SECOND, 700));
    }
    expect(went).not.toContain(false);
    // From 650 to 700, less than 700 ms, 40 have started and were not given back: the rate, and no more on two rows than on one.
    expect(await goes(FIRST, 700)).toBe(false);
    expect(await goes(SECOND, 700)).toBe(false);
  });
});
