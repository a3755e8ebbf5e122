/** The tokens of a full bucket, by each kind's name for them. */
import type { RateLimitConfig } from "convex-rate-limits";

/** The kind that only tests have says `depth` where the others say `capacity`: nothing outside its file may read either. */
type Sized = RateLimitConfig & { readonly depth?: number };

export function capacityOf(config: RateLimitConfig): number {
  const { rate, capacity, depth }: Sized = config;
  return capacity ?? depth ?? rate;
}
