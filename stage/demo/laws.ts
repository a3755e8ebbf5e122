/** The laws that the demo checks its own results against, as arithmetic on what was observed. */

/** Work that started, and the tokens that it took. An observer outside knows only that it started between two times. */
export interface Start {
  earliest: number;
  latest: number;
  tokens: number;
}

/** The most tokens in an interval beyond what the law allows. */
export interface Overdraft {
  from: number;
  to: number;
  tokens: number;
  most: number;
}

/**
 * Law 1, the bound: in any interval of length T the tokens that start work number at most capacity + rate * T / period.
 * Returns the interval that is furthest beyond it, or undefined if none is. `starts` are in the order in which they happened.
 */
export function overdraft(
  starts: Start[],
  { rate, period, capacity }: { rate: number; period: number; capacity: number },
): Overdraft | undefined {
  let worst: Overdraft | undefined;
  for (const [first, { earliest: from }] of starts.entries()) {
    let tokens = 0;
    for (const { latest: to, tokens: more } of starts.slice(first)) {
      tokens += more;
      const most = capacity + ((to - from) * rate) / period;
      if (tokens - most > (worst ? worst.tokens - worst.most : 0)) worst = { from, to, tokens, most };
    }
  }
  return worst;
}

/** Counts how often each item occurs. */
export function tally<T>(items: Iterable<T>): Map<T, number> {
  const counts = new Map<T, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}
