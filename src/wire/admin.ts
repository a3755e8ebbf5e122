/** The wire form of what administrators call. */
import { type Infer, type ObjectType, v } from "convex/values";
import { bucketArgs, outlookFields, reason } from "./answers.js";
import { configs, configValidator, overrideFields, queueTerms } from "./configs.js";

export const overrideArgs = () => ({ ...bucketArgs(), ...overrideFields() });

export const pageValidator = () =>
  v.object({
    page: v.array(
      v.object({
        key: v.optional(v.string()),
        value: v.number(),
        ok: v.boolean(),
        retryAt: v.optional(v.number()),
        reason: v.optional(reason()),
        pausedUntil: v.optional(v.number()),
        error: v.optional(v.string()),
        override: v.optional(v.object(overrideFields())),
        plan: v.optional(v.string()),
        ...outlookFields(),
      }),
    ),
    cursor: v.union(v.string(), v.null()),
  });

/**
 * Buckets of a limit in the order of their keys, the one without a key first. A key with plans of several kinds or
 * periods has an entry for each. Keys with a full bucket may be missing.
 *
 * - `value`: tokens held now, negative while tokens are owed to reservations and charges.
 * - `ok`, `retryAt`, `remaining`, `resetAt`: what `checkRateLimit` would answer now.
 * - `override`: what holds at the key in place of the limit's config, while it does.
 * - `pausedUntil`: nothing starts before this time.
 * - `plan`: the plan that the key was last asked under.
 * - `error`: what is wrong with damaged rows; calls throw until the bucket is reset, or its override cleared.
 * - `cursor`: where the next page starts; null after the last.
 */
export type RateLimitPage = Infer<ReturnType<typeof pageValidator>>;

export const listArgs = () => ({
  name: v.string(),
  config: configValidator(),
  plans: v.optional(configs()),
  cursor: v.optional(v.string()),
  limit: v.optional(v.number()),
  onlyLimited: v.optional(v.boolean()),
  onlyOverridden: v.optional(v.boolean()),
});

/** A row of a target goes when it is full under each of the configs. `queues`: the terms of the limits with queues. */
export const sweepArgs = () => ({
  targets: v.array(v.object({ name: v.string(), configs: v.array(configValidator()) })),
  queues: v.optional(v.array(v.object(queueTerms()))),
  cursor: v.optional(v.string()),
});
export type SweepArgs = ObjectType<ReturnType<typeof sweepArgs>>;

export const sweepResultValidator = () => v.object({ deleted: v.number(), isDone: v.boolean() });

/** The result of one batch of a sweep: rows deleted, and whether it was the last batch. */
export type SweepResult = Infer<ReturnType<typeof sweepResultValidator>>;
