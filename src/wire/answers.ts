/** The wire form of calls and their answers. The public types are inferred from it. */
import { type Infer, type ObjectType, v } from "convex/values";
import { configs, configValidator } from "./configs.js";
import type { TypeOf } from "./typeOf.js";

export const outlookFields = () => ({
  /** Whole tokens left after this decision, never below 0. Absent if only some rows of a split bucket were read. */
  remaining: v.optional(v.number()),
  /** When the bucket is full again, or the fixed window ends. Absent if only some rows of a split bucket were read. */
  resetAt: v.optional(v.number()),
});
/** Only HTTP gets it, for header fields: what a full bucket holds, and the time in which that comes back. */
const policy = () => ({
  policy: v.optional(v.object({ tokens: v.number(), windowMs: v.number(), unlimited: v.optional(v.literal(true)) })),
});
/** Which bucket: the arguments that every registered function of the component takes. */
export const bucketArgs = () => ({ name: v.string(), key: v.optional(v.string()) });
export const leaseFields = () => ({
  ...bucketArgs(),
  /** When the slot was taken, in milliseconds since the epoch. Two leases of a key have the same only after a reset. */
  takenAt: v.number(),
  /** When the slot is free by itself. */
  until: v.number(),
  /** How much the control row of the key had counted: a reset that came later has freed the slot. */
  seen: v.optional(v.number()),
});
/** A slot that was taken: the argument of `releaseRateLimit`. It can be stored, and be an argument of a job. */
export interface RateLimitLease extends TypeOf<typeof leaseFields> {}

const allowed = () => ({
  ok: v.literal(true),
  /** Present for a reservation that waits: run the work at this time, without asking again. */
  retryAt: v.optional(v.number()),
  ...outlookFields(),
  /** With `refundable`: when they were taken, for `adjustRateLimit`. A sliding window's promise passes `retryAt`. */
  takenAt: v.optional(v.number()),
  /** For a reservation with `refundable`, on a split bucket: the row that made it. A cancel gives back to it. */
  row: v.optional(v.string()),
  /** Only of `kind: "concurrency"`: the slot that was taken. */
  lease: v.optional(v.object(leaseFields())),
  ...policy(),
});
export const reason = () => v.union(v.literal("blocked"), v.literal("too large"));
const denied = () => ({
  ok: v.literal(false),
  /**
   * The first millisecond at which the same request succeeds, if no other comes between. On a split bucket whose rows
   * were not all read, a time that suffices. The last time that a Date can name, if no wait is long enough.
   */
  retryAt: v.number(),
  /** An override blocks the key, or the bucket can never hold the count. Absent if tokens are missing, or paused. */
  reason: v.optional(reason()),
  ...outlookFields(),
  ...policy(),
});
const letThrough = () => ({
  ...allowed(),
  shadow: v.optional(v.union(v.object(allowed()), v.object(denied()))),
});

const status = () => v.union(v.object(letThrough()), v.object(denied()));
/** Named, as its fields are: otherwise the compiler writes it out in full at each use. */
export interface StatusValidator extends ReturnType<typeof status> {}
export const statusValidator: () => StatusValidator = status;

/** An answer never has a field of the other answer only, so either can be taken apart: `const { ok, reason } = …`. */
export interface AllowedStatus extends TypeOf<typeof allowed> {
  reason?: never;
}
export interface DeniedStatus extends TypeOf<typeof denied> {
  takenAt?: never;
  row?: never;
  lease?: never;
  shadow?: never;
}
export interface LetThroughStatus extends AllowedStatus {
  /** For a limit in shadow, which lets everybody through: its answer if it were enforced. A denial took nothing. */
  shadow?: AllowedStatus | DeniedStatus;
}

/** The answer of a limit. All times are whole milliseconds since the epoch. */
export type RateLimitStatus = LetThroughStatus | DeniedStatus;

/** The answer of a call that has read the whole bucket: every call of a limit without `shards`. */
export type ExactRateLimitStatus = RateLimitStatus & Required<TypeOf<typeof outlookFields>>;

export const allStatusValidator = () =>
  v.union(
    v.object({ ok: v.literal(true), retryAt: v.optional(v.number()), statuses: v.array(statusValidator()) }),
    v.object({ ok: v.literal(false), retryAt: v.number(), statuses: v.array(statusValidator()) }),
  );

/**
 * The answer of several limits together: all of them allow the work, or nothing was taken from any.
 *
 * - `statuses`: one per request, in their order. If only another limit denied, `ok` is true and nothing was taken.
 * - `retryAt`: of a denial, when the same call succeeds if no other comes between; else the latest of the reservations.
 *   Without limits in shadow; ms since the epoch.
 */
export type RateLimitAllStatus<Status extends RateLimitStatus = RateLimitStatus> =
  | { ok: true; retryAt?: number; statuses: Status[] }
  | { ok: false; retryAt: number; statuses: Status[] };

/** `plan`: the name of the plan that the config is; null for a config of the call. */
const plannedArgs = () => ({
  ...bucketArgs(),
  config: configValidator(),
  plan: v.optional(v.union(v.string(), v.null())),
});
/** `plans`: if the call names no plan, the plan that the rows were written under applies. */
export const getArgs = () => ({ ...plannedArgs(), plans: v.optional(configs()) });
export type GetArgs = ObjectType<ReturnType<typeof getArgs>>;
/** `shadow`: of several requests, a denial of this one stops none of the others. `describes`: with the `policy`. */
const demand = () => ({
  count: v.optional(v.number()),
  reserve: v.optional(v.union(v.boolean(), v.object({ within: v.number() }))),
  refundable: v.optional(v.boolean()),
  shadow: v.optional(v.boolean()),
  describes: v.optional(v.boolean()),
});
export type DemandArgs = ObjectType<ReturnType<typeof demand>>;
export const demandArgs = () => ({ ...plannedArgs(), ...demand() });
export const allArgs = () => ({ requests: v.array(v.object(demandArgs())) });
/**
 * A charge, negative for a refund. `at`: when a cancelled reservation would have started. `row` had promised it.
 * `takenAt`: when it was taken.
 */
const adjustment = () => ({
  count: v.number(),
  at: v.optional(v.number()),
  takenAt: v.optional(v.number()),
  row: v.optional(v.string()),
  describes: v.optional(v.boolean()),
});
export type AdjustmentArgs = ObjectType<ReturnType<typeof adjustment>>;
export const adjustArgs = () => ({ adjustments: v.array(v.object({ ...getArgs(), ...adjustment() })) });
export const pauseArgs = () => ({ ...bucketArgs(), until: v.number() });

export const jobValidator = () =>
  v.object({
    ...bucketArgs(),
    count: v.number(),
    config: v.optional(configValidator()),
    runAt: v.number(),
    dueAt: v.optional(v.number()),
    takenAt: v.optional(v.number()),
    row: v.optional(v.string()),
    id: v.id("_scheduled_functions"),
  });

/**
 * A job that `scheduleRateLimited` scheduled: the argument of `cancelRateLimited`. `runAt` is when it runs. `dueAt` is
 * when its tokens are there, if that differs (`spread`, a limit in shadow); 0 if a denial in shadow took none.
 * `takenAt` is when they were taken, if that differs from `dueAt`. All are in ms since the epoch. `row` is the one of
 * several rows that has promised them. `id` is of the app's own `_scheduled_functions`, so the app can see and cancel
 * the job.
 */
export type RateLimitedJob = Infer<ReturnType<typeof jobValidator>>;
