/** All limits of the app that are in the component. */
import { DAY, defineRateLimits, HOUR, MINUTE, SECOND } from "convex-rate-limits/component";
import { rateLimitJobs } from "convex-rate-limits/jobs";
import { rateLimitLive } from "convex-rate-limits/live";
import { components } from "./_generated/api.js";

export const limits = defineRateLimits(
  {
    /** Five messages in a row are a conversation; more than one a second for long is a script. */
    sendMessage: { kind: "token bucket", rate: 60, period: MINUTE, capacity: 5, keyed: true },

    /** For the whole app: more than we could welcome in an hour, and a cap on what a bot can create. */
    signUp: { kind: "fixed window", rate: 100, period: HOUR, keyed: false },

    /** Five mistakes at once, then one more every six minutes: 240 guesses a day at a password. */
    failedLogin: { kind: "token bucket", rate: 10, period: HOUR, capacity: 5, keyed: true },

    /** Counts the failed sign-ins of a day. The lock is an override (lockouts.ts). */
    failedSignIn: { kind: "sliding window", rate: 50, period: DAY, keyed: true },

    /**
     * Our model provider grants 60,000 tokens a minute. They are spent evenly, in bursts of at most 2,000. No question is
     * promised a time that is more than a minute away: `maxReserved` is the tokens of one minute.
     */
    llmTokens: {
      kind: "token bucket",
      rate: 60_000,
      period: MINUTE,
      capacity: 2_000,
      maxReserved: 60_000,
      keyed: false,
    },

    /** The agent's model. Jobs wait in a queue: paying users go first, and users of one plan take turns. */
    agentTokens: {
      kind: "token bucket",
      rate: 100,
      period: SECOND,
      capacity: 20,
      keyed: false,
      queue: { priorities: 2, aging: MINUTE, fair: true },
    },

    /** Reports: a paying user may make more of them (plans.ts). */
    report: { kind: "token bucket", period: DAY, keyed: true, plans: { free: { rate: 3 }, pro: { rate: 100 } } },

    /** An upload takes a token in each of these three layers (uploads.ts). */
    uploadsByUser: { kind: "token bucket", rate: 3, period: MINUTE, keyed: true },
    uploadsByTeam: { kind: "token bucket", rate: 5, period: MINUTE, keyed: true },
    uploads: { kind: "token bucket", rate: 8, period: MINUTE, keyed: false },

    /** The geocoder allows ten calls in each second of the clock. `start: 0` gives our windows the same starts as the provider's. */
    geocoder: { kind: "fixed window", rate: 10, period: SECOND, start: 0, keyed: false },
  },
  { component: components.rateLimits },
);

export const { rateLimit, checkRateLimit, rateLimitAll, resetRateLimit, adjustRateLimit } = limits;
export const { scheduleRateLimited, cancelRateLimited } = rateLimitJobs(limits);
export const { getRateLimit, exposeRateLimit } = rateLimitLive(limits);
