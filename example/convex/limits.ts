/** All limits of the app. They are in the component, so that actions and HTTP actions can ask them, too. */
import { rateLimitAdmin } from "convex-rate-limits/admin";
import { defineRateLimits, HOUR, MINUTE } from "convex-rate-limits/component";
import { rateLimitLive } from "convex-rate-limits/live";
import { rateLimitQueue } from "convex-rate-limits/component/queue";
import { components } from "./_generated/api";

/** How often the model is asked one question, if the provider denies. */
export const ATTEMPTS = 5;

export const limits = defineRateLimits(
  {
    /** Five messages in a row are a conversation; more than one in six seconds for long is a script. */
    sendMessage: { kind: "token bucket", rate: 10, period: MINUTE, capacity: 5, keyed: true },

    /** Five mistakes at once, then one more every six minutes: 245 guesses a day at one password. */
    loginsOfEmail: { kind: "token bucket", rate: 10, period: HOUR, capacity: 5, keyed: true },

    /** One address that tries many emails. An office shares an address, so this allows more than one email does. */
    loginsFromAddress: { kind: "token bucket", rate: 60, period: HOUR, capacity: 20, keyed: true },

    /** New accounts from one address. */
    signUps: { kind: "token bucket", rate: 5, period: HOUR, keyed: true },

    /** The model's tokens of one user in a day (UTC). Both plans share one bucket, so an upgrade keeps what was used. */
    tokensOfDay: {
      kind: "fixed window",
      period: "day",
      keyed: true,
      plans: { free: { rate: 20_000 }, pro: { rate: 500_000 } },
    },

    /** What the model's provider grants us. Questions wait in a queue: paying users first, users of one plan in turns. */
    modelTokens: {
      kind: "token bucket",
      rate: 60_000,
      period: MINUTE,
      capacity: 4_000,
      keyed: false,
      queue: { priorities: 2, fair: true, maxQueued: 1_000, attempts: ATTEMPTS },
    },

    /** The HTTP API: messages that a caller reads. Without a valid API key the caller is an address. */
    apiMessages: {
      kind: "token bucket",
      period: MINUTE,
      keyed: true,
      plans: {
        anonymous: { rate: 60, capacity: 20 },
        free: { rate: 600, capacity: 200 },
        pro: { rate: 6_000, capacity: 2_000 },
      },
    },
  },
  { component: components.rateLimits },
);

export const { exposeRateLimit } = rateLimitLive(limits);
export const { enqueueRateLimited, cancelQueued, exposeQueue } = rateLimitQueue(limits);
export const { listRateLimits, overrideRateLimit, clearRateLimitOverride, sweepRateLimits } = rateLimitAdmin(limits);
