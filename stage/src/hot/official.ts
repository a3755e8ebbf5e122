/** The same limit in the official component: a fixed number of shards. */
import { RateLimiter, type RateLimitConfig } from "@convex-dev/rate-limiter";

interface Hit {
  ctx: Parameters<RateLimiter["limit"]>[0];
  component: ConstructorParameters<typeof RateLimiter>[0];
  rate: number;
  shards: number;
}

/** One call. `shards` comes from the slider. */
export async function hit({ ctx, component, rate, shards }: Hit) {
  const config: RateLimitConfig = {
    kind: "token bucket",
    rate,
    period: 1000,
    capacity: 2 * rate,
    shards,
  };
  const rateLimiter = new RateLimiter(component, {});
  return await rateLimiter.limit(ctx, "hot", { config });
}
