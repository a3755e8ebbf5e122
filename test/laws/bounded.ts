/** What goes out in any interval, compared with a bound. Law 1 has another bound where clocks disagree. */
import { expect } from "vitest";
import type { TokensConfig } from "../support/configs.js";
import { isLess, plus, type Rational, ZERO } from "../support/rational.js";

/** Tokens that went out at a time; below zero if they came back. */
export interface Movement {
  readonly at: number;
  readonly count: Rational;
}

/** Expects that no more goes out from any movement until another than `most` says. Without a `most` there is no bound. */
export function expectBounded<Moved extends Movement>(
  config: TokensConfig,
  movements: readonly Moved[],
  most: (from: Moved, to: number) => Rational | undefined,
): void {
  for (const [i, from] of movements.entries()) {
    let total = ZERO;
    for (const { at: to, count } of movements.slice(i)) {
      total = plus(total, count);
      const bound = most(from, to);
      if (bound && isLess(bound, total))
        expect.fail(`${JSON.stringify({ config, from: from.at, to })} lets too much out`);
    }
  }
}
