/**
 * A kind that only tests have: a bucket whose tokens come in waves, 100 and 200 ms apart in turn. It needs one class, one line in
 * the registry, its fields and one entry of the laws. All laws hold for it, so no other code knows the kinds, not even clients.
 */
import fc from "fast-check";
import { afterAll } from "vitest";
import type { TokensConfig } from "../support/configs.js";
import type { Field, Fields } from "../../src/engine/fields.js";
import { fieldsByKind } from "../../src/engine/kinds/fields.js";
import { KINDS } from "../../src/engine/kinds/limit.js";
import type { Kind, Limit, Share, State } from "../../src/engine/kinds/kind.js";
import { RefillingKind } from "../../src/engine/kinds/refilling.js";
import { shareOfUnits } from "../../src/engine/kinds/shares.js";
import { levelsOf } from "../../src/engine/sharding/levels.js";
import { END_OF_TIME } from "../../src/engine/time.js";
import { MAX_UNITS } from "../../src/engine/units.js";
import { present } from "../../src/wire/present.js";
import { choose } from "./subjects.js";

/** Two waves come in each of these, one at its start and one after the ebb. */
const TIDE_MS = 300;
const EBB_MS = 100;
/** A wave brings the rate of this time. */
const WAVE_MS = TIDE_MS / 2;
/** Thousandths, in 1,024 parts for the rows. */
const UNITS = 1000 * 1024;

/** The number of the last wave that came until a time. */
function waveAt(time: number): number {
  const tides = Math.floor(time / TIDE_MS);
  return 2 * tides + (time - tides * TIDE_MS >= EBB_MS ? 1 : 0);
}

function startOf(wave: number): number {
  return Math.min(END_OF_TIME, Math.floor(wave / 2) * TIDE_MS + (wave % 2) * EBB_MS);
}

class Tidal extends RefillingKind<Limit> implements Kind {
  parse(name: string, config: TokensConfig & { depth?: number }): Limit {
    const { rate, depth: tokens = rate, maxReserved, shards } = config;
    const period = config.period as number;
    const most = { shards, most: tokens, perSecond: (rate / period) * 1000, capacity: tokens };
    return {
      name,
      kind: this,
      config,
      bucket: undefined,
      tokens,
      unitsPerToken: UNITS,
      capacity: Math.floor(tokens * UNITS),
      maxReserved: maxReserved === undefined ? MAX_UNITS : Math.floor(maxReserved * UNITS),
      // Of a wave.
      refill: (rate * UNITS * WAVE_MS) / period,
      periodMs: WAVE_MS,
      levels: levelsOf(most),
    };
  }

  protected accrued = ({ refill }: Limit, { ts }: State, to: number) =>
    to <= ts ? 0 : (waveAt(to) - waveAt(ts)) * refill;
  whenHolding = ({ refill, capacity }: Limit, { value, ts }: State, units: number) =>
    units <= Math.min(capacity, value) ? ts : startOf(waveAt(ts) + Math.ceil((units - value) / refill));
  // Flood and ebb each come once a tide.
  runsFrom = () => [0, EBB_MS].map((start) => ({ start, period: TIDE_MS }));
  shareOf = (limit: Limit, share: Share) => ({
    ...limit,
    capacity: shareOfUnits(limit.capacity, limit.unitsPerToken, share),
    refill: limit.refill / share.count,
  });
  whenReset = (_limit: Limit, { ts }: State, now: number) => startOf(waveAt(Math.max(ts, now)) + 1);
  windowMs = () => 1000;
}

// The registry is a constant for everybody else, and other files share it.
const kinds = KINDS as Record<string, Kind>;
const fieldsOf = fieldsByKind() as Record<string, Fields>;
kinds["tidal"] = new Tidal();
const { capacity: depth, ...fields } = fieldsByKind()["token bucket"] as { readonly capacity: Field } & Fields;
fieldsOf["tidal"] = { ...fields, depth };
afterAll(() => {
  Reflect.deleteProperty(kinds, "tidal");
  Reflect.deleteProperty(fieldsOf, "tidal");
  choose(undefined);
});

const configs = fc
  .record({
    rate: fc.constantFrom(1, 2, 5, 10, 60),
    period: fc.constantFrom(1, 16, 125, 1000, 10_000),
    depth: fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined }),
    maxReserved: fc.option(fc.integer({ min: 0, max: 50 }), { nil: undefined }),
  })
  .map((fields) => present({ kind: "tidal", ...fields }) as unknown as TokensConfig);

const tide = (time: number) => waveAt(time) * WAVE_MS;
choose([{ title: "a tidal bucket, which only this test has", exact: configs, any: configs, tide }]);

// Those that are left out have kinds of their own.
// With a query it is another module than the law by itself, which other files may have loaded already.
const laws = import.meta.glob(
  ["./*.test.ts", "!./{testKind,alternating,counterexamples,honestWaitOfAll,inexact,refunds,reserved}.test.ts"],
  { query: "?tidal" },
);
for (const law of Object.values(laws)) await law();
