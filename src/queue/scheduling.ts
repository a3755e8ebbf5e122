/** Scheduling a job that is paid for its start time. */
import type { FunctionHandle } from "convex/server";
import { misuseError } from "../engine/misuse.js";
import { idOf } from "../storage/rows.js";
import type { JobRow, QueueWriter } from "./rows.js";
import type { Worker } from "./start.js";
import type { Queue } from "./terms.js";

/** Whether it could. */
export async function schedule(
  { scheduler }: QueueWriter,
  { limit }: Queue,
  { name, key, count, fn, args, settles }: JobRow,
  runAt: number,
  { runMutation, runAction }: Worker,
): Promise<boolean> {
  try {
    if (settles === undefined) {
      await scheduler.runAt(runAt, fn as unknown as FunctionHandle<"mutation">, args);
    } else {
      const bucket = { ...idOf({ name, key }), config: limit.config };
      await scheduler.runAt(runAt, settles === "mutation" ? runMutation : runAction, { ...bucket, count, fn, args });
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
