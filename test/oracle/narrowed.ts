/** An answer narrows a bucket that is a pair. */
import { advance, holding, isQuota, least, most, type State, type Stored } from "./bucket.js";
import { type Amount, type Bucket, type Happening, levels, timeOf } from "./history.js";
import type { Terms } from "./terms.js";

/** The bucket, since an answer has shown a range of what it holds at its own time. Undefined if it cannot. */
export function narrowed(bucket: Bucket, now: number, terms: Terms, range: Partial<Amount>): Bucket | undefined {
  const { lo: least = -NEVER_UNITS, hi: most = NEVER_UNITS } = range;
  const held = levels(bucket, now, terms);
  if (held.hi < least || held.lo > most) return undefined;
  // A log has no one value that could be set.
  if (terms.kind === "sliding window" || (held.lo >= least && held.hi <= most)) return bucket;
  const at = timeOf(bucket, now);
  // A debt that was paid, or was not, explains it without another number. If the sides differ beside, nobody knows which it was.
  const isOfDebt = bucket.lo?.value === bucket.hi?.value && bucket.lo?.used === bucket.hi?.used;
  const up: Move = { from: held.lo, to: least, last: held.hi < most ? held.hi : most, isOfDebt };
  const down: Move = { from: held.hi, to: most, last: held.lo > least ? held.lo : least, isOfDebt };
  const raised = held.lo < least ? moved(bucket.lo, at, terms, up) : bucket.lo;
  const lowered = held.hi > most ? moved(bucket.hi, at, terms, down) : bucket.hi;
  if (held.lo >= least) return { ...bucket, hi: lowered };
  const shown: Happening = { type: "shown", at, terms, least };
  return { ...bucket, lo: raised, hi: lowered, events: [...bucket.events, shown] };
}
const NEVER_UNITS = 10n ** 40n;

/** How far a level moves: to what an answer has shown at least, and by no means beyond `last`: the other side, or what was shown of it. */
interface Move {
  readonly from: bigint;
  readonly to: bigint;
  readonly last: bigint;
  readonly isOfDebt: boolean;
}

/** The bucket whose level at a time is another. Nothing is written, so its last write stays. */
function moved(stored: Stored, at: number, terms: Terms, { from, to, last, isOfDebt }: Move): Stored {
  const state = stored ?? advance(undefined, at, terms);
  const units = to - from;
  const other = { ...state, keepsDebt: units < 0n };
  const explained = advance(other, at, terms).value;
  const isWithin = units < 0n ? last <= explained && explained <= to : to <= explained && explained <= last;
  if (isWithin) return isOfDebt ? other : stored;
  // If a window was paused, the answer may have shown what it holds, or what was not used of it.
  if (isQuota(terms) && to >= 0n && advance(state, at, terms).paused === (units < 0n ? "most" : "least")) {
    const bound = units < 0n ? least : most;
    return { ...state, value: bound(state.value, to), used: terms.capacity - bound(terms.capacity - state.used, to) };
  }
  // If a quota owes nothing, only what was used counts.
  const shifted = state.value < 0n || to < 0n ? state.value + units : most(0n, state.value + units);
  const value = isQuota(terms) ? shifted : to - accrued(state, at, terms);
  // What a plan that saves up holds says nothing of what a quota counts as used.
  const plain = { ...state, value, used: isQuota(terms) ? most(0n, state.used - units) : state.used };
  return advance(plain, at, terms).value === to ? plain : holding(advance(state, at, terms), to, terms);
}

/** The units that arrive until a time, if nothing is full. */
function accrued(state: State, at: number, terms: Terms): bigint {
  return advance({ ...state, value: -NEVER_UNITS }, at, terms).value + NEVER_UNITS;
}
