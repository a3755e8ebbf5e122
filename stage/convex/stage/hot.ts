/** A hot limit in your tables: its rows split under load. */
import { defineRateLimits, SECOND } from "convex-rate-limits";
import type { MutationCtx } from "../_generated/server.js";

const { rateLimit } = defineRateLimits({});

/** One call. The calls decide how many rows there are. */
export async function hit(ctx: MutationCtx, rate: number) {
  return await rateLimit(ctx, {
    name: "hot",
    config: {
      kind: "token bucket",
      rate,
      period: SECOND,
      capacity: 2 * rate,
      shards: "auto",
    },
    throws: false,
  });
}
