/** Scheduling a job that is paid for its start time. */
import type { FunctionHandle } from "convex/server";
import { misuseError } from "../engine/misuse.js";
import { idOf } from "../storage/rows.js";
import type { JobRow, QueueWriter } from "./rows.js";
import type { Worker } from "./start.js";
import type { Queue } from "./terms.js";

/** When a job starts, and when its tokens were taken. */
interface PaidTimes {
  readonly runAt: number;
  readonly takenAt: number;
}

/** Whether it could. */
export async function schedule(
  { scheduler }: QueueWriter,
  { limit }: Queue,
  { name, key, count, fn, args, settles, runAt, takenAt }: JobRow & PaidTimes,
  { runMutation, runAction }: Worker,
): Promise<boolean> {
  try {
    if (settles === undefined) {
      await scheduler.runAt(runAt, fn as unknown as FunctionHandle<"mutation">, args);
    } else {
      const bucket = { ...idOf({ name, key }), config: limit.config };
      const run = { ...bucket, count, fn, args, at: runAt, takenAt };
      await scheduler.runAt(runAt, settles === "mutation" ? runMutation : runAction, run);
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
