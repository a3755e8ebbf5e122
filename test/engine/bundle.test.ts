/** Several requests in one call: requests to the same bucket become one, in any order. */
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import { bundle } from "../../src/engine/bundle.js";
import { parseRequest, type Request } from "../../src/engine/request.js";

const config: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000 };
type Args = Partial<Parameters<typeof parseRequest>[0]>;
const ask = (name: string, args: Args = {}): Request => parseRequest({ name, config, ...args });

describe("a bundle", () => {
  it("has one request for each bucket, which is a name with or without a key", () => {
    const requests = [ask("a"), ask("a", { key: "x" }), ask("b"), ask("a", { key: "x" }), ask("b", { key: '"' })];
    const { summed, partOf } = bundle(requests);
    expect(summed.map(({ limit }) => limit.name)).toEqual(["a", "a", "b", "b"]);
    expect(summed.map(({ key }) => key)).toEqual([undefined, "x", undefined, '"']);
    expect(partOf).toEqual([0, 1, 2, 1, 3]);
  });

  it("keeps the order, and does not change the only request to a bucket", () => {
    const requests = [ask("a", { count: 0 }), ask("b", { reserve: true })];
    const made = bundle(requests);
    expect(made.requests).toEqual(requests);
    expect(made.summed[0]).toBe(requests[0]);
    expect(made.summed[1]).toBe(requests[1]);
    expect(bundle([])).toEqual({ requests: [], summed: [], partOf: [] });
  });

  it("adds up the counts for one bucket; a request without a count asks for 1", () => {
    const [sum] = bundle([ask("a", { count: 2.5 }), ask("a"), ask("a", { count: 0 })]).summed;
    expect(sum?.asked.count).toBe(3.5);
    expect(sum?.demand.units).toBe(3.5 * (sum?.limit.unitsPerToken ?? NaN));
  });

  it("may be given back if one of the requests may", () => {
    const isRefundable = (...asked: (boolean | undefined)[]) =>
      bundle(asked.map((refundable) => ask("a", { refundable }))).summed[0]?.asked.refundable;
    const found = [isRefundable(true, undefined), isRefundable(false, true), isRefundable(false, undefined)];
    expect(found).toEqual([true, true, undefined]);
  });

  it("adds numbers, not units: three requests for 1/3 become one for 1", () => {
    const one = { config: { ...config, capacity: 1 }, count: 1 / 3 };
    const [sum] = bundle([ask("a", one), ask("a", one), ask("a", one)]).summed;
    expect(sum?.demand.units).toBe(sum?.limit.capacity);
  });

  it("reads fast limits last, and limits of the same speed in the order of the call", () => {
    const paced = (name: string, rate: number, period: number) => ask(name, { config: { ...config, rate, period } });
    const requests = [paced("fast", 1000, 1000), paced("slow", 1, 1000), paced("slow too", 60, 60_000)];
    const { summed, partOf } = bundle(requests);
    expect(summed.map(({ limit }) => limit.name)).toEqual(["slow", "slow too", "fast"]);
    expect(partOf).toEqual([2, 0, 1]);
  });

  it("cannot ask one bucket for more than it can ever hold", () => {
    const requests = [ask("a", { count: 6 }), ask("a", { count: 5 })];
    expect(() => bundle(requests)).toThrow('Rate limit "a": count 11 can never be served');
  });

  const days: RateLimitConfig = { kind: "fixed window", rate: 10, period: "day" };
  it.each<[what: string, one: Args, other: Args]>([
    ["with fields in another order", {}, { config: { capacity: 10, period: 1000, rate: 10, kind: "token bucket" } }],
    ["that differ in the number of rows", {}, { config: { ...config, shards: 1 } }],
    ["if one has an undefined field", {}, { config: { ...config, maxReserved: undefined } }],
    ["if one names the default time zone", { config: days }, { config: { ...days, timeZone: "UTC" } }],
    ["if one names the default anchor", { config: days }, { config: { ...days, anchor: 0 } }],
    ["if one names the default of reserve", { reserve: false }, {}],
    ["with the same bound on a reservation", { reserve: { within: 5 } }, { reserve: { within: 5 } }],
    ["if one names the default of shadow", { shadow: false }, {}],
    ["that are both in shadow", { shadow: true }, { shadow: true }],
  ])("makes one request of two %s", (_what, one, other) => {
    const { reserve, shadow } = one;
    expect(bundle([ask("a", one), ask("a", other)]).summed).toMatchObject([
      { asked: { count: 2, ...(reserve && { reserve }), ...(shadow && { shadow }) } },
    ]);
  });

  const same = "must have the same config in all the requests of a call.";
  const consumed = "cannot be asked both to consume and to reserve in the same call.";
  const enforced = "cannot be both enforced and in shadow in the same call.";
  it.each<[problem: string, one: Args, other: Args]>([
    [same, {}, { config: { ...config, rate: 11 } }],
    [same, {}, { config: { ...config, capacity: 11 } }],
    [same, {}, { config: { ...config, maxReserved: 0 } }],
    [same, {}, { config: { ...config, kind: "sliding window" } as RateLimitConfig }],
    [same, {}, { config: { ...config, kind: "fixed window" } }],
    [consumed, {}, { reserve: true }],
    [consumed, { reserve: { within: 5 } }, { reserve: true }],
    [consumed, { reserve: { within: 5 } }, { reserve: { within: 6 } }],
    [enforced, {}, { shadow: true }],
    [enforced, { shadow: false }, { shadow: true }],
  ])("refuses conflicting requests to one bucket, but not to two: one bucket %s %j, %j", (problem, one, other) => {
    const requests = [one, other].map((args) => ask("a", args));
    for (const both of [requests, requests.toReversed()]) {
      expect(() => bundle(both)).toThrow(`Rate limit "a": one bucket ${problem}`);
    }
    expect(bundle([ask("a", one), ask("a", { key: "x", ...other })]).summed).toHaveLength(2);
  });
});
