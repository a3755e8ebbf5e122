/** Charges, refunds and pauses: arguments, from the caller or from the wire → units. Neither source is trusted. */
import type { AdjustmentArgs } from "../wire/answers.js";
import { checkField, type Field } from "./fields.js";
import type { Limit } from "./kinds/kind.js";
import type { Bucket } from "./bucket.js";
import type { Change } from "./sharding/shard.js";
import { END_OF_TIME, FURTHEST_MS } from "./time.js";
import { MAX_TOKENS, unitsOf } from "./units.js";

export const adjustedField: Field = { atLeast: -MAX_TOKENS, atMost: MAX_TOKENS, isRequired: true };

/** The units of an adjustment. @throws when `count` is not a number from -MAX_TOKENS to MAX_TOKENS. */
export function parseAdjustment(limit: Limit, count: number): number {
  checkField(limit.name, "count", adjustedField, count);
  return unitsOf(limit, count);
}

/** A charge to one bucket, in units; negative for a refund. */
export interface Adjustment extends Bucket, Change {
  readonly asked: AdjustmentArgs;
}

const timeField = { atLeast: 0, atMost: END_OF_TIME, unit: "milliseconds since the epoch" } as const;

/** When tokens were taken, or promised for. */
export const takenAtField: Field = { ...timeField, isWhole: true };

export const untilField = { ...timeField, isRequired: true } as const satisfies Field;

/**
 * The first whole ms at which a pause is over.
 * @throws when it would end more than five years from now.
 */
export function parsePause(name: string, until: number, now: number): number {
  checkField(name, "until", { ...untilField, atMost: now + FURTHEST_MS }, until);
  return Math.ceil(until);
}

/**
 * With `at`, the time that its tokens were promised for, it takes a reservation back, so it is rounded as that was: all
 * that was charged comes back. With `takenAt` tokens come back that were taken then.
 * @throws when a time is none that a Date can name.
 */
export function adjustmentOf(bucket: Bucket, asked: AdjustmentArgs): Adjustment {
  const { count, at, takenAt } = asked;
  const units = at === undefined ? parseAdjustment(bucket.limit, count) : -parseAdjustment(bucket.limit, -count);
  checkField(bucket.name, "at", takenAtField, at);
  checkField(bucket.name, "takenAt", takenAtField, takenAt);
  const taken = takenAt ?? at;
  const taking = taken === undefined ? undefined : { takenAt: taken, startsAt: Math.max(taken, at ?? taken) };
  return { ...bucket, asked, units, taking };
}
