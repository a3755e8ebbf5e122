/** What a case of the comparison is. */
import type { Shards } from "../../tools/simulator/design.js";
import type { BucketConfig } from "../../tools/simulator/oracle.js";
import type { ClassName } from "../../tools/simulator/platform.js";
import type { Scenario } from "../../tools/simulator/scenario.js";

export type Kind = BucketConfig["kind"];

export const ONE = { from: 1, to: 1 } as const;
export const SECOND = 1000;
/**
 * The calls of a load are counted after this many seconds. By then rows have split, and the saved-up tokens are gone if the demand
 * exceeds the rate.
 */
const WARM_UP_SECONDS = 3;

/** The columns that a report has in addition to the usual ones. */
export type Focus = "keys" | "denials" | "waits" | "honesty" | "operations" | "obedience";

export interface Case {
  readonly title: string;
  readonly scenario: Scenario;
  readonly focus?: Focus;
  /** For the picture, if the case is a plain load: the limit's calls per second, and the demand as a multiple of them. */
  readonly load?: { readonly rate: number; readonly demand: number };
  readonly ours: readonly Shards[];
  /** Whether ours also runs in the component, which costs a hop. */
  readonly inComponent?: boolean;
  readonly official: readonly (number | "async")[];
  /** The classes of deployments that run the case; default: both. */
  readonly classes?: readonly ClassName[];
  /** Whether browsers resend calls that the platform gave up on. */
  readonly resends?: boolean;
}

export interface Size {
  /** The number of seconds in which the calls of a load are counted. The other scenarios scale with it. */
  readonly seconds: number;
  /** The number of seconds before them; default 3, or as many as are counted. */
  readonly warmUp?: number;
}

/** The length of a load, and its counted part. */
export function timesOf({ seconds, warmUp = Math.min(WARM_UP_SECONDS, seconds) }: Size): {
  seconds: number;
  measured: { fromMs: number; toMs: number };
} {
  const fromMs = warmUp * SECOND;
  return { seconds: warmUp + seconds, measured: { fromMs, toMs: fromMs + seconds * SECOND } };
}

/** Gives both libraries the same windows: without `start` the official component gives each shard its own phase. */
export function phase(kind: Kind): Pick<BucketConfig, "start"> {
  return kind === "fixed window" ? { start: 0 } : {};
}
