import fc from "fast-check";
import { type CostBounds, fixed, fromHeader, fromQuery, type HttpCost } from "convex-rate-limits/http";
import { describe, expect, it } from "vitest";

const bounds: CostBounds = { default: 5, min: 2, max: 100 };

function withHeader(...values: string[]): Request {
  return new Request("https://api.example/", { headers: values.map((value): [string, string] => ["X-Cost", value]) });
}

function withQuery(...values: string[]): Request {
  return new Request(`https://api.example/?${new URLSearchParams(values.map((value) => ["cost", value])).toString()}`);
}

it("a fixed cost is the same for every request", () => {
  expect(fixed(3)(withHeader("1"))).toBe(3);
});

describe.each<[string, HttpCost, (...values: string[]) => Request]>([
  ["a header", fromHeader("X-Cost", bounds), withHeader],
  ["a query parameter", fromQuery("cost", bounds), withQuery],
])("a cost from %s", (_, cost, requestWith) => {
  it.each([
    ["7", 7],
    [" 7 ", 7],
    ["7.5", 7.5],
    ["100", 100],
  ])("is what %j says", (value, expected) => {
    expect(cost(requestWith(value))).toBe(expected);
  });

  it.each(["0", "1.99", "0000"])("is the minimum when %j is below it", (value) => {
    expect(cost(requestWith(value))).toBe(2);
  });

  it.each(["101", "9".repeat(400)])("is the maximum when it is above", (value) => {
    expect(cost(requestWith(value))).toBe(100);
  });

  it.each(["", "-1", "-50", "+50", "1e9", "0x20", "NaN", "Infinity", "7 8", "seven", "7;8", ".5", "5."])(
    "is the default when %j is no number",
    (value) => {
      expect(cost(requestWith(value))).toBe(5);
    },
  );

  it("is the default when nothing is said", () => {
    expect(cost(requestWith())).toBe(5);
  });

  it("is the largest of several, where garbage stands for the default", () => {
    expect(cost(requestWith("3", "50", "4"))).toBe(50);
    expect(cost(requestWith("3", "x"))).toBe(5);
  });

  it("is never outside of the bounds, whatever is sent", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme-ascii" })), (values) => {
        const count = cost(requestWith(...values));
        expect(count).toBeGreaterThanOrEqual(2);
        expect(count).toBeLessThanOrEqual(100);
      }),
    );
  });
});

it("bounds that contradict each other are refused at once", () => {
  for (const wrong of [{ min: 6 }, { max: 4 }, { min: -1 }, { max: Infinity }, { default: NaN }]) {
    expect(() => fromHeader("X-Cost", { ...bounds, ...wrong })).toThrow("0 <= min <= default <= max");
  }
  expect(() => fixed(-1)).toThrow("at least 0");
});
