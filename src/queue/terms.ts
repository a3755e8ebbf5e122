/** How a limit's queue behaves: what its definition says, checked, with every field present. */
import type { QueueConfig } from "../wire/configs.js";
import { type Bucket, parseBucket } from "../engine/request.js";
import { checkQueueConfig } from "./config.js";

/** A parsed queue config. */
interface QueueTerms {
  readonly maxQueued: number;
  /** Priorities are 0 to one less than this. */
  readonly priorities: number;
  /** How much later (ms) a job of the next higher priority may come and still go first. */
  readonly aging: number;
  readonly fair: boolean;
  readonly exact: boolean;
  /** How often a job may run in all. */
  readonly attempts: number;
}

/** A bucket whose jobs wait in a queue. */
export interface Queue extends Bucket {
  readonly terms: QueueTerms;
  /** For a limit with plans: the one that the last job was enqueued under. All jobs of the bucket wait by it. */
  readonly plan?: string | undefined;
}

/** Which queue, from the wire, from the worker's row or from a call. */
interface QueueArgs extends Omit<Parameters<typeof parseBucket>[0], "plan"> {
  plan?: string | undefined;
  queue: QueueConfig;
}

const MINUTE_MS = 60_000;

/** @throws when a field is unknown or out of range, naming the limit, the field, the value and the range. */
function parseQueueTerms(name: string, config: QueueConfig): QueueTerms {
  checkQueueConfig(name, config);
  const { maxQueued = Infinity, priorities = 1, aging = MINUTE_MS, fair = false, exact = false, attempts = 1 } = config;
  return { maxQueued, priorities, aging, fair, exact, attempts };
}

/** The config that these terms come from, as it is stored and sent: Infinity is no bound. */
export function toQueueConfig({ maxQueued, ...terms }: QueueTerms): QueueConfig {
  return maxQueued === Infinity ? terms : { ...terms, maxQueued };
}

/** @throws when name, key, config or the queue's own config are not permitted. */
export function parseQueue({ queue, ...bucket }: QueueArgs): Queue {
  return { ...parseBucket(bucket), plan: bucket.plan, terms: parseQueueTerms(bucket.name, queue) };
}
