/** Sorting arrivals into rounds, where users share a bucket in turns. */
import { roundAfter } from "./order.js";
import { type Class, type JobRow, patchJob, type QueueWriter, readLastRound, readRounds } from "./rows.js";

/** Gives each job of a class that has arrived its round. @param arrivals - in order of arrival. */
export async function sortIn(ctx: QueueWriter, of: Class, arrivals: readonly JobRow[]): Promise<void> {
  if (arrivals.length === 0) return;
  const users = [...new Set(arrivals.map(({ fairBy }) => fairBy))];
  const [lowest, ...lasts] = await Promise.all([
    readRounds(ctx, of, 1),
    ...users.map((user) => readLastRound(ctx, of, user)),
  ]);
  const serving = lowest[0]?.round;
  const own = new Map(users.map((user, i) => [user, lasts[i]]));
  for (const job of arrivals) {
    const round = roundAfter(serving, own.get(job.fairBy));
    own.set(job.fairBy, round);
    await patchJob(ctx, job, { round });
  }
}
