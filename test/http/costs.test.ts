// @vitest-environment edge-runtime
import fc from "fast-check";
import { fromHeader, fromQuery } from "convex-rate-limits/http";
import { describe, expect, it } from "vitest";
import { forAll, tell, tokens } from "./backend.js";
import { forAny } from "../support/random.js";

type CostBounds = Parameters<typeof fromQuery>[1];
/** The cost that these values give under the bounds, whatever the limit's capacity is. */
type Costs = (bounds: CostBounds, values: string[]) => unknown;
const inHeader: Costs = (bounds, values) => {
  const headers = values.map((value): [string, string] => ["X-Cost", value]);
  return fromHeader("X-Cost", bounds)(new Request("https://api.example/", { headers }), 1);
};
const inQuery: Costs = (bounds, values) => {
  const query = new URLSearchParams(values.map((value) => ["cost", value])).toString();
  return fromQuery("cost", bounds)(new Request(`https://api.example/?${query}`), 1);
};

const bounds: CostBounds = { default: 5, min: 2, max: 100 };
/** Texts that some handler may read as a number, and perhaps as a large one. */
const NO_NUMBERS = ["-1", "-50", "+50", "1e9", "0x20", "NaN", "Infinity", "7 8", "50 days", "seven", "7;8", ".5", "5."];
type Row = [string[], number, bounds?: CostBounds];
const sources = Object.entries({ "a header": inHeader, "a query parameter": inQuery });
describe.each(sources)("a cost from %s", (_, costOf) => {
  it.each<Row>([
    ...["7", " 7 ", "7.5", "100"].map((value): Row => [[value], Number(value)]),
    ...["0", "1.99", "0000"].map((below): Row => [[below], 2]),
    ...["101", "9".repeat(400)].map((above): Row => [[above], 100]),
    ...[[], [""], [" ", ""]].map((none): Row => [none, 5]),
    // The largest of several values counts. One that is no number makes the request a bad one.
    [["3", "50", "", "4"], 50],
    ...NO_NUMBERS.flatMap((none): Row[] => [
      [[none], NaN],
      [["3", none, "50"], NaN],
    ]),
    // With a default alone, the cost is at least 1 (or the default, if that is smaller), and may exceed the capacity.
    ...["0", "1"].map((low): Row => [[low], 1, { default: 7 }]),
    ...["50", "1000000"].map((high): Row => [[high], Number(high), { default: 7 }]),
    [["9".repeat(400)], Infinity, { default: 7 }],
    [["0"], 0.5, { default: 0.5 }],
    [[], 7, { default: 7 }],
    [["1"], 3, { default: 7, min: 3 }],
    [["10"], 9, { default: 7, max: 9 }],
  ])("of %j is %d (%j)", (values, expected, held = bounds) => {
    expect(costOf(held, values)).toBe(expected);
  });

  it("is within the bounds, or refused, for every text that a client sends", () => {
    forAny([fc.array(fc.string({ unit: "grapheme-ascii" }))], 100, (values) => {
      const count = costOf(bounds, values);
      expect(Number.isNaN(count) || (Number(count) >= 2 && Number(count) <= 100)).toBe(true);
    });
  });
});

const refused = [{ min: 6 }, { max: 4 }, { min: -1 }, { max: Infinity }].map((wrong) => ({ ...bounds, ...wrong }));
it.each([...refused, ...[-1, NaN, Infinity].map((wrong) => ({ default: wrong }))])("bounds cannot be %o", (wrong) => {
  const message =
    /^cost: (needs 0 <= min <= default <= max|(default|min|max) must be a finite number of at least 0), got/;
  expect(() => fromHeader("X-Cost", wrong)).toThrow(message);
});

it.each([undefined, null, "", 7])("the name of a query parameter cannot be %j, which no request has", (name) => {
  const message = "cost: the query parameter must be a name, got";
  expect(() => fromQuery(name as never, { default: 1 })).toThrow(message);
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
