/** What the simulator is asked and what it answers, without the simulator: the page loads that in its worker only. */

export interface Setting {
  /** Calls a second, and tokens: the limit lets all of them through on average. */
  calls: number;
  /** Of the official component. */
  shards: number;
}

export const LANES = ["auto", "official"] as const;
export type LaneName = (typeof LANES)[number];

/** In a tenth of a second: calls that went through at once, those that had to run again, and those that were given up. */
export interface Slice {
  first: number;
  again: number;
  failed: number;
}

export interface LaneResult {
  lane: LaneName;
  slices: Slice[];
  calls: number;
  attemptsPerCall: number;
  /** Share of the calls that the platform gave up. */
  failed: number;
  p99Ms: number;
  rowsAtEnd: number;
  /** Tokens beyond the bound, by the exact oracle. */
  overGrant: number;
}

export const SECONDS = 4;
