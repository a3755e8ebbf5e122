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
  /** The plan by its number, if the limit has plans. */
  readonly plan?: number | undefined;
  /** Whether the answer says when the tokens were taken, so that they can come back. */
  readonly refundable?: boolean | undefined;
  /** Whether the mutation first checks the limit. */
  readonly checks?: boolean | undefined;
}

export interface Answer {
  readonly ok: boolean;
  /** The time to retry or, for a reservation, to start: whole ms since the epoch. */
  readonly retryAt: number | undefined;
  /** When the tokens were taken, if the call said that they may come back. */
  readonly takenAt?: number | undefined;
}

export type Consume = (ctx: SimulatedCtx, ask: Ask) => Promise<Answer>;

/** What an app does with a bucket beside its plain calls. Times are ms since the epoch. */
export type Operation =
  | { readonly kind: "take"; readonly ask: Ask }
  | { readonly kind: "pause"; readonly until: number }
  | { readonly kind: "adjust"; readonly count: number; readonly takenAt?: number | undefined }
  | { readonly kind: "override"; readonly way: { readonly unlimited: true } | { readonly block: true } }
  | { readonly kind: "clear override" }
  | { readonly kind: "reset" };

export type Operate = (ctx: SimulatedCtx, operation: Operation) => Promise<unknown>;

export interface LimitOptions {
  /** Whether the limit has a bucket for each key, or a single one. */
  readonly keyed: boolean;
  /** The number of limits in each call, including the hot one. The others have a bucket for each user. */
  readonly bundleOf: number;
  /** The plans of the limit, of the same kind and period as its config; default: none. */
  readonly plans?: readonly BucketConfig[] | undefined;
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
  /** Returns the function that does everything else with the same limit. */
  operate(config: BucketConfig, shards: Shards, options: LimitOptions): Operate;
}
