/**
 * Concurrency: at most `slots` leases at once. A sliding window of slots over the length of a lease, whose takes each
 * have a date of their own, so that a lease is named by its date.
 *
 * Invariant: no date is used twice. A take is dated after all entries of the log, and a lease that was released leaves
 * an entry without units until the next take.
 */
import type { ConcurrencyConfig, SlidingWindowConfig } from "../../wire/configs.js";
import type { Limit, State } from "./kind.js";
import { logOf, merge } from "./log.js";
import { bucketNameOf } from "./policy.js";
import { writeOf } from "./shares.js";
import { SlidingWindowKind, withEntries } from "./slidingWindow.js";

export class ConcurrencyKind extends SlidingWindowKind {
  override parse(name: string, config: SlidingWindowConfig | ConcurrencyConfig): Limit {
    const { slots, lease } = config as ConcurrencyConfig;
    // Nothing is reserved: nobody knows when a slot is given back.
    const window = { kind: "sliding window", rate: slots, period: lease, maxReserved: 0 } as const;
    return { ...super.parse(name, window), config, bucket: bucketNameOf(config) };
  }

  override take(limit: Limit, state: State, units: number): State {
    const recent = logOf(state);
    const at = Math.max(state.ts, (recent.at(-1)?.at ?? 0) + 1);
    return withEntries(limit, state, [...recent.filter((entry) => entry.units > 0 || entry.all), { at, units }]);
  }

  /** A lease that is joined with others (under an override that allows everything) ends with the last of them. */
  release({ unitsPerToken }: Limit, state: State, takenAt: number): State {
    const recent = logOf(state);
    const own = recent.find(({ at, from, units }) => at === takenAt && from === undefined && units === unitsPerToken);
    if (!own) return state;
    const entries = recent.map((entry) => (entry === own ? { at: takenAt, units: 0 } : entry));
    return { ...state, value: state.value + own.units, recent: entries };
  }

  /** A slot comes back by its lease only. */
  override giveBack(_limit: Limit, state: State): State {
    return state;
  }

  /** Leases go on. Until the end of the pause nothing starts (decide.ts). */
  override pause(_limit: Limit, state: State): State {
    return state;
  }

  /** Entries keep their dates, which name their leases. */
  override join(limit: Limit, states: readonly State[]): State {
    return withEntries(limit, { ...writeOf(states), value: 0 }, merge(states.map(logOf)));
  }
}
