/** Failed logins, for each account: only a wrong password counts. */
import { defineRateLimits, HOUR } from "convex-rate-limits";
import { rateLimitLive } from "convex-rate-limits/live";
import { v } from "convex/values";
import { mutation } from "../_generated/server.js";
import { editable, forPage } from "./rooms.js";

export const limits = {
  failedLogin: {
    kind: "token bucket",
    rate: 10,
    period: HOUR,
    capacity: 5,
    keyed: true,
  },
} as const;

const defined = defineRateLimits(limits);
const { rateLimit, checkRateLimit, resetRateLimit } = defined;
const { exposeRateLimit } = rateLimitLive(defined);
const configOf = editable(limits);

export const logIn = mutation({
  args: { room: v.string(), password: v.string() },
  returns: v.union(
    v.object({ outcome: v.literal("welcome") }),
    v.object({ outcome: v.literal("wrong"), left: v.number() }),
    v.object({
      outcome: v.union(v.literal("locked"), v.literal("blocked")),
      retryAt: v.number(),
    }),
  ),
  handler: async (ctx, { room, password }) => {
    const config = await configOf(ctx, room, "failedLogin");
    const account = {
      name: "failedLogin",
      key: room,
      config,
    } as const;

    const allowed = await checkRateLimit(ctx, account);
    if (!allowed.ok) {
      return {
        // "blocked": an admin has blocked the key.
        outcome:
          allowed.reason === "blocked"
            ? ("blocked" as const)
            : ("locked" as const),
        retryAt: allowed.retryAt,
      };
    }
    if (password !== "correct horse") {
      // Returned, not thrown: a throw would give the token back.
      const status = await rateLimit(ctx, {
        ...account,
        throws: false,
      });
      return {
        outcome: "wrong" as const,
        left: status.remaining,
      };
    }
    await resetRateLimit(ctx, account);
    return { outcome: "welcome" as const };
  },
});

// For the page.

/** The link in the "I cannot log in" mail. */
export const unlock = mutation({
  args: { room: v.string() },
  returns: v.null(),
  handler: (ctx, { room }) =>
    resetRateLimit(ctx, { name: "failedLogin", key: room }),
});

export const { getRateLimit: attempts } = exposeRateLimit(
  "failedLogin",
  forPage(configOf, "failedLogin"),
);
