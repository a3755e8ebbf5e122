/**
 * The law of the sliding window, by brute force: in any `period`, wherever it begins, at most `rate` tokens start. Exact, and with
 * nothing in common with src.
 */
import { fraction, isLess, rational, type Rational } from "../../model/rational.js";

/** Work that started at a whole millisecond, net of what was given back. Several may start at one moment. */
export interface Started {
  readonly at: number;
  readonly count: number;
}

/** The milliseconds from `from` to before `from + period`, the tokens that started in them, and whether they may. */
export interface WorstInterval {
  readonly from: number;
  readonly tokens: Rational;
  readonly isWithin: boolean;
}

/**
 * The interval of `period` (whole milliseconds) with the most tokens, over all beginnings; of several, the latest. Counts and the
 * rate are read as they are written: ten times 0.1 is 1.
 */
export function worstInterval(
  started: readonly Started[],
  { rate, period }: { readonly rate: number; readonly period: number },
): WorstInterval {
  const counts = started.map(({ count }) => rational(count));
  const denominator = counts.reduce((product, count) => leastCommonMultiple(product, count.denominator), 1n);
  const parts = counts.map((count) => count.numerator * (denominator / count.denominator));

  let from = 0;
  let most = 0n;
  for (const beginning of beginnings(started, period)) {
    let sum = 0n;
    for (const [index, { at }] of started.entries()) {
      if (beginning <= at && at < beginning + period) sum += parts[index] ?? 0n;
    }
    if (sum >= most) [from, most] = [beginning, sum];
  }
  const tokens = fraction(most, denominator);
  return { from, tokens, isWithin: !isLess(rational(rate), tokens) };
}

/** What starts in an interval changes only where its beginning passes a start, or its end does. */
function beginnings(started: readonly Started[], period: number): number[] {
  return started.flatMap(({ at }) => [at, at + 1, at - period + 1]).sort((a, b) => a - b);
}

function leastCommonMultiple(a: bigint, b: bigint): bigint {
  return (a * b) / greatestCommonDivisor(a, b);
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : greatestCommonDivisor(b, a % b);
}
