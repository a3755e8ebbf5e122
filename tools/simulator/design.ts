/** A design, which the simulator compares with others: a way to limit, with the code that does it. */
import type { SimulatedCtx } from "./context.js";
import type { Component } from "./deployment.js";
import type { BucketConfig } from "./oracle.js";

export type Shards = number | "auto";

export interface Ask {
  readonly key?: string | undefined;
  readonly count: number;
  readonly reserve?: boolean | undefined;
  /** The caller: the key of a bundle's cold limits. */
  readonly user?: string | undefined;
}

export interface Answer {
  readonly ok: boolean;
  /** The time to retry or, for a reservation, to start: whole ms since the epoch. */
  readonly retryAt: number | undefined;
}

export type Consume = (ctx: SimulatedCtx, ask: Ask) => Promise<Answer>;

export interface LimitOptions {
  /** Whether the limit has a bucket for each key, or a single one. */
  readonly keyed: boolean;
  /** The number of limits in each call, including the hot one. The others have a bucket for each user. */
  readonly bundleOf: number;
}

/** One limit with one bucket. */
export const UNKEYED: LimitOptions = { keyed: false, bundleOf: 1 };

/** The config of the other limits of a bundle. No user comes near it. */
export const COLD_LIMIT = { kind: "token bucket", rate: 1000, period: 60_000, capacity: 1000 } as const;

/** The names of the other limits of a bundle. */
export function coldNames({ bundleOf }: LimitOptions): string[] {
  return Array.from({ length: bundleOf - 1 }, (_, i) => `cold ${i + 1}`);
}

export interface Design {
  readonly label: string;
  readonly library: "ours" | "peer";
  readonly shards: Shards;
  readonly app: Component;
  /** Returns the function that limits. `shards` may differ from the design's, after a change on a live limit. */
  limit(config: BucketConfig, shards: Shards, options: LimitOptions): Consume;
}
