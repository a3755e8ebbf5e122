/** Rows of the table of workers: one for each bucket that has, or had, a queue. */
import type { WithoutSystemFields } from "convex/server";
import type { Cursor } from "../storage/batches.js";
import { type BucketId, idOf } from "../storage/rows.js";
import type { QueueConfig, RateLimitConfig } from "../wire/configs.js";
import type { QueueReader, QueueWriter, WorkerRow } from "./rows.js";

/** A queue as it is stored and sent. A run also has it, so that it can continue if the worker's row was deleted by hand. */
export interface StoredQueue {
  name: string;
  key?: string;
  config: RateLimitConfig;
  plan?: string;
  queue: QueueConfig;
}

/** The queue alone, of a row or a run. */
export function storedPart(of: StoredQueue): StoredQueue {
  const { config, plan, queue } = of;
  return { ...idOf(of), config, ...(plan !== undefined && { plan }), queue };
}

export async function readWorker({ db }: QueueReader, { name, key }: BucketId): Promise<WorkerRow | null> {
  return await db
    .query("rateLimitWorkers")
    .withIndex("by_name_key", (q) => q.eq("name", name).eq("key", key))
    .first();
}

/** Workers of one limit's buckets, from the first key after `after` on. */
export async function readWorkers({ db }: QueueReader, { name, after }: Cursor, most: number): Promise<WorkerRow[]> {
  return await db
    .query("rateLimitWorkers")
    .withIndex("by_name_key", (q) => (after ? q.eq("name", name).gt("key", after.key) : q.eq("name", name)))
    .take(most);
}

export async function insertWorker({ db }: QueueWriter, row: WithoutSystemFields<WorkerRow>): Promise<void> {
  await db.insert("rateLimitWorkers", row);
}

export async function patchWorker(
  { db }: QueueWriter,
  { _id }: WorkerRow,
  fields: Partial<WithoutSystemFields<WorkerRow>>,
): Promise<void> {
  await db.patch("rateLimitWorkers", _id, fields);
}

export async function deleteWorker({ db }: QueueWriter, { _id }: WorkerRow): Promise<void> {
  await db.delete("rateLimitWorkers", _id);
}
