/**
 * How a limit's queue behaves: what its definition says, checked, with every field present; and the row that the worker
 * learns it from.
 */
import { booleanField, checkField, checkFields, type Fields, isObject } from "../engine/fields.js";
import { fieldError, misuseError } from "../engine/misuse.js";
import { bucketOf } from "../engine/request.js";
import type { Bucket } from "../engine/bucket.js";
import type { QueueConfig, QueueTerms, RateLimitConfig } from "../wire/configs.js";
import { present } from "../wire/present.js";
import type { QueueReader, QueueWriter, WorkerCtx } from "./tables.js";

export const MAX_PRIORITIES = 10;

function makeFields(): Fields {
  const YEAR_MS = 365 * 86_400_000;
  // The most jobs that one transaction can count: it may read 32,000 documents, and has other things to read.
  const MAX_QUEUED = 10_000;
  // A job that is refused this often is refused for a lasting reason.
  const MAX_ATTEMPTS = 100;
  return {
    maxQueued: { atLeast: 1, atMost: MAX_QUEUED, isWhole: true },
    priorities: { atLeast: 1, atMost: MAX_PRIORITIES, isWhole: true },
    aging: { atLeast: 0, atMost: YEAR_MS, unit: "milliseconds", isWhole: true },
    fair: booleanField,
    attempts: { atLeast: 1, atMost: MAX_ATTEMPTS, isWhole: true },
    with: { permitted: "an object of counts by the names of limits", holds: isObject },
  };
}

/** @throws when a field is unknown or out of range, naming the limit, the field, the value and the range. */
export function checkQueueConfig(name: string, config: QueueConfig): void {
  checkFields(name, "queue", config, makeFields());
}

/**
 * @param config - of a limit in `with`.
 * @throws when such a limit can never pay for a job, naming the queue's limit, the field, the count and the range.
 */
export function checkCount(queue: string, name: string, count: unknown, config: RateLimitConfig): void {
  const field = `queue.with.${name}`;
  // Nobody would give the slot of a job back.
  if ("lease" in config) throw fieldError(queue, field, 'a limit of another kind than "concurrency"', config);
  checkField(queue, field, { above: 0, atMost: config.capacity ?? config.rate, isRequired: true }, count);
}

/** A bucket that pays for the jobs of a queue: that of the queue's own limit, or of one in `with`. */
export interface PayingBucket extends Bucket {
  /** The tokens of each job, if the bucket is of a limit in `with`. */
  readonly count?: number;
  /** Whether the queues of other keys also take from it. */
  readonly isShared?: boolean;
}

/**
 * A bucket whose jobs wait in a queue. Without a bound `maxQueued` is Infinity; priorities are 0 to one less than
 * `priorities`. `plan`, for a limit with plans: the one that the last job was enqueued under. All jobs of the bucket
 * wait by it.
 */
export interface Queue extends PayingBucket {
  readonly terms: Readonly<Required<QueueTerms["queue"]>>;
  /** The buckets of the limits in `with`: if there are any, a job takes its tokens when it starts, and none ahead. */
  readonly with: readonly PayingBucket[];
  readonly plan?: string | undefined;
}

/** The terms of a queue with every field present. */
export function withDefaults(queue: QueueTerms["queue"]): Queue["terms"] {
  return { maxQueued: Infinity, priorities: 1, aging: 60_000, fair: false, attempts: 1, ...present(queue) };
}

/**
 * The queue of one key under the terms of its limit. The jobs of a plan that a deploy has removed wait by the first
 * plan.
 * @throws when name, key, config or the queue's own config are not permitted.
 */
export function parseQueue(
  { name, queue, configs, with: others = [] }: QueueTerms,
  { key, plan }: Partial<Pick<Queue, "key" | "plan">>,
): Queue {
  checkQueueConfig(name, queue);
  const under = (all: QueueTerms["configs"]) => {
    const own = all.find((one) => one.plan === plan) ?? all[0];
    if (!own) throw misuseError(name, "a queue needs the config of its limit.");
    return own;
  };
  const own = under(configs);
  const buckets = others.map(({ count, isShared, ...other }) => {
    const held = under(other.configs);
    checkCount(name, other.name, count, held.config);
    return { ...bucketOf({ name: other.name, key: isShared ? undefined : key, ...held }), count, isShared };
  });
  return { ...bucketOf({ name, key, ...own }), plan: own.plan, terms: withDefaults(queue), with: buckets };
}

/**
 * Terms as they are stored. The row of a worker says which its last run knew, so callers need not read those of the
 * limit. Their fields are in one order: the bound of a full queue also holds for callers that name them in another.
 */
export const textOf = (terms: QueueTerms): string =>
  JSON.stringify(terms, (_field, value: unknown) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort()) : value,
  );

/**
 * The terms that a run of the worker or of a job follows: as the app defines them, in your tables, else those of the
 * last call that knew them.
 * @throws when somebody has deleted their row; the next call that knows them stores them, and the next one a minute
 * later starts the worker.
 */
export async function termsInForce(ctx: WorkerCtx, name: string): Promise<{ terms: QueueTerms; text: string }> {
  const defined = ctx.definedTerms?.(name);
  if (defined) return { terms: defined, text: textOf(defined) };
  const row = await readTerms(ctx, name);
  if (!row) throw misuseError(name, "the row with the terms of its queue is missing: enqueue a job to store them.");
  return { terms: JSON.parse(row.terms) as QueueTerms, text: row.terms };
}

/** The terms that a call knows, or those that are stored; undefined if no job of the queue can wait. */
export async function termsKnownTo(
  ctx: QueueReader,
  { name, terms }: { name: string; terms?: QueueTerms },
): Promise<QueueTerms | undefined> {
  if (terms) return terms;
  const row = await readTerms(ctx, name);
  return row ? (JSON.parse(row.terms) as QueueTerms) : undefined;
}

/**
 * Stores the text of the terms that a call knows, unless it is stored.
 * @param known - the text that is stored, for all that the caller knows.
 */
export async function learnTerms(ctx: QueueWriter, name: string, text: string, known?: string): Promise<void> {
  if (text === known) return;
  const row = await readTerms(ctx, name);
  if (!row) await ctx.db.insert("rateLimitQueueTerms", { name, terms: text });
  else if (row.terms !== text) await ctx.db.patch("rateLimitQueueTerms", row._id, { terms: text });
}

const readTerms = ({ db }: QueueReader, name: string) =>
  db
    .query("rateLimitQueueTerms")
    .withIndex("by_name", (q) => q.eq("name", name))
    .first();
