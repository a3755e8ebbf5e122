/**
 * The scenarios of the comparison. They are those of the study that this project began with, parameters included where it
 * gives them; none was chosen for its result.
 */
import type { Shards } from "../simulator/design.js";
import type { BucketConfig } from "../simulator/oracle.js";
import type { Scenario } from "../simulator/simulation.js";

export const KINDS = ["token bucket", "fixed window"] as const;
export const PATTERNS = ["poisson", "bursty"] as const;
export const COUNTS = ["one", "mixed"] as const;
type Kind = (typeof KINDS)[number];

const COUNT_RANGES = { one: { from: 1, to: 1 }, mixed: { from: 1, to: 10 } } as const;

const ONE = COUNT_RANGES.one;
const SECOND = 1000;
const DAY = 24 * 60 * 60 * SECOND;

export interface Case {
  readonly title: string;
  readonly scenario: Scenario;
  /** What the picture's groups are named after. */
  readonly group?: string;
  /** Where the designs differ from the usual ones: shard counts to start with. */
  readonly shards?: readonly Shards[];
}

export interface LoadOptions {
  /** Calls per second that the limit lets through on average. */
  readonly rate: number;
  /** Demand, as a multiple of the rate. */
  readonly demand: number;
  readonly counts: (typeof COUNTS)[number];
  readonly kind: Kind;
  readonly pattern: (typeof PATTERNS)[number];
  readonly seconds: number;
  readonly probes: number;
}

/** A steady load. Conflicts come from calls, so with mixed counts the limit grows and the calls per second stay the same. */
export function load({ rate, demand, counts, kind, pattern, seconds, probes }: LoadOptions): Case {
  const range = COUNT_RANGES[counts];
  const tokens = (rate * (range.from + range.to)) / 2;
  return {
    title: `${rate}/s, demand ${demand} × rate, ${kind}, ${pattern}, count ${counts === "one" ? "1" : "1 to 10"}`,
    group: `${rate}/s${demand === 1 ? "" : `, demand × ${demand}`}`,
    scenario: {
      // Two seconds' worth may be saved up, as in the study.
      limit: { kind, rate: tokens, period: SECOND, capacity: 2 * tokens, ...phase(kind) },
      callers: { kind: "open", pattern, demand: tokens * demand, counts: range },
      seconds,
      probes,
    },
  };
}

/** A day's quota of 1000, full, and everybody comes at once. */
export function flashCrowd(demand: number, kind: Kind): Case {
  return {
    title: `flash crowd: 1000 tokens a day, ${demand}/s from the first second, ${kind}`,
    scenario: {
      limit: { kind, rate: 1000, period: DAY, capacity: 1000, ...phase(kind) },
      callers: { kind: "open", pattern: "poisson", demand, counts: ONE },
      // Long enough that the last tokens are fought for and everybody after them is denied.
      seconds: 10,
      probes: 50,
    },
  };
}

const RESHARDING_SECONDS = 20;

/** A live limit (demand three times its rate, capacity 200) whose shard count changes under load. */
export function reshard(demand: number, change: "4 → 16" | "16 → 4" | "walk 1 … 64 … 1"): Case {
  const walk = [1, 2, 4, 8, 16, 32, 64, 32, 16, 8, 4, 2, 1];
  const steps = { "4 → 16": [4, 16], "16 → 4": [16, 4], "walk 1 … 64 … 1": walk }[change];
  const stepMs = (RESHARDING_SECONDS * SECOND) / steps.length;
  return {
    title: `resharding ${change}: demand ${demand}/s, rate ${(demand / 3).toFixed(1)}/s, capacity 200`,
    shards: steps.slice(0, 1),
    scenario: {
      limit: { kind: "token bucket", rate: demand, period: 3 * SECOND, capacity: 200 },
      callers: { kind: "open", pattern: "poisson", demand, counts: ONE },
      seconds: RESHARDING_SECONDS,
      changes: steps.slice(1).map((shards, i) => ({ atMs: (i + 1) * stepMs, shards })),
      probes: 50,
    },
  };
}

/** A queue of reservations, without bound: a fifth more than the limit lets through. */
export function reservations(demandFactor: number): Case {
  return {
    title: `reservations: 60/s, capacity 60, demand ${demandFactor} × rate`,
    shards: [1, 16, "auto"],
    scenario: {
      limit: { kind: "token bucket", rate: 60, period: SECOND, capacity: 60 },
      callers: { kind: "open", pattern: "poisson", demand: 60 * demandFactor, counts: ONE },
      seconds: 20,
      reserve: true,
    },
  };
}

/** The same windows for both libraries: without a start the peer gives each shard a phase of its own. */
function phase(kind: Kind): Pick<BucketConfig, "start"> {
  return kind === "fixed window" ? { start: 0 } : {};
}
