/** The types of a check: its definition, its input and its result. */
import type { ConvexClient, ConvexHttpClient } from "convex/browser";

export type Verdict = "passed" | "failed" | "not applicable here";

export interface Seen {
  readonly seen: string;
  readonly holds: boolean;
  /** The measured figures, for the report's JSON. */
  readonly figures?: Readonly<Record<string, number | string>>;
}

export interface Check {
  readonly subject: string;
  /** The name of the check in the report. */
  readonly name: string;
  readonly expected: string;
  /** Why the embedded backend cannot show it. The check also runs there, which keeps the check working, but it proves nothing. */
  readonly notEmbedded?: string;
  /** The most function calls that it makes. */
  readonly calls: (effort: Effort) => number;
  /** The most seconds that it takes: a check that is not over by then has failed. Default: `SECONDS`. */
  readonly seconds?: (effort: Effort) => number;
  /** It mostly waits, so it starts first and runs beside all others. */
  readonly isBeside?: true;
  readonly run: (prover: Prover) => Promise<Seen>;
}

/** Enough for a few calls on a slow connection. */
export const SECONDS = 6;

/** Calls at equal intervals. */
export interface Load {
  readonly clients: number;
  readonly perSecond: number;
  readonly seconds: number;
}

/** How much a run does: all of it, or one or two seconds of each check for CI. */
export interface Effort {
  readonly name: "full" | "short";
  readonly cycles: number;
  readonly rounds: number;
  readonly jobs: number;
  readonly zones: number;
  readonly loads: readonly { readonly clients: number; readonly perSecond: number }[];
  readonly loadSeconds: number;
  /** The load on a hot key, beside which the operations of law 15 are played. */
  readonly hot: Load;
  /** The class of the deployment, for the simulator's figures. */
  readonly platform: "S16" | "S256";
}

export type Place = "tables" | "component" | "official";

export interface Prover {
  readonly effort: Effort;
  readonly secret: string;
  /** Fires when the check's time is over. */
  readonly signal: AbortSignal;
  /** The name of the run, in its keys and rows. */
  readonly run: string;
  readonly http: ConvexHttpClient;
  readonly socket: ConvexClient;
  readonly siteUrl: string;
  /** More clients of the same deployment, closed when the run is over. */
  readonly open: (clients: number) => { readonly sockets: ConvexClient[]; readonly https: ConvexHttpClient[] };
  /** A key of this run, whose bucket is reset when the run is over. */
  readonly key: (place: Place, name: string, label: string) => string;
  /** The arguments with which the functions find the rows of a label. */
  readonly rows: (label: string) => { secret: string; run: string; label: string };
}
