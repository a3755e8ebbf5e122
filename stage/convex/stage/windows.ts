/** The same calls on four limits: which kind fits yours? */
import { defineRateLimits, SECOND } from "convex-rate-limits";
import { rateLimitLive } from "convex-rate-limits/live";
import { v } from "convex/values";
import { mutation } from "../_generated/server.js";
import { editable, forPage } from "./rooms.js";

const limits = {
  bucket: {
    kind: "token bucket",
    rate: 5,
    period: 10 * SECOND,
    keyed: true,
  },
  fixed: {
    kind: "fixed window",
    rate: 5,
    period: 10 * SECOND,
    keyed: true,
  },
  sliding: {
    kind: "sliding window",
    rate: 5,
    period: 10 * SECOND,
    keyed: true,
  },
  calendar: {
    kind: "fixed window",
    rate: 5,
    period: "day",
    timeZone: "Europe/Berlin",
    keyed: true,
  },
} as const;

const defined = defineRateLimits(limits);
const { rateLimit, resetRateLimit } = defined;
const { exposeRateLimit } = rateLimitLive(defined);
const configOf = editable(limits);

const NAMES = ["bucket", "fixed", "sliding", "calendar"] as const;

/** Asks each limit by itself. */
export const call = mutation({
  args: { room: v.string(), count: v.optional(v.number()) },
  returns: v.array(v.boolean()),
  handler: async (ctx, { room, count = 1 }) => {
    const answers = [];
    for (const name of NAMES) {
      const config = await configOf(ctx, room, name);
      const { ok } = await rateLimit(ctx, {
        name,
        key: room,
        count,
        config,
        throws: false,
      });
      answers.push(ok);
    }
    return answers;
  },
});

// For the page.

export const reset = mutation({
  args: { room: v.string() },
  returns: v.null(),
  handler: async (ctx, { room }) => {
    for (const name of NAMES)
      await resetRateLimit(ctx, { name, key: room });
    return null;
  },
});

const exposed = (name: (typeof NAMES)[number]) =>
  exposeRateLimit(name, forPage(configOf, name));

export const { getRateLimit: bucket } = exposed("bucket");
export const { getRateLimit: fixed } = exposed("fixed");
export const { getRateLimit: sliding } = exposed("sliding");
export const { getRateLimit: calendar } = exposed("calendar");
