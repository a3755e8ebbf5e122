/** Where a job stands in its queue, and when its tokens will be there if nothing else happens. */
import type { GenericId } from "convex/values";
import { loadAll } from "../storage/shards.js";
import { classesOf } from "./look.js";
import { inOrder } from "./order.js";
import { pay } from "./pay.js";
import { type JobRow, type QueueReader, readArrivals, readJob, readRounds } from "./rows.js";
import type { Queue } from "./terms.js";
import type { RateLimitQueuePosition } from "./wire.js";

/** A live query reads these rows again whenever the worker takes one of them. */
const MOST_AHEAD = 200;

/** Null when the job does not wait any more: it has its moment, or was cancelled. */
export async function get(ctx: QueueReader, queue: Queue, id: string): Promise<RateLimitQueuePosition | null> {
  const job = await readJob(ctx, id as GenericId<"rateLimitQueue">);
  if (job?.name !== queue.limit.name || job.key !== queue.key) return null;
  const [classes, shards] = await Promise.all([readClasses(ctx, queue), loadAll(ctx, queue)]);
  const jobs = [...inOrder(classes, queue.terms.aging)].slice(0, MOST_AHEAD + 1);
  const found = jobs.findIndex(({ _id }) => _id === job._id);
  const before = found < 0 ? jobs.slice(0, MOST_AHEAD) : jobs.slice(0, found);
  // As if debts had no bound: a job that has to wait for room is paid no later than without a bound.
  const limit = { ...queue.limit, maxReserved: Infinity };
  const now = Date.now();
  const { paid } = pay(
    limit,
    shards.map((shard) => ({ ...shard, limit: { ...shard.limit, maxReserved: Infinity } })),
    now,
    [...before, job],
    Infinity,
  );
  return { ahead: before.length, isExact: found >= 0, runAt: paid.at(-1)?.runAt ?? now };
}

/** The jobs of each class in their order; those that have not been sorted in after the others. */
async function readClasses(ctx: QueueReader, queue: Queue): Promise<JobRow[][]> {
  const most = MOST_AHEAD + 1;
  const range = { from: -1, to: Infinity };
  return await Promise.all(
    classesOf(queue).map(async (of) => {
      const [sorted, arrivals] = await Promise.all([
        queue.terms.fair ? readRounds(ctx, of, most) : [],
        readArrivals(ctx, of, range, most),
      ]);
      return [...sorted, ...arrivals];
    }),
  );
}
