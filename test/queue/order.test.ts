/** The order of jobs: within a priority class, between classes, and if only the heads of the lists were read. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { inTurns, mergeClasses, roundsOf } from "../../src/queue/order.js";
import { forAny } from "../support/random.js";

const NS = 1_000_000;

interface Job {
  readonly _id: never;
  readonly at: bigint;
  readonly priority: number;
  readonly count: number;
}

/** The jobs of one priority class, by the ms at which they arrived. */
const jobsAt = (priority: number, ...ms: number[]): Job[] =>
  ms.map((at) => ({ _id: `${priority}/${at}` as never, at: BigInt(at * NS), priority, count: 1 }));

const labels = (jobs: Iterable<Job>) => Array.from(jobs, ({ _id }) => _id as string);

const inOrder = (lists: Job[][], aging: number) => mergeClasses(lists, aging, Infinity).first;

const classes = fc
  .array(fc.uniqueArray(fc.nat(50), { maxLength: 8 }), { minLength: 1, maxLength: 3 })
  .map((lists) => lists.map((ms, priority) => jobsAt(priority, ...[...ms].sort((a, b) => a - b))));

describe("the order between classes", () => {
  it.each([
    ["the older goes first", 0, [jobsAt(0, 5), jobsAt(1, 6)], ["0/5", "1/6"]],
    ["each priority level counts as the aging", 10, [jobsAt(0, 5), jobsAt(1, 14)], ["1/14", "0/5"]],
    ["the higher of two jobs of equal age goes first", 10, [jobsAt(0, 5), jobsAt(1, 15)], ["1/15", "0/5"]],
    ["a job that arrived later than the aging waits", 10, [jobsAt(0, 5), jobsAt(1, 16)], ["0/5", "1/16"]],
    ["two levels count as twice the aging", 10, [jobsAt(0, 5), [], jobsAt(2, 24)], ["2/24", "0/5"]],
    ["a class waits for its head", 10, [jobsAt(0, 5, 6), jobsAt(1, 16, 15)], ["0/5", "1/16", "1/15", "0/6"]],
  ])("%s", (_what, aging, lists, expected) => {
    const all = labels(inOrder(lists, aging));
    expect(all.slice(0, 2)).toEqual(expected.slice(0, 2));
    expect([...all].sort()).toEqual([...expected].sort());
  });

  it("keeps the order of each class, and only jobs that arrive within the aging overtake an older one", () => {
    forAny([classes, fc.nat(30)], 100, (lists, aging) => {
      const order = inOrder(lists, aging);
      for (const list of lists) expect(order.filter((job) => list.includes(job))).toEqual(list);
      for (const [i, job] of order.entries()) {
        for (const overtaken of order.slice(i + 1)) {
          const later = Number(job.at - overtaken.at) / NS;
          if (later > 0) expect(later).toBeLessThanOrEqual((job.priority - overtaken.priority) * aging);
        }
      }
      expect(order).toHaveLength(lists.flat().length);
    });
  });

  it("from the heads of the lists is a prefix of the whole order", () => {
    forAny([classes, fc.nat(30), fc.integer({ min: 1, max: 6 })], 100, (lists, aging, share) => {
      const whole = labels(inOrder(lists, aging));
      const { first, hasMore } = mergeClasses(
        lists.map((list) => list.slice(0, share)),
        aging,
        share,
      );
      expect(labels(first)).toEqual(whole.slice(0, first.length));
      // Without more jobs it is the whole order; with more, it includes one cut list completely.
      if (!hasMore) expect(first).toHaveLength(whole.length);
      else expect(first.length).toBeGreaterThanOrEqual(share);
    });
  });
});

it("users whose jobs wait get equally many tokens, however large their jobs are", () => {
  const jobsOf = (fairBy: string, count: number) =>
    Array.from({ length: 60 }, () => ({ fairBy, count, priority: 0, at: 0n }) as never);
  const served = { large: 0, small: 0 };
  for (const { fairBy, count } of inTurns([], roundsOf([...jobsOf("large", 100), ...jobsOf("small", 10)], []))) {
    // The small jobs are 600 tokens in all.
    if (served.small < 600) expect(Math.abs(served.large - served.small)).toBeLessThanOrEqual(110);
    served[fairBy as keyof typeof served] += count;
  }
  expect(served).toEqual({ large: 6000, small: 600 });
});
