/** What the simulator compares: a way to limit, with the code that does it. */
import type { SimulatedCtx } from "./context.js";
import type { Component } from "./deployment.js";
import type { BucketConfig } from "./oracle.js";

export type Shards = number | "auto";

export interface Ask {
  readonly key?: string | undefined;
  readonly count: number;
  readonly reserve?: boolean | undefined;
}

export interface Answer {
  readonly ok: boolean;
  /** A whole millisecond since the epoch: when to ask again or, of a reservation, when to start. */
  readonly retryAt: number | undefined;
}

export type Consume = (ctx: SimulatedCtx, ask: Ask) => Promise<Answer>;

export interface Design {
  readonly label: string;
  readonly library: "ours" | "peer";
  readonly shards: Shards;
  readonly app: Component;
  /** The function that limits, with a number of shards that may differ from `shards` (a change on a live limit). */
  limit(config: BucketConfig, shards: Shards): Consume;
}
