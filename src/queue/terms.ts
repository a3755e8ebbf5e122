/** How a limit's queue behaves: what its definition says, checked, with every field present. */
import type { QueueConfig, RateLimitConfig } from "../wire/configs.js";
import type { Limit } from "../engine/kinds/kind.js";
import { parseLimit } from "../engine/limit.js";
import { type Bucket, bucketAt } from "../engine/request.js";
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
}

const MINUTE_MS = 60_000;

/** @throws when a field is unknown or out of range, naming the limit, the field, the value and the range. */
export function parseQueueTerms(name: string, config: QueueConfig): QueueTerms {
  checkQueueConfig(name, config);
  const { maxQueued = Infinity, priorities = 1, aging = MINUTE_MS, fair = false, exact = false, attempts = 1 } = config;
  return { maxQueued, priorities, aging, fair, exact, attempts };
}

/** The config that these terms come from, as it is stored and sent: Infinity is no bound. */
export function toQueueConfig({ maxQueued, ...terms }: QueueTerms): QueueConfig {
  return maxQueued === Infinity ? terms : { ...terms, maxQueued };
}

/** @throws when the key is no key. */
export function queueAt(limit: Limit, key: string | undefined, terms: QueueTerms): Queue {
  return { ...bucketAt(limit, key), terms };
}

/** @throws when name, key, config or the queue's own config are not permitted. */
export function parseQueue(args: { name: string; key?: string; config: RateLimitConfig; queue: QueueConfig }): Queue {
  return queueAt(parseLimit(args.name, args.config), args.key, parseQueueTerms(args.name, args.queue));
}
