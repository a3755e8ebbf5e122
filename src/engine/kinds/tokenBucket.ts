/** Token bucket: units arrive continuously, `refill` of them per millisecond, and are saved up to the capacity. */
import type { TokenBucketConfig } from "../../wire/configs.js";
import { limitOf } from "../grain.js";
import { fieldError } from "../misuse.js";
import { END_OF_TIME } from "../time.js";
import { MAX_TOKENS } from "../units.js";
import type { Kind, Limit, Run, Share, State } from "./kind.js";
import { RefillingKind } from "./refilling.js";
import { shareOfLimit } from "./shares.js";

export class TokenBucketKind extends RefillingKind<Limit> implements Kind {
  parse(name: string, config: TokenBucketConfig): Limit {
    const { rate, period, capacity = rate } = config;
    if (rate / period > MAX_TOKENS) {
      // A steeper slope has no use, leaves no units for the tokens, and may even overflow to infinity.
      throw fieldError(name, "period", `at least ${rate / MAX_TOKENS} at this rate`, period);
    }
    const own = { name, kind: this, config: { ...config, capacity } };
    return limitOf(own, { ...config, capacity, per: period, periodMs: 1 });
  }

  protected accrued({ refill }: Limit, { ts }: State, to: number): number {
    return Math.floor(Math.max(0, to - ts) * refill);
  }

  whenHolding(limit: Limit, state: State, units: number): number {
    // Four units in the last place: more than the rounding of a quotient and a product.
    const QUOTIENT_ERROR = 2 ** -50;
    const { value, ts } = state;
    const missing = Math.max(0, units - Math.min(limit.capacity, value));
    // The quotient is rounded, and `accrued` decides, so the search starts up to eight milliseconds before the one it
    // names.
    const elapsedMs = Math.floor((missing / limit.refill) * (1 - QUOTIENT_ERROR));
    let time = ts + elapsedMs;
    while (time < END_OF_TIME && this.accrued(limit, state, time) < missing) time++;
    return Math.min(END_OF_TIME, time);
  }

  shareOf(limit: Limit, share: Share): Limit {
    return { ...shareOfLimit(limit, share), refill: limit.refill / share.count };
  }

  runsFrom(): readonly Run[] {
    // At the end of each ms.
    return [{ start: 0, period: 1 }];
  }
}
