import { describe, expect, it } from "vitest";
import type { BucketConfig } from "../oracle.js";
import { ExactBucket, falseDenials, meanWait, overGrant, possible } from "../oracle.js";

/** 1 token a second, at most 5. */
const bucket: BucketConfig = { kind: "token bucket", rate: 1, period: 1000, capacity: 5 };
/** 3 tokens at each whole 10 s, at most 5. */
const windows: BucketConfig = { kind: "fixed window", rate: 3, period: 10_000, capacity: 5, start: 0 };

const at = (atMs: number, count = 1) => ({ atMs, count });
const burst = (atMs: number, calls: number) => Array.from({ length: calls }, () => at(atMs));

// libraries.test.ts compares the oracle with the decisions of this package on one row.
it("the oracle's bucket adds a fixed window's tokens at the window's start, also for windows before `start`", () => {
  for (const start of [0, 70_000]) {
    const exact = new ExactBucket({ ...windows, start });
    expect(exact.take(at(12_000, 5))).toBe(true);
    expect(exact.take(at(19_999))).toBe(false);
    expect(exact.take(at(20_000, 3))).toBe(true);
    expect(exact.take(at(49_999, 5))).toBe(true);
  }
});

it("the oracle's bucket does not change while the clock steps back", () => {
  const exact = new ExactBucket(bucket);
  expect(exact.take(at(10_000, 5))).toBe(true);
  expect(exact.take(at(5_000))).toBe(false);
  expect(exact.take(at(10_999))).toBe(false);
  expect(exact.take(at(11_000))).toBe(true);
});

it("the oracle's bucket returns how long a debt takes to be paid", () => {
  const exact = new ExactBucket({ ...bucket, rate: 3, period: 1000, capacity: 1 });
  expect([at(0), at(0), at(0)].map((grant) => exact.charge(grant))).toEqual([0, 334, 667]);
  const whole = new ExactBucket(windows);
  expect([5, 1, 2, 1].map((count) => whole.charge(at(4000, count)))).toEqual([0, 6000, 6000, 16_000]);
});

it("the oracle's bucket throws on numbers that it cannot count exactly", () => {
  expect(() => new ExactBucket({ ...bucket, capacity: 1 / 3 })).toThrow("decimals");
  expect(() => new ExactBucket({ ...bucket, period: 0.5 })).toThrow();
});

describe("the oracle's verdict", () => {
  it.each([
    ["is 0 without grants", bucket, [], 0, 0],
    ["is 0 for all that a bucket grants", bucket, [...burst(0, 5), at(1000), at(2000), ...burst(20_000, 5)], 0, 0],
    ["is 0 for all that windows grant", windows, [...burst(9999, 5), ...burst(10_000, 3)], 0, 0],
    ["is the excess of a burst", bucket, burst(0, 6), 0, 1],
    ["is the excess of a burst in a window", windows, burst(9999, 6), 0, 1],
    ["is the excess of the worst interval", bucket, [...burst(0, 7), ...burst(60_000, 6)], 0, 2],
    ["is the part of a token that had not come", bucket, [...burst(0, 5), at(999)], 0, 0.001],
    ["orders grants by their times, not by their commits", bucket, [at(1000), ...burst(0, 5)], 0, 0],
    ["tolerates clocks that differ by the allowed skew", bucket, [...burst(0, 5), at(940)], 60, 0],
    ["does not tolerate clocks that differ by more", bucket, [...burst(0, 5), at(940)], 59, 0.001],
  ])("%s", (_what, limit, grants, skewMs, expected) => {
    expect(overGrant(limit, grants, skewMs)).toBeCloseTo(expected, 12);
  });

  it("compares with what one bucket would have granted, first come, first served, also from a given time on", () => {
    expect(possible(bucket, [at(0, 4), at(0, 2), at(0, 1)])).toBe(5);
    const calls = [...burst(0, 9), at(1000), at(1500), at(2000)];
    expect([possible(bucket, calls), possible(bucket, calls, 1000)]).toEqual([7, 2]);
  });

  it("counts the denials at a time when the tokens were there", () => {
    expect(falseDenials(bucket, burst(0, 5), [at(0), at(999), at(1000), at(1999, 2)])).toBe(1);
    expect(falseDenials(bucket, [...burst(0, 4), at(5)], [at(4), at(5)])).toBe(1);
    expect(falseDenials(bucket, [], [at(0, 6)])).toBe(0);
  });

  it("computes the mean wait of reservations", () => {
    expect(meanWait({ ...bucket, capacity: 1 }, burst(0, 4))).toBe(1500);
  });
});
