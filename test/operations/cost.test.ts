/** What a call costs, held as a contract: range reads, documents, hops. Measured with the transaction's own metrics. */
import { makeFunctionReference } from "convex/server";
import type { RateLimitedJob } from "convex-rate-limits";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type AnyRateLimits,
  type Backend,
  defineIn,
  placeNames,
  type MutationCtx,
  openBackend,
  type QueryCtx,
  rowsIn,
} from "../support/places.js";
import { costOf } from "../support/cost.js";
import { draw } from "../support/draw.js";

const NOW = 1_700_000_000_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

describe.each(placeNames)("in the %s", (place) => {
  const hops = place === "tables" ? 0 : 1;
  const limits = defineIn(place, {
    bucket: { kind: "token bucket", rate: 2, period: 1000, maxReserved: 1 },
    window: { kind: "fixed window", rate: 2, period: 1000, maxReserved: 1 },
  });
  const names = ["bucket", "window"] as const;

  it.each(names)("%s: the first call reads one range and inserts one document", async (name) => {
    const t = openBackend();
    const cost = await t.mutation(async (ctx) => await costOf(ctx, (c) => limits.rateLimit(c, { name })));
    expect(cost).toEqual({ ranges: 1, documentsRead: 0, documentsWritten: 1, hops });
  });

  it.each(names)("%s: a later call reads one range and patches one document", async (name) => {
    const t = openBackend();
    await t.mutation(async (ctx) => await limits.rateLimit(ctx, { name }));
    const cost = await t.mutation(async (ctx) => await costOf(ctx, (c) => limits.rateLimit(c, { name })));
    // A patch reads the document again, by its id: the platform's doing.
    expect(cost).toEqual({ ranges: 1, documentsRead: 2, documentsWritten: 1, hops });
  });

  it.each(names)("%s: a reservation costs what a call costs", async (name) => {
    const t = await used(limits, name);
    const reserve = (c: MutationCtx) => limits.rateLimit(c, { name, reserve: true });
    const cost = await t.mutation(async (ctx) => await costOf(ctx, reserve));
    expect(cost).toEqual({ ranges: 1, documentsRead: 2, documentsWritten: 1, hops });
  });

  it.each(names)("%s: a denial reads one range and writes nothing", async (name) => {
    const t = await used(limits, name);
    const deny = (c: MutationCtx) => limits.rateLimit(c, { name });
    expect(await t.mutation(deny)).toMatchObject({ ok: false });
    const cost = await t.mutation(async (ctx) => await costOf(ctx, deny));
    expect(cost).toEqual({ ranges: 1, documentsRead: 1, documentsWritten: 0, hops });
  });

  it.each(names)("%s: a denial that throws costs no more", async (name) => {
    const t = await used(limits, name);
    const deny = async (c: MutationCtx) => {
      await expect(limits.rateLimit(c, { name, throws: true })).rejects.toThrow();
    };
    const cost = await t.mutation(async (ctx) => await costOf(ctx, deny));
    expect(cost).toEqual({ ranges: 1, documentsRead: 1, documentsWritten: 0, hops });
  });

  it.each(names)("%s: a part costs what the whole costs", async (name) => {
    const t = openBackend();
    const take = (c: MutationCtx) => limits.rateLimit(c, { name, count: 3, atLeast: 1 });
    const first = await t.mutation(async (ctx) => await costOf(ctx, take));
    expect(first).toEqual({ ranges: 1, documentsRead: 0, documentsWritten: 1, hops });
    const denied = await t.mutation(async (ctx) => await costOf(ctx, take));
    expect(denied).toEqual({ ranges: 1, documentsRead: 1, documentsWritten: 0, hops });
  });

  it.each(names)("%s: in shadow a call costs what an enforced one costs, and a denial writes nothing", async (name) => {
    const t = openBackend();
    const take = async (c: MutationCtx) => {
      expect(await limits.rateLimit(c, { name, count: 2, mode: "shadow" })).toMatchObject({ ok: true });
    };
    const first = await t.mutation(async (ctx) => await costOf(ctx, take));
    expect(first).toEqual({ ranges: 1, documentsRead: 0, documentsWritten: 1, hops });
    const denied = await t.mutation(async (ctx) => await costOf(ctx, take));
    expect(denied).toEqual({ ranges: 1, documentsRead: 1, documentsWritten: 0, hops });
  });

  it("onDecision costs nothing", async () => {
    const told = vi.fn();
    const watched = defineIn(place, { bucket: { kind: "token bucket", rate: 2, period: 1000 } }, { onDecision: told });
    const take = (c: MutationCtx) => watched.rateLimit(c, { name: "bucket" });
    const cost = await openBackend().mutation(async (ctx) => await costOf(ctx, take));
    expect(cost).toEqual({ ranges: 1, documentsRead: 0, documentsWritten: 1, hops });
    expect(told).toHaveBeenCalledOnce();
  });

  it.each(names)("%s: a count of 0 writes nothing", async (name) => {
    const t = await used(limits, name);
    const ask = (c: MutationCtx) => limits.rateLimit(c, { name, count: 0 });
    const cost = await t.mutation(async (ctx) => await costOf(ctx, ask));
    expect(cost).toEqual({ ranges: 1, documentsRead: 1, documentsWritten: 0, hops });
  });

  it.each(names)("%s: check and get read one range, in a query and in a mutation", async (name) => {
    const t = await used(limits, name);
    const calls = [
      (c: QueryCtx) => limits.checkRateLimit(c, { name }),
      (c: QueryCtx) => limits.getRateLimit(c, { name }),
    ];
    for (const call of calls) {
      const expected = { ranges: 1, documentsRead: 1, documentsWritten: 0, hops };
      expect(await t.query(async (ctx) => await costOf(ctx, call))).toEqual(expected);
      expect(await t.mutation(async (ctx) => await costOf(ctx, call))).toEqual(expected);
    }
  });

  it.each(names)("%s: a reset reads one range and deletes what is there", async (name) => {
    const t = await used(limits, name);
    const reset = (c: MutationCtx) => limits.resetRateLimit(c, { name });
    // A delete reads the document again, as a patch does.
    const expected = { ranges: 1, documentsRead: 2, documentsWritten: 1, hops };
    expect(await t.mutation(async (ctx) => await costOf(ctx, reset))).toEqual(expected);
    const again = { ranges: 1, documentsRead: 0, documentsWritten: 0, hops };
    expect(await t.mutation(async (ctx) => await costOf(ctx, reset))).toEqual(again);
  });

  it("several limits at once read one range each, in one hop, and a bucket that is named twice is read once", async () => {
    const t = openBackend();
    const requests = [{ name: "bucket" }, { name: "window", key: "a" }, { name: "bucket" }];
    const take = (c: MutationCtx) => limits.rateLimitAll(c, requests);
    const check = (c: QueryCtx) => limits.checkRateLimitAll(c, requests);
    const first = await t.mutation(async (ctx) => await costOf(ctx, take));
    expect(first).toEqual({ ranges: 2, documentsRead: 0, documentsWritten: 2, hops });
    const denied = { ranges: 2, documentsRead: 2, documentsWritten: 0, hops };
    expect(await t.mutation(async (ctx) => await costOf(ctx, take))).toEqual(denied);
    expect(await t.query(async (ctx) => await costOf(ctx, check))).toEqual(denied);
  });

  it.each(names)(
    "%s: an adjustment costs what a call costs, and nothing is written where there is nothing to do",
    async (name) => {
      const t = await used(limits, name);
      for (const count of [3, -1]) {
        const adjust = (c: MutationCtx) => limits.adjustRateLimit(c, { name, count });
        const cost = await t.mutation(async (ctx) => await costOf(ctx, adjust));
        expect(cost).toEqual({ ranges: 1, documentsRead: 2, documentsWritten: 1, hops });
      }
      const full = (c: MutationCtx) => limits.adjustRateLimit(c, { name, key: "full", count: -1 });
      const cost = await t.mutation(async (ctx) => await costOf(ctx, full));
      expect(cost).toEqual({ ranges: 1, documentsRead: 0, documentsWritten: 0, hops });
    },
  );

  describe("a bucket of four rows", () => {
    const wide = defineIn(place, {
      slow: { kind: "token bucket", rate: 64, period: 64_000_000, shards: { atLeast: 4, atMost: 4 } },
      fast: { kind: "token bucket", rate: 6400, period: 1000, capacity: 64, shards: { atLeast: 4, atMost: 4 } },
      window: { kind: "fixed window", rate: 64, period: 1000, start: 0, shards: { atLeast: 4, atMost: 4 } },
      sliding: { kind: "sliding window", rate: 64, period: 1000, shards: { atLeast: 4, atMost: 4 } },
    });
    const kinds = ["slow", "fast", "window", "sliding"] as const;
    /** Writes at different moments split a row until there are four, each with this many tokens taken. */
    async function splitInFour(name: string, ms = 100) {
      const t = openBackend();
      vi.spyOn(Math, "random").mockReturnValue(0.9);
      for (const [i, random] of [0, 0, 0.6, 0.9].entries()) {
        vi.setSystemTime(NOW + i * ms);
        vi.spyOn(Math, "random").mockReturnValue(random);
        await t.mutation(async (ctx) => await wide.rateLimit(ctx, { name }));
      }
      expect((await rowsIn(place, t)).map(({ shard }) => shard)).toHaveLength(4);
      vi.setSystemTime(NOW + 4 * ms);
      return t;
    }
    afterEach(() => {
      vi.restoreAllMocks();
    });
    /** Takes from the row that this number lies in. */
    async function takeAt(t: Backend, name: string, random: number, count: number): Promise<void> {
      vi.spyOn(Math, "random").mockReturnValue(random);
      await t.mutation(async (ctx) => await wide.rateLimit(ctx, { name, count }));
    }
    /** A denial that comes upon the first row, and then on the third. */
    const costOfDenial = (t: Backend, name: string) =>
      t.mutation(
        async (ctx) =>
          await costOf(ctx, async (c: MutationCtx) => {
            draw(0.1, 0.7);
            expect(await wide.rateLimit(c, { name, count: 8 })).toMatchObject({ ok: false });
          }),
      );
    const one = { ranges: 1, documentsRead: 2, documentsWritten: 1, hops };

    it.each(kinds)("%s: a call reads one row and writes it", async (name) => {
      const t = await splitInFour(name);
      for (const random of [0, 0.3, 0.6, 0.9]) {
        vi.spyOn(Math, "random").mockReturnValue(random);
        const cost = await t.mutation(async (ctx) => await costOf(ctx, (c) => wide.rateLimit(c, { name })));
        expect({ random, ...cost }).toEqual({ random, ...one });
      }
    });

    it.each(kinds)("%s: a charge and a refund read one row and write it", async (name) => {
      const t = await splitInFour(name, 1);
      vi.spyOn(Math, "random").mockReturnValue(0.6);
      for (const count of [3, -2]) {
        const adjust = (c: MutationCtx) => wide.adjustRateLimit(c, { name, count });
        expect({ count, ...(await t.mutation(async (ctx) => await costOf(ctx, adjust))) }).toEqual({ count, ...one });
      }
    });

    it.each(kinds)("%s: a check and a snapshot read the four rows in one range", async (name) => {
      const t = await splitInFour(name);
      const all = { ranges: 1, documentsRead: 4, documentsWritten: 0, hops };
      const calls = [
        (c: QueryCtx) => wide.checkRateLimit(c, { name }),
        (c: QueryCtx) => wide.getRateLimit(c, { name }),
      ];
      for (const call of calls) {
        expect(await t.query(async (ctx) => await costOf(ctx, call))).toEqual(all);
      }
    });

    it("fast: a denial reads two rows and writes none", async () => {
      const t = await splitInFour("fast");
      for (const row of [0, 0.3, 0.6, 0.9]) for (const count of [8, 8]) await takeAt(t, "fast", row, count);
      // A few ms later, since rows that were written this very ms tell nothing of the others.
      vi.setSystemTime(NOW + 401);
      const cost = await costOfDenial(t, "fast");
      expect(cost).toEqual({ ranges: 2, documentsRead: 2, documentsWritten: 0, hops });
    });

    it("slow: a denial reads a row, another, and all, and writes none", async () => {
      const t = await splitInFour("slow", 1);
      // No call leaves a row with less than it took: that would fold it.
      for (const row of [0, 0.3, 0.6, 0.9]) for (const count of [7, 3, 2, 1]) await takeAt(t, "slow", row, count);
      await takeAt(t, "slow", 0.3, 1);
      expect(await rowsIn(place, t)).toHaveLength(4);
      const cost = await costOfDenial(t, "slow");
      expect(cost).toEqual({ ranges: 3, documentsRead: 6, documentsWritten: 0, hops });
    });

    it("slow: a bucket runs out on one row, so that a denial reads one, and writes none", async () => {
      const t = await splitInFour("slow");
      await t.mutation(async (ctx) => {
        while ((await wide.rateLimit(ctx, { name: "slow", count: 4 })).ok);
        while ((await wide.rateLimit(ctx, { name: "slow" })).ok);
      });
      const deny = async (c: MutationCtx) => {
        expect(await wide.rateLimit(c, { name: "slow" })).toMatchObject({ ok: false });
      };
      const cost = await t.mutation(async (ctx) => await costOf(ctx, deny));
      // As it ran out the slow bucket was folded: it is one row again, which is read as any.
      expect(await rowsIn(place, t)).toHaveLength(1);
      expect(cost).toEqual({ ranges: 1, documentsRead: 1, documentsWritten: 0, hops });
    });

    it("slow: a count for which all rows are short reads a row, and all of them once; denied or reserved", async () => {
      for (const [reserve, written] of [
        [false, { documentsRead: 5, documentsWritten: 0 }],
        // One row stays, three are deleted; each is read again by its id.
        [true, { documentsRead: 9, documentsWritten: 4 }],
      ] as const) {
        const t = await splitInFour("slow");
        const ask = async (c: MutationCtx) => {
          expect((await wide.rateLimit(c, { name: "slow", count: 62, reserve })).ok).toBe(reserve);
        };
        expect(await t.mutation(async (ctx) => await costOf(ctx, ask))).toEqual({ ranges: 2, ...written, hops });
      }
    });

    it("a call whose first row is short reads two, and writes the second; both where the two share", async () => {
      const t = await splitInFour("slow", 1);
      for (const count of [7, 3, 2, 1]) await takeAt(t, "slow", 0, count);
      const take = async (c: MutationCtx) => {
        draw(0.1, 0.9);
        expect(await wide.rateLimit(c, { name: "slow", count: 4 })).toEqual({ ok: true });
      };
      await takeAt(t, "slow", 0.9, 7);
      // One token and four: half of the difference is not worth a write.
      const alone = await t.mutation(async (ctx) => await costOf(ctx, take));
      expect(alone).toEqual({ ranges: 2, documentsRead: 3, documentsWritten: 1, hops });
      await t.mutation(async (ctx) => await wide.adjustRateLimit(ctx, { name: "slow", count: -8 }));
      const shared = await t.mutation(async (ctx) => await costOf(ctx, take));
      expect(shared).toEqual({ ranges: 2, documentsRead: 4, documentsWritten: 2, hops });
    });

    it("a call whose row splits writes two, and one whose rows fold reads them and deletes all but one", async () => {
      const t = openBackend();
      const grown = defineIn(place, { grown: { kind: "token bucket", rate: 64, period: 64_000_000, shards: 4 } });
      const costAt = async (ms: number, random: number) => {
        vi.setSystemTime(NOW + ms);
        vi.spyOn(Math, "random").mockReturnValue(random);
        return await t.mutation(async (ctx) => await costOf(ctx, (c) => grown.rateLimit(c, { name: "grown" })));
      };
      await costAt(0, 0.9);
      expect(await costAt(10, 0)).toEqual({ ranges: 1, documentsRead: 2, documentsWritten: 2, hops });
      expect(await rowsIn(place, t)).toHaveLength(2);
      // The row, then both; each is read again by its id.
      expect(await costAt(3000, 0.9)).toEqual({ ranges: 2, documentsRead: 5, documentsWritten: 2, hops });
      expect(await rowsIn(place, t)).toHaveLength(1);
    });

    it.each(kinds)("%s: a reset reads one range and deletes the four rows", async (name) => {
      const t = await splitInFour(name);
      const cost = await t.mutation(async (ctx) => await costOf(ctx, (c) => wide.resetRateLimit(c, { name })));
      expect(cost).toEqual({ ranges: 1, documentsRead: 8, documentsWritten: 4, hops });
    });

    it("several limits at once read one row of each, in one hop", async () => {
      const t = await splitInFour("slow");
      vi.spyOn(Math, "random").mockReturnValue(0.6);
      const take = (c: MutationCtx) => wide.rateLimitAll(c, [{ name: "slow" }, { name: "window", key: "a" }]);
      // The window has no row yet, which takes a second read, and begins as four.
      const first = await t.mutation(async (ctx) => await costOf(ctx, take));
      expect(first).toEqual({ ranges: 3, documentsRead: 2, documentsWritten: 5, hops });
      const later = await t.mutation(async (ctx) => await costOf(ctx, take));
      expect(later).toEqual({ ranges: 2, documentsRead: 4, documentsWritten: 2, hops });
    });

    it.each(kinds)(
      "%s: the first call reads one range for a row, and another to see that there is none",
      async (name) => {
        const t = openBackend();
        const cost = await t.mutation(async (ctx) => await costOf(ctx, (c) => wide.rateLimit(c, { name })));
        expect(cost).toEqual({ ranges: 2, documentsRead: 0, documentsWritten: 4, hops });
      },
    );
  });

  it("a scheduled job costs a call, and its cancelling an adjustment", async () => {
    const t = openBackend();
    const run = makeFunctionReference<"mutation">("jobs:run");
    const cost = await t.mutation(async (ctx) => {
      let job: RateLimitedJob | undefined;
      const scheduled = await costOf(ctx, async (c) => {
        const result = await limits.scheduleRateLimited(c, { name: "bucket", count: 3 }, run, {});
        if (result.ok) job = result.job;
      });
      const canceled = await costOf(ctx, async (c) => job && (await limits.cancelRateLimited(c, job)));
      return { scheduled, canceled };
    });
    expect(cost.scheduled).toEqual({ ranges: 1, documentsRead: 0, documentsWritten: 1, hops });
    // The row, twice as ever, and the job's state, which is looked up by its id.
    expect(cost.canceled).toEqual({ ranges: 2, documentsRead: 3, documentsWritten: 1, hops });
  });

  it("a page of a list reads one range", async () => {
    const t = await used(limits, "bucket");
    const list = (c: QueryCtx) => limits.listRateLimits(c, { name: "bucket" });
    const cost = await t.query(async (ctx) => await costOf(ctx, list));
    expect(cost).toEqual({ ranges: 1, documentsRead: 1, documentsWritten: 0, hops });
  });

  it("a sweep reads a range for each name and batch, in the component that of workers as well, and deletes what is full", async () => {
    const t = await used(limits, "bucket");
    const one = defineIn(place, { bucket: { kind: "token bucket", rate: 2, period: 1000, maxReserved: 1 } });
    const next = makeFunctionReference<"mutation", { cursor?: string }>("sweeps:sweep");
    const sweep = (c: MutationCtx) => one.sweepRateLimits(c, { next });
    const idle = await t.mutation(async (ctx) => await costOf(ctx, sweep));
    // The first name, its rows, and that no name follows. In the component they are read in a query of its own.
    const found = place === "tables" ? 3 : 4;
    expect(idle).toEqual({ ranges: found, documentsRead: 2, documentsWritten: 0, hops });
    vi.setSystemTime(NOW + 1000 + 60_000);
    const full = await t.mutation(async (ctx) => await costOf(ctx, sweep));
    // The component reads what it deletes again, outside of the stale snapshot.
    const [ranges, documentsRead] = place === "tables" ? [3, 3] : [5, 4];
    expect(full).toEqual({ ranges, documentsRead, documentsWritten: 1, hops });
  });

  it("other keys and other limits cost nothing", async () => {
    const t = openBackend();
    await t.mutation(async (ctx) => {
      for (let i = 0; i < 50; i++) await limits.rateLimit(ctx, { name: "bucket", key: `user ${i}` });
      for (let i = 0; i < 50; i++) await limits.rateLimit(ctx, { name: "window", key: `user ${i}` });
    });
    const call = (c: MutationCtx) => limits.rateLimit(c, { name: "bucket", key: "user 7" });
    const cost = await t.mutation(async (ctx) => await costOf(ctx, call));
    expect(cost).toEqual({ ranges: 1, documentsRead: 2, documentsWritten: 1, hops });
  });

  it("misuse costs no read and no write; a count that is too large is found in the component, after a hop", async () => {
    const t = openBackend();
    const misuse = async (c: MutationCtx) => {
      await expect(limits.rateLimit(c, { name: "bucket", count: 3 })).rejects.toThrow("never");
    };
    const cost = await t.mutation(async (ctx) => await costOf(ctx, misuse));
    expect(cost).toEqual({ ranges: 0, documentsRead: 0, documentsWritten: 0, hops });
  });
});

/** A backend in which the limit's two tokens are gone. */
async function used({ rateLimit }: AnyRateLimits, name: string) {
  const t = openBackend();
  await t.mutation(async (ctx) => await rateLimit(ctx, { name, count: 2 }));
  return t;
}
