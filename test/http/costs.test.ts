// @vitest-environment edge-runtime
import fc from "fast-check";
import { type CostBounds, fromHeader, fromQuery, type HttpCost } from "convex-rate-limits/http";
import { describe, expect, it } from "vitest";
import { tell } from "./stories.js";

const bounds: CostBounds = { default: 5, min: 2, max: 100 };

/** More than any bound here. */
const CAPACITY = 1000;

function withHeader(...values: string[]): Request {
  return new Request("https://api.example/", { headers: values.map((value): [string, string] => ["X-Cost", value]) });
}

function withQuery(...values: string[]): Request {
  return new Request(`https://api.example/?${new URLSearchParams(values.map((value) => ["cost", value])).toString()}`);
}

describe.each<[string, HttpCost, (...values: string[]) => Request]>([
  ["a header", fromHeader("X-Cost", bounds), withHeader],
  ["a query parameter", fromQuery("cost", bounds), withQuery],
])("a cost from %s", (_, cost, requestWith) => {
  it.each<[string[], number]>([
    [["7"], 7],
    [[" 7 "], 7],
    [["7.5"], 7.5],
    [["100"], 100],
    ...["0", "1.99", "0000"].map((below): [string[], number] => [[below], 2]),
    ...["101", "9".repeat(400)].map((above): [string[], number] => [[above], 100]),
    ...["", "-1", "-50", "+50", "1e9", "0x20", "NaN", "Infinity", "7 8", "seven", "7;8", ".5", "5."].map(
      (none): [string[], number] => [[none], 5],
    ),
    [[], 5],
    // The largest of several, where garbage stands for the default.
    [["3", "50", "4"], 50],
    [["3", "x"], 5],
  ])("of %j is %d", (values, expected) => {
    expect(cost(requestWith(...values), CAPACITY)).toBe(expected);
  });

  it("is never outside of the bounds, whatever is sent", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme-ascii" })), (values) => {
        const count = cost(requestWith(...values), CAPACITY);
        expect(count).toBeGreaterThanOrEqual(2);
        expect(count).toBeLessThanOrEqual(100);
      }),
    );
  });
});

describe("a default alone", () => {
  const cost = fromQuery("cost", { default: 7 });

  it("is held to at least 1 and at most the limit's capacity", () => {
    const of = (value: string) => cost(withQuery(value), 50);
    expect([of("0"), of("1"), of("50"), of("51"), of("x")]).toEqual([1, 1, 50, 50, 7]);
    expect(fromQuery("cost", { default: 0.5 })(withQuery("0"), 50)).toBe(0.5);
  });

  it("that the limit cannot hold stays what it is, so that the request is refused", () => {
    expect(cost(withQuery(), 5)).toBe(7);
  });

  it("may have one bound", () => {
    expect(fromQuery("cost", { default: 7, min: 3 })(withQuery("1"), 50)).toBe(3);
    expect(fromQuery("cost", { default: 7, max: 9 })(withQuery("10"), 50)).toBe(9);
  });
});

it.each([{ min: 6 }, { max: 4 }, { min: -1 }, { max: Infinity }, { default: NaN }])("bounds refuse %o", (wrong) => {
  expect(() => fromHeader("X-Cost", { ...bounds, ...wrong })).toThrow("0 <= min <= default <= max");
});
it.each([-1, NaN, Infinity])("a default alone cannot be %d", (wrong) => {
  expect(() => fromHeader("X-Cost", { default: wrong })).toThrow("0 <= min <= default <= max");
});

tell({
  "a cost may be read from the body, and the handler reads it, too": {
    limits: {
      limit: "items",
      by: "everyone",
      config: { kind: "fixed window", rate: 5, period: 1000 },
      cost: async (request: Request) => ((await request.clone().json()) as unknown[]).length,
    },
    handler: async (_ctx, request) => new Response(await request.text()),
    calls: 1,
    steps: [
      async ({ send }) => {
        const post = async (items: string[]) => await send("/", { method: "POST", body: JSON.stringify(items) });
        expect(await (await post(["a", "b", "c"])).text()).toBe('["a","b","c"]');
        expect((await post(new Array<string>(6).fill("a"))).status).toBe(403);
      },
    ],
  },
});
