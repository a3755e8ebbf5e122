/** The input of a run, and its record of each call. */
import type { ArrivalOptions, HerdOptions } from "./arrivals.js";
import type { BackendOptions, Call } from "./backend.js";
import type { Answer, Shards } from "./design.js";
import type { BucketConfig } from "./oracle.js";

interface OpenLoop extends Omit<ArrivalOptions, "seed" | "seconds"> {
  readonly kind: "open";
}

interface Herds extends Omit<HerdOptions, "seed"> {
  readonly kind: "herds";
}

/** Callers that call again `thinkMs` after each answer. */
interface ClosedLoop {
  readonly kind: "closed";
  readonly callers: number;
  readonly thinkMs: number;
  readonly counts: { readonly from: number; readonly to: number };
  /** Whether each caller has a key of its own, or all share one. */
  readonly keys: "own" | "shared";
}

export interface Scenario {
  readonly limit: BucketConfig;
  readonly callers: OpenLoop | Herds | ClosedLoop;
  readonly seconds: number;
  /**
   * The part of the run whose calls are counted; default: the whole run. Over-grant, false denials and waits are always of the whole
   * run.
   */
  readonly measured?: { readonly fromMs: number; readonly toMs: number };
  readonly reserve?: boolean;
  /** The number of limits in each call, including the hot one; default 1. */
  readonly bundleOf?: number;
  /** The time in ms that each attempt needs for work other than the limit's; default 0. */
  readonly holdMs?: number;
  /** Changes of the shard count while calls go on. */
  readonly changes?: readonly { readonly atMs: number; readonly shards: Shards }[];
  /** The most denials to probe: does the same call succeed at `retryAt` if no other call runs? */
  readonly probes?: number;
}

export interface RunOptions extends Pick<BackendOptions, "seed" | "platform" | "skewMs" | "executionMs" | "browser"> {
  /** Whether browsers resend calls that the platform gave up on, until the scenario's time is over; default false. */
  readonly resends?: boolean | undefined;
  /** Called with each call when it has ended. */
  readonly onRequest?: ((request: Request) => void) | undefined;
}

/** One call and its result. */
export interface Request {
  readonly atMs: number;
  readonly key: string | undefined;
  readonly count: number;
  readonly call: Call<Answer>;
}

export interface Probes {
  /** Denials that were probed. */
  asked: number;
  /** Denials whose `retryAt` sufficed. */
  sufficed: number;
  /** Denials whose `retryAt` sufficed one millisecond later: a rounding error, not a wrong answer. */
  nearly: number;
}
