/** Plain configs, which need no full parse. The full parse accepts every one of them. */
import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseDefinitions } from "../../../src/client/definitions.js";
import { checkConfig } from "../../../src/engine/kinds/fields.js";
import { isPlain } from "../../../src/engine/kinds/plain.js";
import { parseLimit } from "../../../src/engine/kinds/limit.js";
import { forAny } from "../../support/random.js";

const bucket = { kind: "token bucket", rate: 10, period: 1000 };
const window = { kind: "fixed window", rate: 10, period: 1000 };
const sliding = { kind: "sliding window", rate: 10, period: 1000 };

it.each<[unknown, boolean]>([
  [bucket, true],
  [{ ...bucket, capacity: 20, maxReserved: 5, shards: "auto" }, true],
  [{ ...bucket, keyed: true, throws: false }, true],
  [{ ...bucket, rate: 1, period: 1, capacity: 1 }, true],
  [{ ...bucket, rate: 1e9, period: 1e12, capacity: 1e9, maxReserved: 1e9 }, true],
  [{ ...window, period: "day" }, true],
  [{ ...window, period: "week" }, true],
  [{ ...window, period: "month" }, true],
  [{ ...window, period: "year" }, true],
  [{ ...bucket, overrides: true }, false],
  [{ ...window, period: ["day"] }, false],
  [{ ...window, period: "toString" }, false],
  [sliding, true],
  // The first ones are valid, but not plain. A property below checks that invalid configs are never plain.
  [{ ...bucket, rate: 0.5 }, false],
  [{ ...bucket, rate: 1.5 }, false],
  [{ ...bucket, rate: 1e9 + 1 }, false],
  [{ ...bucket, period: 1.5 }, false],
  [{ ...bucket, capacity: 1.5 }, false],
  [{ ...bucket, mode: "shadow" }, false],
  [{ ...window, period: "day", anchor: 1 }, false],
  [{ ...bucket, capacity: undefined }, false],
  [{ kind: "token bucket", rate: 1 }, false],
  [{ kind: "token bucket", period: 1 }, false],
  [Object.defineProperty({ kind: "token bucket", period: 1 }, "rate", { value: 1 }), false],
  [[], false],
  [null, false],
])("a config is plain %j: %s", (config, expected) => {
  expect(isPlain(config, true)).toBe(expected);
});

const wholes = (max: number) => fc.oneof(fc.integer({ min: 1, max }), fc.constantFrom(1, 2, 7, 1000, max));
const oddities = fc.constantFrom<unknown[]>(
  ...[0, -1, 0.5, NaN, Infinity, 1e9 + 1, 1e12 + 1, 1e16, "day", "week", "hour", "auto", "5", true, null, undefined],
  ...[{ atLeast: 2 }, [1], 5n],
);
const plainConfigs = fc.record(
  {
    kind: fc.constantFrom("token bucket", "fixed window", "sliding window"),
    rate: wholes(1e9),
    period: fc.oneof(wholes(1e12), fc.constantFrom("day", "week", "month", "year")),
    capacity: wholes(1e9),
    maxReserved: wholes(1e9),
    shards: fc.constant("auto"),
  },
  { requiredKeys: ["kind", "rate", "period"] },
);
const fields = ["kind", "rate", "period", "capacity", "maxReserved", "shards", "start", "timeZone", "anchor", "rat"];
/** Plain configs, some with one field that has any value. */
const anyConfigs = fc
  .tuple(plainConfigs, fc.option(fc.tuple(fc.constantFrom(...fields), oddities), { nil: undefined, freq: 2 }))
  .map(([config, odd]) => ({ ...config, ...(odd && { [odd[0]]: odd[1] }) }));
const flags = fc.record({ keyed: fc.boolean(), throws: fc.boolean() }, { requiredKeys: [] });

describe("a plain config", () => {
  it("is not parsed when it is defined, even with a mode, a queue or a jitter", () => {
    const parsed: string[] = [];
    const plain = { kind: "token bucket", rate: 1, period: 1000 } as const;
    const terms = { mode: "shadow", queue: {}, throws: { jitter: 0.5 } } as const;
    const own = Object.entries(terms).map(([term, value]) => [term, { ...plain, [term]: value }]);
    const definitions = Object.fromEntries([["plain", plain], ...own, ["fine", { ...plain, rate: 0.1 }]]) as object;
    parseDefinitions(definitions, (name) => void parsed.push(name));
    expect(parsed).toEqual(["fine"]);
  });

  it("parses to a limit with the same config, whatever flags the definition has", () => {
    let accepted = 0;
    forAny([anyConfigs, flags], 5000, (config, terms) => {
      const isAccepted = isPlain({ ...config, ...terms }, true);
      expect(isPlain(config)).toBe(isAccepted);
      expect(isPlain({ ...config, ...terms })).toBe(isAccepted && Object.keys(terms).length === 0);
      if (!isAccepted) return;
      accepted++;
      // The parser does not check what is plain, so the table does here.
      checkConfig("some", config as RateLimitConfig);
      const limit = parseLimit("some", config as RateLimitConfig);
      expect(limit.config).toMatchObject(config);
    });
    expect(accepted).toBeGreaterThan(1000);
  });
});
