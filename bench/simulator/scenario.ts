/** What a run is given, and what it tells of each call. */
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

/** Callers that call again as soon as they are answered, and have thought. */
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
  /** Only calls of this part of the run are counted (over-grant: all); default: the whole run. */
  readonly measured?: { readonly fromMs: number; readonly toMs: number };
  readonly reserve?: boolean;
  /** With how many limits each call has to do, the hot one among them; default 1. */
  readonly bundleOf?: number;
  /** What each attempt takes for work beside the limit; default 0. */
  readonly holdMs?: number;
  /** Changes of the shard count while calls go on. */
  readonly changes?: readonly { readonly atMs: number; readonly shards: Shards }[];
  /** How many denials to put to the test: does the same call succeed at `retryAt` when nobody else calls? */
  readonly probes?: number;
}

export interface RunOptions extends Pick<BackendOptions, "seed" | "platform" | "skewMs" | "executionMs" | "browser"> {
  /** Whether browsers send calls again that the platform gave up, until the scenario's time is over; default false. */
  readonly resends?: boolean | undefined;
  /** Hears of each call when it is over. */
  readonly onRequest?: ((request: Request) => void) | undefined;
}

/** One call, and what came of it. */
export interface Request {
  readonly atMs: number;
  readonly key: string | undefined;
  readonly count: number;
  readonly call: Call<Answer>;
}

export interface Probes {
  asked: number;
  sufficed: number;
  /** Sufficed one millisecond later: rounding, rather than a wrong answer. */
  nearly: number;
}
