/** A hot limit in your tables: its rows split where it is hot. */
import { defineRateLimits, SECOND } from "convex-rate-limits";
import type { MutationCtx } from "../_generated/server.js";

const { rateLimit } = defineRateLimits({});

/** One call. How many rows there are, calls decide. */
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
