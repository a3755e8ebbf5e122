/** The input and the result of the simulator. They are apart from the simulator, which the page loads only in its worker. */

export interface Setting {
  /** Calls a second, and also the limit's tokens a second: on average it lets all of them through. */
  calls: number;
  /** The number of shards of the official component. */
  shards: number;
}

export const LANES = ["auto", "official"] as const;
export type LaneName = (typeof LANES)[number];

/** The calls of 100 ms: those that committed at the first attempt, those that committed at a later one, and those that failed. */
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
  /** The share of the calls that failed: the platform gave them up. */
  failed: number;
  p99Ms: number;
  rowsAtEnd: number;
  /** Tokens granted beyond the bound, computed by the exact oracle. */
  overGrant: number;
}

export const SECONDS = 4;
