/** The cost of a call, which is a contract: range reads, documents and hops. The transaction's own metrics measure it. */
import { makeFunctionReference } from "convex/server";
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it, vi } from "vitest";
import type { Cost } from "../support/cost.js";
import { draw } from "../support/draw.js";
import { NOW, useClock } from "../support/clock.js";
import { type Calls, useBackend } from "../support/limits.js";
import { placeNames } from "../support/places.js";

useClock();

/** The number of ranges that a call reads, of documents that it reads, and of documents that it writes. */
type Costs = [ranges: number, documentsRead: number, documentsWritten: number];
type Row = [what: string, taken: number, call: string & keyof Calls, args: object, cost: Costs, answer?: object | null];

/** Calls on a limit of two tokens, after `taken` were taken. Convex reads a document again by its id for a patch and for a delete. */
const onOneRow: Row[] = [
  ["the first call inserts one document", 0, "rateLimit", {}, [1, 0, 1]],
  ["a later call patches one document", 1, "rateLimit", {}, [1, 2, 1]],
  ["a reservation costs what a call costs", 2, "rateLimit", { reserve: true }, [1, 2, 1]],
  ["a denial writes nothing", 2, "rateLimit", {}, [1, 1, 0], { ok: false }],
  ["a call that gets a part costs no more", 0, "rateLimit", { count: 3, atLeast: 1 }, [1, 0, 1], { taken: 2 }],
  ["a call that gets no part writes nothing", 2, "rateLimit", { count: 3, atLeast: 1 }, [1, 1, 0], { ok: false }],
  ["a call in shadow costs what a call costs", 0, "rateLimit", { count: 2, mode: "shadow" }, [1, 0, 1]],
  ["a denial in shadow writes nothing", 2, "rateLimit", { count: 2, mode: "shadow" }, [1, 1, 0]],
  ["a count of 0 writes nothing", 2, "rateLimit", { count: 0 }, [1, 1, 0]],
  ["a check, also in a query", 2, "checkRateLimit", {}, [1, 1, 0], { ok: false }],
  ["a snapshot, also in a query", 2, "getRateLimit", {}, [1, 1, 0], { value: 0 }],
  ["a page of a list, also in a query", 2, "listRateLimits", {}, [1, 1, 0], { cursor: null }],
  ["a charge costs what a call costs", 2, "adjustRateLimit", { count: 3 }, [1, 2, 1]],
  ["a refund costs what a call costs", 2, "adjustRateLimit", { count: -1 }, [1, 2, 1]],
  ["a refund to a full bucket writes nothing", 0, "adjustRateLimit", { count: -1 }, [1, 0, 0]],
  ["a reset deletes the document", 2, "resetRateLimit", {}, [1, 2, 1], null],
  ["a reset of a full bucket writes nothing", 0, "resetRateLimit", {}, [1, 0, 0], null],
];

describe.each(placeNames)("in the %s", (place) => {
  const { rows, define, cost, costInQuery } = useBackend(place);
  const bucket: RateLimitConfig = { kind: "token bucket", rate: 2, period: 1000, maxReserved: 1 };
  const limits = define({ bucket, window: { ...bucket, kind: "fixed window" } });
  /** Checks that a call is one hop into the component, or none in the tables. */
  const shown = ({ hops, ranges, documentsRead, documentsWritten }: Cost): Costs => {
    expect(hops).toBe(place === "tables" ? 0 : 1);
    return [ranges, documentsRead, documentsWritten];
  };
  const costOf = async (call: (calls: Calls) => Promise<unknown>, of = limits) => shown(await cost(of, call));
  const queryCost = async (call: (calls: Calls) => Promise<unknown>, of = limits) => shown(await costInQuery(of, call));

  describe.each(["bucket", "window"])("on one row, %s:", (name) => {
    it.each(onOneRow)("%s", async (_what, count, called, args, expected, answer = { ok: true }) => {
      if (count > 0) await limits.rateLimit({ name, count });
      const call = async (calls: Calls) => {
        const answered = await calls[called]({ name, ...args });
        if (answer) expect(answered).toMatchObject(answer);
        else expect(answered).toBeNull();
      };
      if (/^(check|get|list)/.test(called)) expect(await queryCost(call)).toEqual(expected);
      expect(await costOf(call)).toEqual(expected);
    });
  });

  it("onDecision, throwing, other keys and other limits add no cost", async () => {
    const told = vi.fn();
    const watched = define({ bucket }, { onDecision: told });
    expect(await costOf((calls) => calls.rateLimit({ name: "bucket", count: 2 }), watched)).toEqual([1, 0, 1]);
    expect(told).toHaveBeenCalledOnce();
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

  it("several limits at once read one range each, in one hop, and read a bucket that is named twice only once", async () => {
    const requests = [{ name: "bucket" }, { name: "window", key: "a" }, { name: "bucket" }];
    expect(await costOf((calls) => calls.rateLimitAll(requests))).toEqual([2, 0, 2]);
    expect(await costOf((calls) => calls.rateLimitAll(requests))).toEqual([2, 2, 0]);
    expect(await queryCost((calls) => calls.checkRateLimitAll(requests))).toEqual([2, 2, 0]);
  });

  describe("a bucket of four rows", () => {
    const shards = { atLeast: 4, atMost: 4 };
    const wide = define({
      slow: { kind: "token bucket", rate: 64, period: 64_000_000, shards },
      fast: { kind: "token bucket", rate: 6400, period: 1000, capacity: 64, shards },
      window: { kind: "fixed window", rate: 64, period: 1000, start: 0, shards },
      sliding: { kind: "sliding window", rate: 64, period: 1000, shards },
    });
    const kinds = ["slow", "fast", "window", "sliding"] as const;
    const alwaysDraw = (random: number) => vi.spyOn(Math, "random").mockReturnValue(random);
    /** Takes from the row whose interval contains `random`. */
    const takeAt = (random: number, name: string, count = 1) => {
      alwaysDraw(random);
      return wide.rateLimit({ name, count });
    };
    /** Writes at different times, which split the bucket into four rows. */
    async function splitInFour(name: string, ms = 100) {
      for (const [i, random] of [0, 0, 0.6, 0.9].entries()) {
        vi.setSystemTime(NOW + i * ms);
        await takeAt(random, name);
      }
      expect(await rows()).toHaveLength(4);
      vi.setSystemTime(NOW + 4 * ms);
    }
    const costOfWide = (call: (calls: Calls) => Promise<unknown>) => costOf(call, wide);
    const take = (args: object, ok = true) =>
      costOfWide(async (calls) => {
        expect(await calls.rateLimit(args)).toMatchObject({ ok });
      });
    /** The cost of a denial that draws the first row, and then the third. */
    const deny = (name: string) => {
      draw(0.1, 0.7);
      return take({ name, count: 8 }, false);
    };

    it.each(kinds)("%s: a call, a charge and a refund read one row and write it", async (name) => {
      await splitInFour(name, 1);
      for (const random of [0, 0.3, 0.6, 0.9]) {
        alwaysDraw(random);
        expect(await take({ name }), `${random}`).toEqual([1, 2, 1]);
      }
      alwaysDraw(0.6);
      for (const count of [3, -2]) {
        expect(await costOfWide((calls) => calls.adjustRateLimit({ name, count }))).toEqual([1, 2, 1]);
      }
    });

    it.each(kinds)("%s: a check and a snapshot read all rows in one range, and a reset deletes them", async (name) => {
      await splitInFour(name);
      for (const call of ["checkRateLimit", "getRateLimit"] as const) {
        expect(await queryCost((calls) => calls[call]({ name }), wide)).toEqual([1, 4, 0]);
      }
      expect(await costOfWide((calls) => calls.resetRateLimit({ name }))).toEqual([1, 8, 4]);
    });

    it("fast: a denial reads two rows and writes none", async () => {
      await splitInFour("fast");
      for (const row of [0, 0.3, 0.6, 0.9]) for (const count of [8, 8]) await takeAt(row, "fast", count);
      // The call is a ms later, since rows written in the same ms say nothing about the others.
      vi.setSystemTime(NOW + 401);
      expect(await deny("fast")).toEqual([2, 2, 0]);
    });

    it("slow: a denial reads a row, then another, then all rows, and writes none", async () => {
      await splitInFour("slow", 1);
      // No call leaves a row with less than it took, since that would fold the row.
      for (const row of [0, 0.3, 0.6, 0.9]) for (const count of [7, 3, 2, 1]) await takeAt(row, "slow", count);
      await takeAt(0.3, "slow");
      expect(await rows()).toHaveLength(4);
      expect(await deny("slow")).toEqual([3, 6, 0]);
    });

    it("slow: a bucket runs out on one row, so a denial reads one row and writes none", async () => {
      await splitInFour("slow");
      for (const count of [4, 1]) while ((await wide.rateLimit({ name: "slow", count })).ok);
      // The slow bucket was folded as it ran out. It is one row again, which is read like any other.
      expect(await rows()).toHaveLength(1);
      expect(await take({ name: "slow" }, false)).toEqual([1, 1, 0]);
    });

    it.each([
      { reserve: false, cost: [2, 5, 0] },
      // One row stays and three are deleted. Each is read again by its id.
      { reserve: true, cost: [2, 9, 4] },
    ])("slow: a count above what all rows hold reads one row, and then all once: %j", async ({ reserve, cost }) => {
      await splitInFour("slow");
      expect(await take({ name: "slow", count: 62, reserve }, reserve)).toEqual(cost);
    });

    it("a call whose first row is short reads two rows and writes the second, or both if they share tokens", async () => {
      await splitInFour("slow", 1);
      for (const count of [7, 3, 2, 1]) await takeAt(0, "slow", count);
      await takeAt(0.9, "slow", 7);
      draw(0.1, 0.9);
      // The rows have one token and four: half of the difference is not worth a write.
      expect(await take({ name: "slow", count: 4 })).toEqual([2, 3, 1]);
      await wide.adjustRateLimit({ name: "slow", count: -8 });
      draw(0.1, 0.9);
      expect(await take({ name: "slow", count: 4 })).toEqual([2, 4, 2]);
    });

    it("a call that splits a row writes two rows, and a call that folds rows reads them and deletes all but one", async () => {
      const grown = define({ grown: { kind: "token bucket", rate: 64, period: 64_000_000, shards: 4 } });
      const costAt = (ms: number, random: number) => {
        vi.setSystemTime(NOW + ms);
        alwaysDraw(random);
        return costOf((calls) => calls.rateLimit({ name: "grown" }), grown);
      };
      await costAt(0, 0.9);
      expect(await costAt(10, 0)).toEqual([1, 2, 2]);
      expect(await rows()).toHaveLength(2);
      // The call reads the row, then both rows, and each again by its id.
      expect(await costAt(3000, 0.9)).toEqual([2, 5, 2]);
      expect(await rows()).toHaveLength(1);
    });

    it("several limits at once read one row of each, in one hop", async () => {
      await splitInFour("slow");
      alwaysDraw(0.6);
      const takeBoth = (calls: Calls) => calls.rateLimitAll([{ name: "slow" }, { name: "window", key: "a" }]);
      // The window has no row yet, so it needs a second read. It begins as four rows.
      expect(await costOfWide(takeBoth)).toEqual([3, 2, 5]);
      expect(await costOfWide(takeBoth)).toEqual([2, 4, 2]);
    });

    it.each(kinds)("%s: the first call reads a range for a row, and one to see that there is none", async (name) => {
      expect(await take({ name })).toEqual([2, 0, 4]);
    });
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

  it("a sweep reads a range for each name and batch, plus one for workers in the component, and deletes full buckets", async () => {
    await limits.rateLimit({ name: "bucket", count: 2 });
    const next = makeFunctionReference<"mutation", { cursor?: string }>("sweeps:sweep");
    const sweep = () => costOf((calls) => calls.sweepRateLimits({ next }), define({ bucket }));
    // A sweep reads the first name, its rows, and that no name follows. The component reads them in a separate query.
    expect(await sweep()).toEqual([place === "tables" ? 3 : 4, 2, 0]);
    vi.setSystemTime(NOW + 1000 + 60_000);
    // The component reads the rows that it deletes again, outside of the stale snapshot.
    expect(await sweep()).toEqual(place === "tables" ? [3, 3, 1] : [5, 4, 1]);
  });

  it("a count that is too large costs no read and no write, but a hop into the component", async () => {
    const misuse = (calls: Calls) => expect(calls.rateLimit({ name: "bucket", count: 3 })).rejects.toThrow("never");
    expect(await costOf(misuse)).toEqual([0, 0, 0]);
  });
});
