/** Demands: the request of a caller, in units. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TokensConfig } from "../support/configs.js";
import { parseAdjustment } from "../../src/engine/adjustment.js";
import { canServe } from "../../src/engine/decide.js";
import { show } from "../../src/engine/misuse.js";
import { bucketOf, demandOf, orderOf, type Request, requestOf, requestTo, slotOf } from "../../src/engine/request.js";
import { parseLimit } from "../../src/engine/kinds/limit.js";
import { MAX_UNITS } from "../../src/engine/units.js";
import type { DemandArgs } from "../../src/wire/answers.js";
import { NOW } from "../support/clock.js";
import { forAny } from "../support/random.js";

const bucket: TokensConfig = { kind: "token bucket", rate: 10, period: 1000, maxReserved: 5 };
const limit = parseLimit("send", bucket);
const { unitsPerToken } = limit;

describe("a demand", () => {
  it.each<[DemandArgs, object]>([
    [{}, {}],
    [{ count: undefined, reserve: undefined }, {}],
    [{ count: 1, reserve: false }, {}],
    // Counts are rounded up to whole units.
    [{ count: 1e-12 }, { units: 1 }],
    [{ count: 2.5 }, { units: 2.5 * unitsPerToken }],
    [{ reserve: true }, { reserve: true }],
    [{ reserve: { within: Infinity } }, { reserve: true }],
    [{ reserve: { within: 0 } }, { reserve: true, withinMs: 0 }],
    [{ reserve: { within: 250 } }, { reserve: true, withinMs: 250 }],
    [
      { count: 15, reserve: true },
      { units: 15 * unitsPerToken, reserve: true },
    ],
  ])("is one token, taken now, unless the caller says otherwise: %j", (asked, differing) => {
    const plain = { units: unitsPerToken, reserve: false, withinMs: Infinity };
    expect(demandOf(limit, asked)).toEqual({ ...plain, ...differing });
  });

  it.each<[field: string, permitted: string, given: unknown[]]>([
    ["count", "a finite number of at least 0", [NaN, Infinity, -Infinity, -1, -5e-324, "1", 1n, null, true]],
    [
      "reserve",
      "true, false or { within: a number of milliseconds of at least 0 }",
      [null, 1, "true", {}, { within: -1 }, { within: NaN }, { within: "5" }, { within: 5, from: 0 }, [5]],
    ],
    ["refundable", "true or false", [1, "true", null]],
  ])("has a %s that is %s", (field, permitted, given) => {
    for (const value of given) {
      const asked = { [field]: value } as DemandArgs;
      const problem = `Rate limit "send": ${field} must be ${permitted}, got ${show(value)}.`;
      expect(() => requestOf({ name: "send", config: bucket, ...asked })).toThrow(problem);
    }
  });

  it("of more than can be counted is of the most that can be counted", () => {
    for (const count of [1e16, 1e300, Number.MAX_VALUE]) expect(demandOf(limit, { count }).units).toBe(2 * MAX_UNITS);
  });

  it("equal to the capacity always fits, however the doubles round", () => {
    const kinds: TokensConfig[] = [
      { kind: "token bucket", rate: 1, period: 1000 },
      { kind: "fixed window", rate: 1, period: 1000, start: 0 },
      { kind: "sliding window", rate: 1, period: 1000 },
    ];
    const numbers = fc.oneof(
      fc.constantFrom(6.703_897_318_907_71, 1 / 3, 0.1 + 0.2, 1e12, 1e-6),
      fc.double({ min: 1e-3, max: 1e6, noNaN: true }),
    );
    forAny([fc.constantFrom(...kinds), numbers], 1000, (config, capacity) => {
      const own =
        config.kind === "sliding window" || capacity === 1e12 ? { ...config, rate: capacity } : { ...config, capacity };
      const whole = parseLimit("whole", own);
      expect(demandOf(whole, { count: capacity }).units).toBe(whole.capacity);
      expect(parseAdjustment(whole, capacity)).toBe(whole.capacity);
      expect(parseAdjustment(whole, -capacity)).toBe(-whole.capacity);
    });
  });

  it("can only be reserved if the capacity is less than a unit", () => {
    const tiny = parseLimit("tiny", { ...bucket, capacity: 1e-20 });
    expect(tiny.capacity).toBe(0);
    const servable = [false, true].map((reserve) => canServe(tiny, demandOf(tiny, { count: 1e-20, reserve })));
    expect(servable).toEqual([false, true]);
  });
});

it("a request is refused for a bad name, a bad config or a bad key, not for a large count", () => {
  const good = { name: "send", config: bucket };
  expect(() => bucketOf({ ...good, name: "" })).toThrow("name must be");
  expect(() => bucketOf({ ...good, config: { ...bucket, rate: 0 } })).toThrow("rate must be");
  expect(() => bucketOf({ ...good, key: "" })).toThrow('Rate limit "send": key must be a non-empty string');
  expect(() => bucketOf({ ...good, key: "k".repeat(257) })).toThrow("key must be at most 256");
  expect(requestOf({ ...good, count: 11 }).demand.units).toBe(11 * unitsPerToken);
});

const lease = { name: "jobs", key: "ann", takenAt: NOW, until: NOW + 1000 };

it("a lease names the bucket of leases that are as long as it is", () => {
  const { bucket, ...slot } = slotOf(lease);
  expect(slot).toEqual(lease);
  expect(bucket).toMatchObject({ name: "jobs", key: "ann", limit: { bucket: "concurrency 1000" } });
  expect(slotOf({ ...lease, seen: 3 }).seen).toBe(3);
});

it.each([{ until: NOW }, { until: NaN }, { until: NOW + 0.5 }, { takenAt: -Infinity }, { key: "" }, { name: "" }])(
  "a lease is refused with %o",
  (wrong) => {
    expect(() => slotOf({ ...lease, ...wrong })).toThrow(/lease must be a whole number|key must be|name must be/);
  },
);

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
