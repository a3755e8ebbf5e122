/** The events of an exact bucket since it was last full, in fractions. A take is undone by a replay of the other events. */
import { greatest, isLess, least, minus, plus, type Rational, rational, ZERO } from "../rational.js";
import type { RefillingLimit } from "./config.js";

/** The tokens that count as used in a fixed window, and since when. */
export interface Window {
  readonly since: number;
  readonly used: Rational;
  readonly excess?: Rational;
  readonly before?: number | undefined;
  /** Whether the kind changed in it: what was used before is not known. */
  readonly isAdopted?: boolean | undefined;
}

/** Tokens that were taken, or came back when negative, under the limit of that time. */
export interface Happened {
  readonly limit: RefillingLimit;
  readonly ts: number;
  /** The tokens of the bucket before. */
  readonly before: Rational;
  readonly taken: Rational;
  /** The date of a take by its answer, which distinguishes it from others of its millisecond. */
  readonly date?: number | undefined;
  /** Of a pause, which takes all tokens: nothing that was taken until then comes back. */
  readonly pausedAt?: number;
  readonly window?: Window | undefined;
}
export type History = readonly Happened[];

/**
 * With one more event. A full bucket forgets what it had before, unless more was used under a larger capacity than a lower one can
 * count. Takes of one time are one event.
 */
export function withEvent(history: History, event: Happened): History {
  const { before, limit, window } = event;
  const counts = window !== undefined && isLess(ZERO, plus(window.used, window.excess ?? ZERO));
  const kept = counts || isLess(before, rational(limit.capacity)) ? history : [];
  const last = kept.at(-1);
  const isOfOne =
    last?.ts === event.ts && last.limit === event.limit && (last.date ?? event.date) === (event.date ?? last.date);
  const isSame = isOfOne && last.pausedAt === undefined && event.pausedAt === undefined;
  if (!last || !isSame || isLess(last.taken, ZERO) || isLess(event.taken, ZERO)) return [...kept, event];
  return [...kept.slice(0, -1), { ...last, taken: plus(last.taken, event.taken), date: last.date ?? event.date }];
}

/** The most tokens that were taken at once on a date. */
export function mostTaken(history: History, on: number): Rational {
  return history.reduce((most, { date, taken }) => (date === on ? greatest(most, taken) : most), ZERO);
}

/** The tokens after an event. A gift to a full bucket is lost. */
export function leftBy({ limit, before, taken }: Happened): Rational {
  return least(rational(limit.capacity), minus(before, taken));
}

/** The most peaks at any time that were not reached again until then. */
export function mostPeaks(history: History): number {
  let peaks: Rational[] = [];
  let most = 0;
  for (const { before } of history) {
    peaks = [...peaks.filter((peak) => isLess(before, peak)), before];
    most = Math.max(most, peaks.length);
  }
  return most;
}
