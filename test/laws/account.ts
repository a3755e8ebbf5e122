/**
 * The most that a limit may have let through, kept by the rules alone: what each bucket of its kind would hold if it were one row
 * and nothing had ever been lost. On any number of rows nothing may start that this account cannot pay.
 */
import type { RateLimitConfig } from "convex-rate-limits";
import { isLess, least, minus, plus, type Rational, rational, ZERO } from "../model/rational.js";
import { accrued } from "./accrual.js";
import { capacityOf } from "./capacity.js";

export interface Account {
  /** Takes tokens for work that starts at `at`; false when they cannot be there by then. */
  readonly start: (config: RateLimitConfig, now: number, count: number, at: number) => boolean;
  /** Takes tokens without asking. */
  readonly charge: (config: RateLimitConfig, now: number, count: number) => void;
  /**
   * Gives tokens back: of a job that was promised for `at`, or of what started last. Called when the limit has written something: a
   * full bucket has no room, and is not written. The account may be full where the limit is not, so it cannot know by itself.
   */
  readonly giveBack: (config: RateLimitConfig, now: number, count: number, at?: number) => void;
}

/** Of a kind that refills. The clock of the account never goes back behind a write. */
export function refillingAccount(): Account {
  let held: Rational | undefined;
  let ts = 0;
  const goTo = (config: RateLimitConfig, now: number) => {
    const capacity = rational(capacityOf(config));
    held = held ? least(capacity, plus(least(capacity, held), accrued(config, ts, now))) : capacity;
    ts = Math.max(ts, now);
    return held;
  };
  return {
    start(config, now, count, at) {
      held = minus(goTo(config, now), rational(count));
      return !isLess(plus(held, accrued(config, ts, Math.max(ts, at))), ZERO);
    },
    charge(config, now, count) {
      held = minus(goTo(config, now), rational(count));
    },
    giveBack(config, now, count) {
      held = least(rational(capacityOf(config)), plus(goTo(config, now), rational(count)));
    },
  };
}

interface Taken {
  readonly at: number;
  /** What the job was promised: earlier than `at` where its clock was behind. */
  readonly promised: number;
  left: Rational;
}

/**
 * Of a sliding window: what started, and what will. A write lets go what has left the window by then, under the limit that it is
 * made with, so a longer period does not bring it back.
 *
 * @param knowsClocks - whether the bucket is one row, which moves what a clock behind it takes to its last write. On several rows each
 * has a last write of its own: then only the entries count that no clock has seen leave.
 */
export function slidingAccount(knowsClocks: boolean): Account {
  let taken: Taken[] = [];
  let ts = 0;
  const goTo = ({ period }: RateLimitConfig, now: number) => {
    ts = Math.max(ts, now);
    taken = taken.filter(({ at }) => at > ts - (period as number));
  };
  const momentOf = (now: number) => (knowsClocks ? ts : now);
  return {
    start(config, now, count, at) {
      goTo(config, now);
      const moment = at > now ? at : momentOf(now);
      taken.push({ at: moment, promised: at, left: rational(count) });
      const within = taken.filter((each) => each.at > Math.max(moment, ts) - (config.period as number));
      const sum = within.reduce((total, { left }) => plus(total, left), ZERO);
      return !isLess(rational(config.rate), sum);
    },
    charge(config, now, count) {
      goTo(config, now);
      taken.push({ at: momentOf(now), promised: now, left: rational(count) });
    },
    giveBack(config, now, count, promised) {
      goTo(config, now);
      let away = rational(count);
      const given = taken
        .filter((entry) => (promised === undefined ? entry.at <= ts : [entry.at, entry.promised].includes(promised)))
        .sort((a, b) => b.at - a.at);
      for (const entry of given) {
        const part = least(entry.left, away);
        entry.left = minus(entry.left, part);
        away = minus(away, part);
      }
    },
  };
}
