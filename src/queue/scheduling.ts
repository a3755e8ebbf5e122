/** Scheduling a job that is paid for its start time. */
import type { FunctionHandle } from "convex/server";
import { misuseError } from "../engine/misuse.js";
import { idOf } from "../storage/rows.js";
import type { TurnArgs } from "../wire/queue.js";
import type { JobRow } from "./rows.js";
import type { QueueCtx } from "./start.js";
import { type Queue, toQueueConfig } from "./terms.js";

/** When a job starts, and when its tokens were taken. */
interface PaidTimes {
  readonly runAt: number;
  readonly takenAt: number;
}

/** Whether it could. */
export async function scheduleJob(
  { scheduler, worker }: QueueCtx,
  { limit, terms, plan }: Queue,
  job: JobRow & PaidTimes,
): Promise<boolean> {
  const { name, key, count, fn, args, settles, runAt, takenAt } = job;
  try {
    if (settles === undefined) {
      await scheduler.runAt(runAt, fn as unknown as FunctionHandle<"mutation">, args);
    } else {
      const bucket = { ...idOf({ name, key }), config: limit.config, ...(plan !== undefined && { plan }) };
      const run = {
        ...bucket,
        count,
        fn,
        args,
        at: runAt,
        takenAt,
        ...(terms.attempts > 1 && { turn: turnOf(job, terms) }),
      };
      if (settles === "mutation") await scheduler.runAt(runAt, worker.work, { job: run });
      else await scheduler.runAt(runAt, worker.runAction, run);
    }
    return true;
  } catch (error) {
    // A deploy has taken the function away. It will not come back for being asked again, and others wait behind it.
    console.error(
      misuseError(name, `a queued job's function cannot be scheduled, so the job is dropped: ${String(error)}`),
    );
    return false;
  }
}

/** The place of a job in its queue, and how often it will have run. */
function turnOf({ _id, at, priority, fairBy, round, runs = 0, first = _id }: JobRow, terms: Queue["terms"]): TurnArgs {
  return {
    at,
    priority,
    ...(fairBy !== undefined && { fairBy }),
    ...(round !== undefined && { round }),
    runs: runs + 1,
    first,
    queue: toQueueConfig(terms),
  };
}
