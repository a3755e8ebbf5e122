/** Token bucket: units arrive continuously, `refill` of them per millisecond, and are saved up to the capacity. */
import type { TokenBucketConfig } from "../../wire/configs.js";
import { fieldError } from "../misuse.js";
import { END_OF_TIME } from "../time.js";
import { lowered, MAX_TOKENS, raised } from "../units.js";
import type { Kind, Limit, Outlook, Run, Share, State } from "./kind.js";
import { RefillingKind } from "./refilling.js";
import { shareOfUnits } from "./shares.js";
import { countIn } from "./terms.js";

export class TokenBucketKind extends RefillingKind<Limit> implements Kind {
  parse(name: string, config: TokenBucketConfig): Limit {
    const { rate, period, capacity = rate } = config;
    if (rate / period > MAX_TOKENS) {
      // A steeper slope has no use, leaves no units for the tokens, and may even overflow to infinity.
      throw fieldError(name, "period", `at least ${rate / MAX_TOKENS} at this rate`, period);
    }
    const counted = countIn(name, { ...config, capacity, per: period, periodMs: 1 });
    return { name, kind: this, config: { ...config, capacity }, ...counted };
  }

  protected accrued({ refill }: Limit, { ts }: State, to: number): number {
    return Math.floor(Math.max(0, to - ts) * refill);
  }

  whenHolding(limit: Limit, state: State, units: number): number {
    // Four units in the last place: more than the rounding of a quotient and a product.
    const QUOTIENT_ERROR = 2 ** -50;
    const { value, ts } = state;
    const missing = Math.max(0, units - Math.min(limit.capacity, value));
    // The quotient is rounded, and `accrued` decides, so the search starts up to eight milliseconds before the one it names.
    const elapsedMs = Math.floor((missing / limit.refill) * (1 - QUOTIENT_ERROR));
    let time = ts + elapsedMs;
    while (time < END_OF_TIME && this.accrued(limit, state, time) < missing) time++;
    return Math.min(END_OF_TIME, time);
  }

  shareOf(limit: Limit, share: Share): Limit {
    const capacity = shareOfUnits(limit.capacity, limit.unitsPerToken, share);
    return { ...limit, capacity, refill: limit.refill / share.count };
  }

  runsFrom(): readonly Run[] {
    // At the end of each ms.
    return [{ start: 0, period: 1 }];
  }

  windowMs({ config, tokens }: Limit): number {
    const { rate, period } = config as TokenBucketConfig;
    // Not a quotient and a product where the period itself is meant.
    return tokens === 0 || tokens === rate ? period : Math.ceil(lowered((tokens / rate) * period));
  }

  renewedAt(limit: Limit, left: Outlook, next: { spent: number; count: number }, now: number): number {
    const { spent, count } = next;
    const { rate, period } = limit.config as TokenBucketConfig;
    const { remaining, resetAt, retryAt = 0 } = left;
    // Counted back from when the bucket would be full: that is exact, and `remaining` is rounded down.
    const byReset = resetAt - Math.floor(raised(((limit.tokens - spent - count) / rate) * period));
    // With several rows, `resetAt` is when the last of them is full. Remaining tokens mean no debt, so the time can also be
    // counted from now.
    const missingMs = ((count - (remaining - spent)) / rate) * period;
    return Math.max(remaining > 0 ? Math.min(byReset, now + Math.ceil(lowered(missingMs))) : byReset, retryAt);
  }
}
