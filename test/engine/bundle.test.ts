/** Several requests in one call: those to one bucket are one, whatever their order. */
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import { bundle } from "../../src/engine/bundle.js";
import { parseRequest, type Request } from "../../src/engine/request.js";

const config: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000 };
const ask = (name: string, args: Partial<Parameters<typeof parseRequest>[0]> = {}): Request =>
  parseRequest({ name, config, ...args });

describe("a bundle", () => {
  it("has one request to each bucket: a name and a key, or none", () => {
    const requests = [ask("a"), ask("a", { key: "x" }), ask("b"), ask("a", { key: "x" }), ask("b", { key: '"' })];
    const { summed, partOf } = bundle(requests);
    expect(summed.map(({ limit, key }) => [limit.name, key])).toEqual([
      ["a", undefined],
      ["a", "x"],
      ["b", undefined],
      ["b", '"'],
    ]);
    expect(partOf).toEqual([0, 1, 2, 1, 3]);
  });

  it("keeps a request that is alone in its bucket as it is, and all in their order", () => {
    const requests = [ask("a", { count: 0 }), ask("b", { reserve: true })];
    const made = bundle(requests);
    expect(made.requests).toEqual(requests);
    expect(made.summed[0]).toBe(requests[0]);
    expect(made.summed[1]).toBe(requests[1]);
    expect(bundle([])).toEqual({ requests: [], summed: [], partOf: [] });
  });

  it("adds up what is asked of one bucket; a request without a count asks for 1", () => {
    const [sum] = bundle([ask("a", { count: 2.5 }), ask("a"), ask("a", { count: 0 })]).summed;
    expect(sum?.asked.count).toBe(3.5);
    expect(sum?.demand.units).toBe(3.5 * (sum?.limit.unitsPerToken ?? NaN));
  });

  it("adds numbers, not units: three requests of a third are one of 1", () => {
    const one = { config: { ...config, capacity: 1 }, count: 1 / 3 };
    const [sum] = bundle([ask("a", one), ask("a", one), ask("a", one)]).summed;
    expect(sum?.demand.units).toBe(sum?.limit.capacity);
  });

  it("reads fast limits last, and limits of one pace in the order of the call", () => {
    const paced = (name: string, rate: number, period: number) => ask(name, { config: { ...config, rate, period } });
    const requests = [paced("fast", 1000, 1000), paced("slow", 1, 1000), paced("slow too", 60, 60_000)];
    const { summed, partOf } = bundle(requests);
    expect(summed.map(({ limit }) => limit.name)).toEqual(["slow", "slow too", "fast"]);
    expect(partOf).toEqual([2, 0, 1]);
  });

  it("cannot ask one bucket for more than it can ever hold", () => {
    expect(() => bundle([ask("a", { count: 6 }), ask("a", { count: 5 })])).toThrow(
      'Rate limit "a": count 11 can never be served',
    );
  });

  it("cannot ask one bucket under two configs; the order of the fields and defaults that are spelt out do not matter", () => {
    const spelt: RateLimitConfig = { shards: 1, capacity: 10, period: 1000, rate: 10, kind: "token bucket" };
    expect(bundle([ask("a"), ask("a", { config: spelt })]).summed).toHaveLength(1);
    expect(bundle([ask("a"), ask("a", { config: { ...config, maxReserved: undefined } })]).summed).toHaveLength(1);
    const others: RateLimitConfig[] = [
      { ...config, rate: 11 },
      { ...config, capacity: 11 },
      { ...config, maxReserved: 0 },
      { kind: "sliding window", rate: 10, period: 1000 },
      { kind: "fixed window", rate: 10, period: 1000 },
    ];
    for (const other of others) {
      expect(() => bundle([ask("a"), ask("a", { config: other })])).toThrow(
        'Rate limit "a": one bucket must have the same config in all the requests of a call.',
      );
      expect(bundle([ask("a"), ask("a", { key: "x", config: other })]).summed).toHaveLength(2);
    }
  });

  it("cannot ask one bucket both to consume and to reserve, nor to reserve within two bounds", () => {
    const problem = 'Rate limit "a": one bucket cannot be asked both to consume and to reserve in the same call.';
    expect(() => bundle([ask("a"), ask("a", { reserve: true })])).toThrow(problem);
    expect(() => bundle([ask("a", { reserve: { within: 5 } }), ask("a", { reserve: true })])).toThrow(problem);
    expect(() => bundle([ask("a", { reserve: { within: 5 } }), ask("a", { reserve: { within: 6 } })])).toThrow(problem);
    const [sum] = bundle([ask("a", { reserve: { within: 5 } }), ask("a", { reserve: { within: 5 } })]).summed;
    expect(sum?.demand).toMatchObject({ reserve: true, withinMs: 5 });
    expect(bundle([ask("a", { reserve: false }), ask("a")]).summed).toHaveLength(1);
  });

  it("cannot ask one bucket in shadow and enforced", () => {
    const inShadow = ask("a", { shadow: true });
    const problem = 'Rate limit "a": one bucket cannot be both enforced and in shadow in the same call.';
    expect(() => bundle([inShadow, ask("a")])).toThrow(problem);
    expect(() => bundle([ask("a", { shadow: false }), inShadow])).toThrow(problem);
    expect(bundle([inShadow, inShadow]).summed).toMatchObject([{ asked: { count: 2, shadow: true } }]);
    expect(bundle([ask("a", { shadow: false }), ask("a")]).summed).toHaveLength(1);
    expect(bundle([inShadow, ask("b")]).summed).toHaveLength(2);
  });
});
