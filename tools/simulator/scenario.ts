/** The input of a run, and its record of each call. */
import type { ArrivalOptions, HerdOptions } from "./arrivals.js";
import type { BackendOptions, Call } from "./backend.js";
import type { Answer, Operation, Shards } from "./design.js";
import type { BucketConfig } from "./oracle.js";
import type { Random } from "./random.js";

interface OpenLoop extends Omit<ArrivalOptions, "seed" | "seconds"> {
  readonly kind: "open";
}

interface Herds extends Omit<HerdOptions, "seed"> {
  readonly kind: "herds";
}

/** Callers that call again `thinkMs` after each answer. */
interface ClosedLoop {
  readonly kind: "closed";
  /** Whether a caller that is denied calls again at `retryAt`, for the same count, until it succeeds; default false. */
  readonly obey?: boolean;
  readonly callers: number;
  readonly thinkMs: number;
  readonly counts: { readonly from: number; readonly to: number };
  /** Whether each caller has a key of its own, or all share one. */
  readonly keys: "own" | "shared";
}

/** An operation beside the calls: when, and what it does. Its figures are apart from those of the calls. */
export interface Beside {
  /** Times in ms since the start of the run; or a Poisson process; or a time after each call that was admitted. */
  readonly when: { readonly atMs: readonly number[] } | { readonly perSecond: number } | { readonly afterMs: number };
  /** Returns undefined if nothing is done on this occasion. */
  readonly operation: (occasion: Occasion) => Operation | undefined;
}

export interface Occasion {
  /** The time in ms since the epoch. */
  readonly now: number;
  readonly random: Random;
  /** When the call that was admitted took its tokens, if it said that they may come back. */
  readonly takenAt?: number | undefined;
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
  /** Deploys of another config or shard count while calls go on. Judged by `limit`, so none may allow more. */
  readonly changes?: readonly { readonly atMs: number; readonly shards?: Shards; readonly limit?: BucketConfig }[];
  /** The plans that calls name in turn. Judged by `limit`, so none may allow more. */
  readonly plans?: readonly BucketConfig[];
  /** Whether each call first checks the limit, in the same mutation. */
  readonly checks?: boolean;
  /** Whether the tokens of the calls may come back. */
  readonly refundable?: boolean;
  readonly beside?: readonly Beside[];
  /** Whether an operation lets more through than the limit. Then over-grant is not judged. */
  readonly isUnbounded?: boolean;
  /** The most denials to probe: does the same call succeed at `retryAt` if no other call runs? */
  readonly probes?: number;
}

export interface RunOptions extends Pick<BackendOptions, "seed" | "platform" | "skewMs" | "executionMs" | "browser"> {
  /** Whether browsers resend calls that the platform gave up on, until the scenario's time is over; default false. */
  readonly resends?: boolean | undefined;
  /** Called with each call when it has ended. */
  readonly onRequest?: ((request: Request) => void) | undefined;
}

/** One operation beside the calls, and its result. */
export interface Operated {
  readonly operation: Operation;
  /** The call that it followed. */
  readonly after: Request | undefined;
  readonly call: Call<unknown>;
}

/** One call and its result. */
export interface Request {
  readonly atMs: number;
  /** When the caller first asked for these tokens: earlier than `atMs` if it calls again at `retryAt`. */
  readonly sinceMs: number;
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
