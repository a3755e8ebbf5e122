/**
 * A kind that only tests have: a bucket that refills twice as fast in even minutes. It is one object, one line in the registry and
 * one entry of the laws, and holds them all; so nothing else knows the kinds.
 */
import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { numberField, required } from "../../src/engine/fields.js";
import { KINDS } from "../../src/engine/kinds/index.js";
import type { Kind, Limit } from "../../src/engine/kinds/kind.js";
import { refilling } from "../../src/engine/kinds/refilling.js";
import { shareOfUnits } from "../../src/engine/kinds/shares.js";
import { rateField, savingFields } from "../../src/engine/kinds/terms.js";
import { levelsOf } from "../../src/engine/sharding/levels.js";
import { firstMoment } from "../../src/engine/time.js";
import { MAX_UNITS } from "../../src/engine/units.js";
import { choose } from "./subjects.js";

const MINUTE = 60_000;
/** Thousandths, in 1,024 parts for the rows. */
const UNITS = 1000 * 1024;

interface TidalLimit extends Limit {
  /** Units per ms of an odd minute. */
  readonly refill: number;
}

/** Milliseconds from the epoch to a moment, those of even minutes twice. */
function tide(moment: number): number {
  const minute = Math.floor(moment / MINUTE);
  const evenMs = Math.ceil(minute / 2) * MINUTE + (minute % 2 === 0 ? moment - minute * MINUTE : 0);
  return moment + evenMs;
}

const accrued = ({ refill }: TidalLimit, from: number, to: number) =>
  to <= from ? 0 : Math.floor((tide(to) - tide(from)) * refill);

const common = refilling<TidalLimit>({
  accrued,
  whenAccrued: (limit, from, units) =>
    units <= 0 ? from : firstMoment(from, (moment) => accrued(limit, from, moment) >= units),
});

const tidal: Kind<TidalLimit> = {
  ...common,
  name: "tidal" as never,
  fields: {
    kind: { permitted: '"tidal"', holds: () => true },
    rate: rateField,
    period: required(numberField({ above: 0, atMost: 1e9 })),
    ...savingFields,
  },
  parse({ name, config }) {
    const { rate, capacity = rate, maxReserved, shards } = config;
    const period = config.period as number;
    const most = { shards, most: capacity, perSecond: (rate / period) * 1000, capacity };
    return {
      name,
      kind: tidal,
      config: { ...config, capacity } as RateLimitConfig,
      unitsPerToken: UNITS,
      capacity: Math.floor(capacity * UNITS),
      maxReserved: maxReserved === undefined ? MAX_UNITS : Math.floor(maxReserved * UNITS),
      refill: (rate * UNITS) / period,
      levels: levelsOf(most),
    };
  },
  forKey: (limit) => limit,
  shownConfig: ({ config }) => config,
  // Clients know arrivals by ms, by windows, and what comes back; a kind that they should show as well says it in those terms.
  arrivals: ({ refill }) => ({ refill }),
  entries: () => undefined,
  quota: { windowMs: () => 1000, renewedAt: (_limit, { resetAt }) => resetAt, restoredInMs: () => 0 },
  shareOf: (limit, share) => ({
    ...limit,
    capacity: shareOfUnits(limit.capacity, limit.unitsPerToken, share),
    refill: limit.refill / share.count,
  }),
  unitsPerMs: ({ refill }) => refill,
  whenReset: (limit, state, now) => Math.max(now, common.whenHolding(limit, state, limit.capacity)),
};

// The registry is a constant for everybody else.
(KINDS as Record<string, Kind>)[tidal.name] = tidal;

const configs = fc
  .record({
    rate: fc.constantFrom(1, 2, 5, 10, 60),
    period: fc.constantFrom(1, 16, 125, 1000, 10_000),
    capacity: fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined }),
    maxReserved: fc.option(fc.integer({ min: 0, max: 50 }), { nil: undefined }),
  })
  .map((fields) => {
    const present = Object.entries(fields).filter(([, value]) => value !== undefined);
    return { kind: "tidal", ...Object.fromEntries(present) } as unknown as RateLimitConfig;
  });

choose([{ title: "a tidal bucket, which only this test has", exact: configs, any: configs, tide }]);

// This file is no law; a client does not know how the tide refills.
const laws = import.meta.glob(["./*.test.ts", "!./testKind.test.ts", "!./agreement.test.ts"]);
for (const law of Object.values(laws)) await law();
