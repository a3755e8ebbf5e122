/**
 * A bucket's state, ready to project: quantities are whole units and times are known, so a client needs neither the config's
 * parser nor the engine's units and shards. It does not depend on the clock. The server makes it.
 */

/** How units arrive, and how many may be held and owed. */
interface Terms {
  /** The most units that can be held. */
  capacity: number;
  /** The most units that may be owed to reservations. */
  maxReserved: number;
  /** Units that arrive each millisecond or, with `period` or `starts`, at each start of a window; 1 with `recent`. */
  refill: number;
  /** Fixed windows of this length in ms, one of which starts at `start`. For `recent`: how long a taken unit stays away. */
  period?: number;
  /** A moment at which a window starts; default 0. */
  start?: number;
  /** Calendar windows: the coming starts, in ascending order. After the last of them nothing is known to arrive. */
  starts?: readonly number[];
}

/** What one row of a bucket holds; terms that it does not name are the snapshot's. */
export interface ReadyPart extends Partial<Terms> {
  /** Units held at `ts`; negative while units are owed. */
  value: number;
  /** The last write, in ms since the epoch; 0 for a part that was never written. */
  ts: number;
  /** Sliding window: units that are missing from `value`, with the moments at which they were taken, in any order. */
  recent?: readonly (readonly [moment: number, units: number])[];
}

/** The terms are those of the whole limit; `parts` make it up exactly. */
export interface ReadySnapshot extends Terms {
  name: string;
  unitsPerToken: number;
  parts: readonly ReadyPart[];
  /**
   * A limit on several rows that may deny a demand of at most `units` on what a few rows say: the capacity and refill of its
   * smallest row. A denial then waits until every row, empty or not, serves its share.
   */
  few?: { units: number; capacity: number; refill: number };
}
