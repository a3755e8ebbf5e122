/** Jobs that are paid: each is scheduled for its moment and leaves the queue, and the bucket holds what is left. */
import type { FunctionHandle } from "convex/server";
import { misuseError } from "../engine/misuse.js";
import type { Shard } from "../engine/sharding/shard.js";
import { save, type StoredShard } from "../storage/shards.js";
import type { PaidJob } from "./pay.js";
import { deleteJob, type JobRow, type QueueWriter } from "./rows.js";
import type { Worker } from "./start.js";
import type { Queue } from "./terms.js";

export async function scheduleJobs(
  ctx: QueueWriter,
  queue: Queue,
  { shards, left, paid }: { shards: readonly StoredShard[]; left: readonly Shard[]; paid: readonly PaidJob<JobRow>[] },
  functions: Worker,
): Promise<void> {
  for (const each of paid) {
    await schedule(ctx, queue, each, functions);
    await deleteJob(ctx, each.job);
  }
  await save(ctx, queue, shards, left);
}

async function schedule(
  { scheduler }: QueueWriter,
  { limit }: Queue,
  { job: { name, key, count, fn, args, settles }, runAt, takenAt }: PaidJob<JobRow>,
  { runMutation, runAction }: Worker,
): Promise<void> {
  try {
    if (settles === undefined) {
      await scheduler.runAt(runAt, fn as unknown as FunctionHandle<"mutation">, args);
      return;
    }
    const bucket = { name, ...(key !== undefined && { key }), config: limit.config };
    const run = { ...bucket, count, fn, args, at: runAt, takenAt };
    await scheduler.runAt(runAt, settles === "mutation" ? runMutation : runAction, run);
  } catch (error) {
    // A deploy has taken the function away. It will not come back for being asked again, and others wait behind it.
    console.error(
      misuseError(name, `a queued job's function cannot be scheduled, so the job is dropped: ${String(error)}`),
    );
  }
}
