// @vitest-environment edge-runtime
import fc from "fast-check";
import { fromHeader, fromQuery } from "convex-rate-limits/http";
import { describe, expect, it } from "vitest";
import { forAll, tell, tokens } from "./backend.js";
import { forAny } from "../support/random.js";

type CostBounds = Parameters<typeof fromQuery>[1];
/** The cost that these values give under the bounds. By default, the limit's capacity is larger than any bound in this file. */
type Costs = (bounds: CostBounds, values: string[], capacity?: number) => unknown;
const inHeader: Costs = (bounds, values, capacity = 1000) => {
  const headers = values.map((value): [string, string] => ["X-Cost", value]);
  return fromHeader("X-Cost", bounds)(new Request("https://api.example/", { headers }), capacity);
};
const inQuery: Costs = (bounds, values, capacity = 1000) => {
  const query = new URLSearchParams(values.map((value) => ["cost", value])).toString();
  return fromQuery("cost", bounds)(new Request(`https://api.example/?${query}`), capacity);
};

const bounds: CostBounds = { default: 5, min: 2, max: 100 };
const NO_NUMBERS = ["", "-1", "-50", "+50", "1e9", "0x20", "NaN", "Infinity", "7 8", "seven", "7;8", ".5", "5.", "9."];
type Row = [string[], number, bounds?: CostBounds, capacity?: number];
const sources = Object.entries({ "a header": inHeader, "a query parameter": inQuery });
describe.each(sources)("a cost from %s", (_, costOf) => {
  it.each<Row>([
    ...["7", " 7 ", "7.5", "100"].map((value): Row => [[value], Number(value)]),
    ...["0", "1.99", "0000"].map((below): Row => [[below], 2]),
    ...["101", "9".repeat(400)].map((above): Row => [[above], 100]),
    ...NO_NUMBERS.map((none): Row => [[none], 5]),
    [[], 5],
    // The largest of several values counts. A value that is no number counts as the default.
    [["3", "50", "4"], 50],
    [["3", "x"], 5],
    // With a default alone, the cost is at least 1 (or the default, if that is smaller) and at most the limit's capacity.
    ...["0", "1"].map((low): Row => [[low], 1, { default: 7 }, 50]),
    ...["50", "51"].map((high): Row => [[high], 50, { default: 7 }, 50]),
    [["0"], 0.5, { default: 0.5 }, 50],
    // A default that the limit cannot hold is not lowered, so the request is refused.
    [[], 7, { default: 7 }, 5],
    [["1"], 3, { default: 7, min: 3 }, 50],
    [["10"], 9, { default: 7, max: 9 }, 50],
  ])("of %j is %d (%j, %s)", (values, expected, held = bounds, capacity = 1000) => {
    expect(costOf(held, values, capacity)).toBe(expected);
  });

  it("is within the bounds for every text that a client sends", () => {
    forAny([fc.array(fc.string({ unit: "grapheme-ascii" }))], 100, (values) => {
      const count = costOf(bounds, values);
      expect(count).toBeGreaterThanOrEqual(2);
      expect(count).toBeLessThanOrEqual(100);
    });
  });
});

const refused = [{ min: 6 }, { max: 4 }, { min: -1 }, { max: Infinity }].map((wrong) => ({ ...bounds, ...wrong }));
it.each([...refused, ...[-1, NaN, Infinity].map((wrong) => ({ default: wrong }))])("bounds cannot be %o", (wrong) => {
  expect(() => fromHeader("X-Cost", wrong)).toThrow("0 <= min <= default <= max");
});

const ofBody = async (request: Request) => ((await request.clone().json()) as unknown[]).length;
tell({
  "a cost can be read from the body, and the handler can still read the body": {
    limits: forAll("items", tokens(5), { cost: ofBody }),
    handler: async (_ctx, request) => new Response(await request.text()),
    calls: 2,
    steps: [
      async ({ send }) => {
        const post = async (items: string[]) => await send("/", { method: "POST", body: JSON.stringify(items) });
        expect(await (await post(["a", "b", "c"])).text()).toBe('["a","b","c"]');
        expect((await post(new Array<string>(6).fill("a"))).status).toBe(403);
      },
    ],
  },
});
