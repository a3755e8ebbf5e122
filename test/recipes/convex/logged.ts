// convex/logged.ts
import { defineRateLimits, MINUTE, type RateLimitDecision } from "convex-rate-limits";
import { v } from "convex/values";
import { mutation } from "./_generated/server";

/** One line a denial. A log stream takes it apart, so that it can be searched by limit, key and mode. */
function logDenial(_ctx: unknown, { name, key, count, mode, status }: RateLimitDecision): void {
  if (status.ok) return;
  const { retryAt } = status;
  console.log(JSON.stringify({ event: "rate limited", limit: name, key, count, mode, retryAt }));
}

const { rateLimit } = defineRateLimits(
  { report: { kind: "token bucket", rate: 1, period: MINUTE, keyed: true } },
  { throws: true, onDecision: logDenial },
);

export const file = mutation({
  args: { user: v.string() },
  returns: v.null(),
  handler: async (ctx, { user }) => {
    await rateLimit(ctx, { name: "report", key: user });
    return null;
  },
});
