/** The same limit in the official component: a fixed number of shards. */
import { RateLimiter, type RateLimitConfig } from "@convex-dev/rate-limiter";

type Component = ConstructorParameters<typeof RateLimiter>[0];
type Ctx = Parameters<RateLimiter["limit"]>[0];

/** One call. `shards` comes from the slider. */
export async function hit(ctx: Ctx, component: Component, { rate, shards }: { rate: number; shards: number }) {
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
