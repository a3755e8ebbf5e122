/** The place of a job in its queue, and when its tokens will be there if nothing else happens. */
import type { Shard } from "../engine/sharding/shard.js";
import { asWritten } from "../engine/written.js";
import { loadAll } from "../storage/shards.js";
import { merged, readWaiting } from "./look.js";
import { payFor } from "./pay.js";
import { findJob, type JobRow, type QueueReader } from "./rows.js";
import type { Queue } from "./terms.js";
import { readWorker } from "./workerRows.js";
import type { RateLimitQueuePosition } from "../wire/queue.js";

/** A live query reads these rows again whenever the worker takes one of them. */
const MOST_AHEAD = 200;

/** Null if the job does not wait any more: its start time is set, or it was cancelled. */
export async function getPosition(ctx: QueueReader, asked: Queue, id: string): Promise<RateLimitQueuePosition | null> {
  const job = await findJob(ctx, asked, id);
  if (!job) return null;
  // Which plan the jobs wait by is known to their worker alone.
  const queue = asked.plans ? asWritten(asked, (await readWorker(ctx, asked))?.plan) : asked;
  const { terms } = queue;
  const [waiting, shards] = await Promise.all([readWaiting(ctx, queue, MOST_AHEAD + 1), loadAll(ctx, queue)]);
  const { first } = merged(listsOf(waiting, terms.fair), terms.aging, waiting.share);
  const jobs = first.slice(0, MOST_AHEAD + 1);
  const found = jobs.findIndex(({ _id }) => _id === job._id);
  const before = found < 0 ? jobs.slice(0, MOST_AHEAD) : jobs.slice(0, found);
  // As if debts had no bound: a job that has to wait for room is paid no later than without a bound.
  const limit = { ...queue.limit, maxReserved: Infinity };
  let held: readonly Shard[] = shards.map((shard) => ({ ...shard, limit: { ...shard.limit, maxReserved: Infinity } }));
  const now = Date.now();
  let runAt = now;
  for (const { count } of [...before, job]) {
    const payment = payFor(limit, held, now, { count }, Infinity);
    if (!payment.isPaid) break;
    ({ runAt, left: held } = payment);
  }
  return { ahead: before.length, isExact: found >= 0, runAt };
}

/** With turns, jobs that have not been sorted in come after the others of their class. */
function listsOf({ share, arrivals, rounds }: Awaited<ReturnType<typeof readWaiting>>, isFair: boolean): JobRow[][] {
  return isFair ? arrivals.map((jobs, i) => [...(rounds[i] ?? []), ...jobs].slice(0, share)) : [...arrivals, ...rounds];
}
