/** Every limit of the app that lives in the component, in one place. */
import { DAY, defineRateLimits, HOUR, MINUTE, SECOND } from "convex-rate-limits/component";
import { components } from "./_generated/api.js";

export const limits = defineRateLimits(
  {
    /** Five messages in a row are a conversation; more than one a second for long is a script. */
    sendMessage: { kind: "token bucket", rate: 60, period: MINUTE, capacity: 5, keyed: true, overrides: true },

    /** For the whole app: more than we could welcome (or that a bot could create) in an hour. */
    signUp: { kind: "fixed window", rate: 100, period: HOUR, keyed: false },

    /** Five mistakes at once, then one more every six minutes: 240 guesses a day at a password. */
    failedLogin: { kind: "token bucket", rate: 10, period: HOUR, capacity: 5, keyed: true },

    /** Counts the failed sign-ins of a day; what locks is an override (lockouts.ts). */
    failedSignIn: { kind: "sliding window", rate: 50, period: DAY, keyed: true, overrides: true },

    /**
     * Our model provider grants 60,000 tokens a minute. They are spent evenly, in bursts of at most 2,000, and nobody is
     * promised a place in the queue that is more than a minute away.
     */
    llmTokens: {
      kind: "token bucket",
      rate: 60_000,
      period: MINUTE,
      capacity: 2_000,
      maxReserved: 60_000,
      keyed: false,
    },

    /** The agent's model: jobs wait in a queue, paying users first, and users of one plan take turns. */
    agentTokens: {
      kind: "token bucket",
      rate: 100,
      period: SECOND,
      capacity: 20,
      keyed: false,
      queue: { priorities: 2, aging: MINUTE, fair: true },
    },

    /** Reports, of which a paying user may make more (plans.ts). */
    report: { kind: "token bucket", period: DAY, keyed: true, plans: { free: { rate: 3 }, pro: { rate: 100 } } },

    /** An upload needs room in all three layers (uploads.ts). */
    uploadsByUser: { kind: "token bucket", rate: 3, period: MINUTE, keyed: true },
    uploadsByTeam: { kind: "token bucket", rate: 5, period: MINUTE, keyed: true },
    uploads: { kind: "token bucket", rate: 8, period: MINUTE, keyed: false },

    /** The geocoder counts ten calls in each second of the clock; `start` makes our windows the provider's. */
    geocoder: { kind: "fixed window", rate: 10, period: SECOND, start: 0, keyed: false },
  },
  { component: components.rateLimits },
);

export const {
  rateLimit,
  checkRateLimit,
  rateLimitAll,
  resetRateLimit,
  adjustRateLimit,
  getRateLimit,
  scheduleRateLimited,
  cancelRateLimited,
  exposeRateLimit,
} = limits;
