/** The cost of a call, which is a contract: range reads, documents and hops. The transaction's own metrics measure it. */
import { makeFunctionReference } from "convex/server";
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it, vi } from "vitest";
import type { Cost } from "../support/cost.js";
import { draw } from "../support/draw.js";
import { NOW, useClock } from "../support/clock.js";
import { type Calls, useBackend } from "../support/limits.js";
import { partsOf } from "../support/parts.js";
import { placeNames } from "../support/places.js";

useClock();

/** The number of ranges that a call reads, of documents that it reads, and of documents that it writes. */
type Costs = [ranges: number, documentsRead: number, documentsWritten: number];
type Called = string & keyof Calls;
type Row = [what: string, taken: number, call: Called, args: object, cost: Costs, answer?: object];

/** Calls on a limit of two tokens, after `taken` were taken. Convex reads a document again by its id for a patch and for a delete. */
const onOneRow: Row[] = [
  ["the first call inserts one document", 0, "rateLimit", {}, [1, 0, 1]],
  ["a later call patches one document", 1, "rateLimit", {}, [1, 2, 1]],
  ["a reservation costs what a call costs", 2, "rateLimit", { reserve: true }, [1, 2, 1]],
  ["a denial writes nothing", 2, "rateLimit", {}, [1, 1, 0], { ok: false }],
  ["a count that is too large writes nothing", 1, "rateLimit", { count: 3 }, [1, 1, 0], { ok: false }],
  ["a call in shadow costs what a call costs", 0, "rateLimit", { count: 2, mode: "shadow" }, [1, 0, 1]],
  ["a denial in shadow writes nothing", 2, "rateLimit", { count: 2, mode: "shadow" }, [1, 1, 0]],
  ["a count of 0 writes nothing", 2, "rateLimit", { count: 0 }, [1, 1, 0]],
  ["a check, also in a query", 2, "checkRateLimit", {}, [1, 1, 0], { ok: false }],
  ["a snapshot, also in a query", 2, "getRateLimit", {}, [1, 1, 0], { value: 0 }],
  ["a page of a list, also in a query", 2, "listRateLimits", {}, [1, 1, 0], { cursor: null }],
  ["a charge costs what a call costs", 2, "adjustRateLimit", { count: 3 }, [1, 2, 1]],
  ["a refund costs what a call costs", 2, "adjustRateLimit", { count: -1 }, [1, 2, 1]],
  ["a refund to a full bucket writes nothing", 0, "adjustRateLimit", { count: -1 }, [1, 0, 0]],
];

const pausing = { until: NOW + 5000 };
const blocking = { block: true };
/** What an operator does to a bucket of one row, of no row, of four, and to one of which tokens may come back. */
const decisions: [what: string, call: Called, args: object, one: Costs, none: Costs, four: Costs, back: Costs][] = [
  ["a pause", "pauseRateLimit", pausing, [1, 0, 1], [1, 0, 1], [1, 0, 1], [1, 0, 1]],
  ["an override", "overrideRateLimit", blocking, [1, 0, 1], [1, 0, 1], [1, 0, 1], [1, 0, 1]],
  ["clearing no override", "clearRateLimitOverride", {}, [1, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0]],
  // It deletes a row, and writes the control row of several rows, or of one that remembers when tokens were taken.
  ["a reset", "resetRateLimit", {}, [2, 3, 1], [1, 0, 0], [2, 1, 1], [3, 3, 2]],
];

const shards = { atLeast: 4, atMost: 4 };
const onFour = {
  slow: { kind: "token bucket", rate: 64, period: 64_000_000, shards },
  fast: { kind: "token bucket", rate: 6400, period: 1000, capacity: 64, shards },
  fixed: { kind: "fixed window", rate: 64, period: 1000, start: 500, shards },
  sliding: { kind: "sliding window", rate: 64, period: 1000, shards },
} as const;
type Wide = keyof typeof onFour;
const full = [16, 16, 16, 16];
const each = (value: number) => [value, value, value, value];

type Draws = readonly number[];
/** Calls on four rows, which were written a ms ago. The draws choose the rows that a call reads, by default the first and the last. */
const onFourRows: [
  what: string,
  name: Wide,
  held: number[],
  call: Called,
  args: object,
  Costs,
  ok?: boolean,
  Draws?,
][] = [
  ["a call reads a row and the control row's range", "slow", full, "rateLimit", {}, [2, 2, 1]],
  ["so does a call of a fast limit", "fast", full, "rateLimit", {}, [2, 2, 1]],
  ["so does a call of a fixed window", "fixed", full, "rateLimit", {}, [2, 2, 1]],
  ["so does a call of a sliding window", "sliding", full, "rateLimit", {}, [2, 2, 1]],
  ["so does a reservation", "slow", full, "rateLimit", { reserve: true }, [2, 2, 1]],
  ["so does a charge", "slow", full, "adjustRateLimit", { count: 3 }, [2, 2, 1]],
  ["so does a refund", "slow", each(9), "adjustRateLimit", { count: -2 }, [2, 2, 1]],
  ["a settlement of nothing writes nothing", "slow", full, "adjustRateLimit", { count: 0 }, [2, 1, 0]],
  ["so does a check, and writes nothing", "slow", full, "checkRateLimit", {}, [2, 1, 0]],
  ["so does a count of 0", "slow", full, "rateLimit", { count: 0 }, [2, 1, 0]],
  ["so does a count that is too large", "slow", full, "rateLimit", { count: 65 }, [2, 1, 0], false],
  ["a denial of a fast limit reads two rows", "fast", each(0), "rateLimit", { count: 8 }, [3, 2, 0], false],
  ["so does a check", "fast", each(0), "checkRateLimit", { count: 8 }, [3, 2, 0], false],
  ["a denial of a slow limit then reads all", "slow", each(0), "rateLimit", {}, [4, 6, 0], false],
  ["a denial of a window reads one after another", "fixed", each(0), "rateLimit", {}, [5, 4, 0], false, [0, 0.3, 0.6]],
  ["a reservation on two empty rows owes on one", "slow", each(0), "rateLimit", { reserve: true }, [3, 3, 1]],
  ["a charge that two rows do not hold is paid by them", "slow", each(1), "adjustRateLimit", { count: 9 }, [3, 4, 2]],
  ["a call whose first row is short writes the second", "slow", [1, 4, 4, 4], "rateLimit", { count: 2 }, [3, 3, 1]],
  ["or both if they share tokens", "slow", [0, 16, 16, 16], "rateLimit", { count: 4 }, [3, 4, 2]],
  ["a large count reads the rows around one, and merges", "slow", full, "rateLimit", { count: 40 }, [3, 9, 5]],
  [
    "a large count that they do not hold reads them once",
    "slow",
    each(9),
    "rateLimit",
    { count: 62 },
    [3, 5, 0],
    false,
  ],
  ["a snapshot reads all rows in one range", "slow", full, "getRateLimit", {}, [1, 4, 0]],
  ["a page of a list does", "slow", full, "listRateLimits", {}, [1, 4, 0]],
];

describe.each(placeNames)("in the %s", (place) => {
  const { rows, define, insert, cost, costInQuery } = useBackend(place);
  const bucket: RateLimitConfig = { kind: "token bucket", rate: 2, period: 1000, maxReserved: 1 };
  const limits = define({ bucket, window: { ...bucket, kind: "fixed window" }, ...onFour });
  /** Checks that a call is one hop into the component, or none in the tables. */
  const shown = ({ hops, ranges, documentsRead, documentsWritten }: Cost): Costs => {
    expect(hops).toBe(place === "tables" ? 0 : 1);
    return [ranges, documentsRead, documentsWritten];
  };
  const costOf = async (call: (calls: Calls) => Promise<unknown>, of = limits) => shown(await cost(of, call));
  const queryCost = async (call: (calls: Calls) => Promise<unknown>) => shown(await costInQuery(limits, call));
  const split = (name: Wide, values: readonly number[]) => {
    const { kind, period } = onFour[name];
    const row = { name, ts: NOW - 1, ...(kind !== "token bucket" && { bucket: `${kind} ${period}` }) };
    return insert(...values.map((value, i) => ({ ...row, value, shard: partsOf(2)[i] ?? "" })));
  };

  describe.each(["bucket", "window"])("on one row, %s:", (name) => {
    it.each(onOneRow)("%s", async (_what, count, called, args, expected, answer = { ok: true }) => {
      if (count > 0) await limits.rateLimit({ name, count });
      const call = async (calls: Calls) => {
        expect(await calls[called]({ name, ...args })).toMatchObject(answer);
      };
      if (/^(check|get|list)/.test(called)) expect(await queryCost(call)).toEqual(expected);
      expect(await costOf(call)).toEqual(expected);
    });
  });

  it.each(onOneRow)(
    "a control row is one document more, in the same range: %s",
    async (_what, count, called, args, expected) => {
      if (count > 0) await limits.rateLimit({ name: "bucket", count });
      await limits.overrideRateLimit({ name: "bucket", unlimited: true, until: NOW + 1 });
      // It has ended, but no sweep has deleted it. A token needs half a second.
      vi.setSystemTime(NOW + 1);
      const [ranges, read, written] = expected;
      const call = (calls: Calls) => calls[called]({ name: "bucket", ...args });
      expect(await costOf(call)).toEqual([ranges, read + 1, written]);
    },
  );

  it.each(decisions)("%s costs the same, whatever the calls", async (_what, called, args, ...costs) => {
    await limits.rateLimit({ name: "bucket", key: "one" });
    await limits.rateLimit({ name: "bucket", key: "back", refundable: true });
    await split("slow", full);
    const buckets = [
      { name: "bucket", key: "one" },
      { name: "bucket", key: "none" },
      { name: "slow" },
      { name: "bucket", key: "back" },
    ];
    for (const [i, id] of buckets.entries()) {
      expect(await costOf((calls) => calls[called]({ ...id, ...args })), JSON.stringify(id)).toEqual(costs[i]);
    }
  });

  it.each([
    ["another config", { config: { ...bucket, rate: 9 } }, {}, [1, 3, 1]],
    ["more tokens", { more: 9 }, {}, [1, 3, 1]],
    ["no limit", { unlimited: true }, { count: 9 }, [1, 3, 1]],
    ["a block", { block: true }, {}, [1, 2, 0]],
    ["a block that ends", { block: true, until: NOW + 1 }, {}, [1, 2, 0]],
  ] as const)(
    "a call under %s reads the row and the control row in one range",
    async (_what, terms, args, expected) => {
      await limits.rateLimit({ name: "bucket" });
      await limits.overrideRateLimit({ name: "bucket", ...terms });
      expect(await costOf((calls) => calls.rateLimit({ name: "bucket", ...args }))).toEqual(expected);
    },
  );

  it("throwing, other keys and other limits add no cost", async () => {
    await limits.rateLimit({ name: "bucket", count: 2 });
    for (let i = 0; i < 100; i++) await limits.rateLimit({ name: i < 50 ? "bucket" : "window", key: `user ${i % 50}` });
    const deny = (calls: Calls) => expect(calls.rateLimit({ name: "bucket", throws: true })).rejects.toThrow();
    expect(await costOf(deny)).toEqual([1, 1, 0]);
  });

  it("a page of a list reads the rows of its keys and one more, and none more after the last", async () => {
    for (const key of ["a", "b", "c", "d"]) await limits.rateLimit({ name: "bucket", key });
    const list = (limit: number) => queryCost((calls) => calls.listRateLimits({ name: "bucket", limit }));
    expect([await list(2), await list(4)]).toEqual([
      [1, 3, 0],
      [1, 4, 0],
    ]);
  });

  it("several limits at once read what each reads alone, in one hop", async () => {
    await split("fast", full);
    draw();
    const requests = [{ name: "bucket", count: 2 }, { name: "window", key: "a" }, { name: "fast" }];
    expect(await costOf((calls) => calls.rateLimitAll(requests))).toEqual([4, 2, 3]);
    expect(await costOf((calls) => calls.rateLimitAll(requests))).toEqual([4, 3, 0]);
    expect(await queryCost((calls) => calls.checkRateLimitAll(requests))).toEqual([4, 3, 0]);
  });

  it("rows of another kind that a deploy has left cost ranges, not rows, and a block holds beside them", async () => {
    const left = { name: "slow", value: 8, ts: NOW - 1, bucket: "fixed window 1000" };
    await insert(...partsOf(3).map((shard) => ({ ...left, shard })));
    const take = (calls: Calls) => calls.rateLimit({ name: "slow" });
    // The first call finds no row of its limit, and reads all. The next one reads the parts around its point.
    draw();
    expect(await costOf(take)).toEqual([15, 10, 4]);
    draw();
    expect(await costOf(take)).toEqual([14, 4, 1]);
    await limits.overrideRateLimit({ name: "slow", block: true });
    expect(await limits.rateLimit({ name: "slow" })).toMatchObject({ ok: false, reason: "blocked" });
  });

  it.each(onFourRows)(
    "on four rows, %s: %s, %j",
    async (_what, name, held, called, args, expected, ok = true, draws = [0]) => {
      await split(name, held);
      draw(...draws);
      const call = async (calls: Calls) => {
        const answer = await calls[called]({ name, ...args });
        if ("ok" in (answer as object)) expect(answer).toMatchObject({ ok });
      };
      expect(await costOf(call)).toEqual(expected);
      if (!/^(adjust|rateLimit)/.test(called)) expect(await queryCost(call)).toEqual(expected);
    },
  );

  it("a bucket that may be split reads one range while it is one row, and two when it begins or is split", async () => {
    const grown = define({ grown: { kind: "token bucket", rate: 64, period: 64_000_000, shards: 4 } });
    const costAt = (ms: number, random: number, name: Called = "rateLimit", args = {}) => {
      vi.setSystemTime(NOW + ms);
      vi.spyOn(Math, "random").mockReturnValue(random);
      return costOf((calls) => calls[name]({ name: "grown", ...args }), grown);
    };
    expect(await costAt(0, 0.9)).toEqual([2, 0, 1]);
    expect(await costAt(1, 0.9, "checkRateLimit")).toEqual([1, 1, 0]);
    expect(await costAt(2, 0.9, "rateLimit", { count: 64 })).toEqual([1, 1, 0]);
    expect(await costAt(3, 0.9, "adjustRateLimit", { count: 1 })).toEqual([1, 2, 1]);
    // It is split, since the last call was a few ms before, and merged when it is cold.
    expect(await costAt(10, 0)).toEqual([1, 2, 3]);
    expect(await rows()).toHaveLength(2);
    // The call reads the row, the control row's range and both rows.
    expect(await costAt(3000, 0.9)).toEqual([3, 5, 3]);
    expect(await rows()).toHaveLength(1);
    // The control row comes after that of the whole.
    await grown.pauseRateLimit({ name: "grown", until: NOW + 3001 });
    expect(await costAt(4000, 0.9)).toEqual([2, 3, 0]);
  });

  it("a scheduled job costs a call, and cancelling it costs an adjustment", async () => {
    const run = makeFunctionReference<"mutation">("jobs:run");
    let job: unknown;
    const schedule = async (calls: Calls) => {
      const scheduled = await calls.scheduleRateLimited({ name: "bucket", count: 3 }, run, {});
      job = scheduled.ok && scheduled.job;
    };
    expect(await costOf(schedule)).toEqual([1, 0, 1]);
    // The row, which is read twice for a patch, and the job's state, which is read by its id.
    expect(await costOf((calls) => calls.cancelRateLimited(job))).toEqual([2, 3, 1]);
  });

  it("a sweep reads a range for each name and batch, none for queues if it names none, and deletes full buckets", async () => {
    await limits.rateLimit({ name: "bucket", count: 2 });
    const next = makeFunctionReference<"mutation", { cursor?: string }>("sweeps:sweep");
    const sweep = () => costOf((calls) => calls.sweepRateLimits({ next }), define({ bucket }));
    // A sweep reads the first name, its rows, and that no name follows.
    expect(await sweep()).toEqual([3, 2, 0]);
    vi.setSystemTime(NOW + 1000 + 60_000);
    // The component reads the rows that it deletes again, outside of the stale snapshot.
    expect(await sweep()).toEqual(place === "tables" ? [3, 3, 1] : [4, 4, 1]);
  });
});
