/** Several requests in one call: the order in which they are read. */
import { expect, it } from "vitest";
import { bucketOf, type Request, requestTo } from "../../src/engine/request.js";
import { orderOf } from "../../src/engine/requests.js";

const ask = (name: string, rate: number, period: number, key?: string) =>
  requestTo(bucketOf({ name, key, config: { kind: "token bucket", rate, period } }), {});

const placesOf = (requests: readonly Request[]) => orderOf(requests).map(([place]) => place);

it("fast limits are read last, and limits of the same speed in the order of the call", () => {
  const requests = [ask("fast", 1000, 1000), ask("slow", 1, 1000), ask("slow too", 60, 60_000)];
  expect(placesOf(requests)).toEqual([1, 2, 0]);
  expect(orderOf([])).toEqual([]);
});

it("one bucket may be asked once; one limit may be asked at several keys", () => {
  const [plain, keyed, other] = [ask("a", 1, 1), ask("a", 1, 1, "x"), ask("a", 1, 1, '"')];
  expect(placesOf([plain, keyed, other])).toEqual([0, 1, 2]);
  for (const twice of [plain, keyed]) {
    const problem = 'Rate limit "a": one bucket may be asked once in a call: add the counts.';
    expect(() => orderOf([other, twice, twice])).toThrow(problem);
  }
});
