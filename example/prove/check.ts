/** What a check is, what it is given, and what it answers. */
import type { ConvexClient, ConvexHttpClient } from "convex/browser";

export type Verdict = "passed" | "failed" | "not applicable here";

export interface Seen {
  readonly seen: string;
  readonly holds: boolean;
  /** What was measured, for the report's JSON. */
  readonly figures?: Readonly<Record<string, number | string>>;
}

export interface Check {
  readonly subject: string;
  /** A sentence. */
  readonly name: string;
  readonly expected: string;
  /** Why the embedded backend cannot show it: the check runs there as well, which keeps it working, and proves nothing. */
  readonly notEmbedded?: string;
  /** How many function calls it makes at most. */
  readonly calls: (effort: Effort) => number;
  readonly run: (prover: Prover) => Promise<Seen>;
}

/** How much is done: all of it, or a second or two of each for CI. */
export interface Effort {
  readonly name: "full" | "short";
  readonly cycles: number;
  readonly rounds: number;
  readonly jobs: number;
  readonly zones: number;
  readonly loads: readonly { readonly clients: number; readonly perSecond: number }[];
  readonly loadSeconds: number;
  /** The class of the deployment, for the simulator's figures. */
  readonly platform: "S16" | "S256";
}

export type Place = "tables" | "component" | "official";

export interface Prover {
  readonly effort: Effort;
  readonly secret: string;
  /** Names the run, in its keys and rows. */
  readonly run: string;
  readonly http: ConvexHttpClient;
  readonly socket: ConvexClient;
  readonly siteUrl: string;
  /** More clients of the same deployment, closed when the run is over. */
  readonly open: (clients: number) => { readonly sockets: ConvexClient[]; readonly https: ConvexHttpClient[] };
  /** A key of this run, whose bucket is reset when the run is over. */
  readonly key: (place: Place, name: string, label: string) => string;
  /** The rows' label and run, as the functions take them. */
  readonly rows: (label: string) => { secret: string; run: string; label: string };
}
