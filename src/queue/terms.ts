/** How a limit's queue behaves: what its definition says, checked, with every field present. */
import { booleanField, checkFields, type Fields } from "../engine/fields.js";
import { type BucketArgs, parseBucket } from "../engine/request.js";
import type { Bucket } from "../engine/bucket.js";
import type { QueueConfig } from "../wire/configs.js";
import { present } from "../wire/present.js";
import type { StoredQueue } from "../wire/queue.js";

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
  };
}

/** @throws when a field is unknown or out of range, naming the limit, the field, the value and the range. */
export function checkQueueConfig(name: string, config: QueueConfig): void {
  checkFields(name, "queue", config, makeFields());
}

/**
 * A bucket whose jobs wait in a queue. Without a bound `maxQueued` is Infinity; priorities are 0 to one less than `priorities`.
 * `plan`, for a limit with plans: the one that the last job was enqueued under. All jobs of the bucket wait by it.
 */
export interface Queue extends Bucket {
  readonly terms: Readonly<Required<QueueConfig>>;
  readonly plan?: string | undefined;
}

/**
 * Parses a queue from the wire, from the worker's row or from a call.
 * @throws when name, key, config or the queue's own config are not permitted.
 */
export function parseQueue({ queue, ...bucket }: BucketArgs & { queue: QueueConfig }): Queue {
  checkQueueConfig(bucket.name, queue);
  const { maxQueued = Infinity, priorities = 1, aging = 60_000, fair = false, attempts = 1 } = queue;
  const terms = { maxQueued, priorities, aging, fair, attempts };
  return { ...parseBucket(bucket), plan: bucket.plan ?? undefined, terms };
}

/** The queue as it is stored and sent. */
export function toStoredQueue({ name, key, limit, terms, plan }: Queue): StoredQueue {
  const { maxQueued, ...bounded } = terms;
  const queue = maxQueued === Infinity ? bounded : terms;
  // A definition may say that a field is undefined; a row never does.
  return storedPart({ name, key, config: present(limit.config), plan, queue });
}

/** The queue alone, of a row or a run. */
export function storedPart({ name, key, config, plan, queue }: StoredQueue): StoredQueue {
  return present({ name, key, config, plan, queue });
}
