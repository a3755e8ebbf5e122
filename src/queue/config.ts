/** The fields of a queue's config. Data, without the queue itself: definitions are checked by it where no queue is loaded. */
import { booleanField, checkFields, type Fields } from "../engine/fields.js";
import { misuseError } from "../engine/misuse.js";
import type { QueueConfig } from "../wire/configs.js";

const DAY_MS = 86_400_000;

/** The most jobs that one transaction can count: it may read 32,000 documents, and has other things to read. */
const MAX_QUEUED = 10_000;

export const MAX_PRIORITIES = 10;

/** A job that is refused this often is refused for a lasting reason. */
const MAX_ATTEMPTS = 100;

const fields = (): Fields => ({
  maxQueued: { atLeast: 1, atMost: MAX_QUEUED, isWhole: true },
  priorities: { atLeast: 1, atMost: MAX_PRIORITIES, isWhole: true },
  aging: { atLeast: 0, atMost: 365 * DAY_MS, unit: "milliseconds", isWhole: true },
  fair: booleanField,
  exact: booleanField,
  attempts: { atLeast: 1, atMost: MAX_ATTEMPTS, isWhole: true },
});

/** @throws when a field is unknown or out of range, naming the limit, the field, the value and the range. */
export function checkQueueConfig(name: string, config: QueueConfig): void {
  checkFields(name, "queue", config, fields());
  if (config.exact && config.maxQueued === undefined) throw misuseError(name, "queue.exact needs queue.maxQueued.");
}
