/** What the simulator compares: a way to limit, with the code that does it. */
import type { SimulatedCtx } from "./context.js";
import type { Component } from "./deployment.js";
import type { BucketConfig } from "./oracle.js";

export type Shards = number | "auto";

export interface Ask {
  readonly key?: string | undefined;
  readonly count: number;
  readonly reserve?: boolean | undefined;
  /** Who calls: the key of the cold limits of a bundle. */
  readonly user?: string | undefined;
}

export interface Answer {
  readonly ok: boolean;
  /** A whole millisecond since the epoch: when to ask again or, of a reservation, when to start. */
  readonly retryAt: number | undefined;
}

export type Consume = (ctx: SimulatedCtx, ask: Ask) => Promise<Answer>;

export interface LimitOptions {
  /** Whether the limit has a bucket for each key, or a single one. */
  readonly keyed: boolean;
  /** With how many limits each call has to do, the hot one among them: the others have a bucket for each user. */
  readonly bundleOf: number;
}

/** One limit with one bucket. */
export const UNKEYED: LimitOptions = { keyed: false, bundleOf: 1 };

/** The other limits of a bundle: nobody comes near them. */
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
  /** The function that limits, with a number of shards that may differ from `shards` (a change on a live limit). */
  limit(config: BucketConfig, shards: Shards, options: LimitOptions): Consume;
}
