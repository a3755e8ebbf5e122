/** Dropping a job: the app hears of it, with the job's arguments and why. */
import type { FunctionHandle } from "convex/server";
import { misuseError } from "../engine/misuse.js";
import type { DropReason } from "../wire/queue.js";
import type { JobRow, QueueCtx } from "./tables.js";

/** Reports a job that is dropped: to the app's mutation, if the job names one, else to the log. */
export async function drop(
  ctx: Pick<QueueCtx, "scheduler">,
  name: string,
  { args, onDropped }: Pick<JobRow, "args" | "onDropped">,
  reason: DropReason,
): Promise<void> {
  const problem = `a queued job is dropped (${reason})`;
  if (onDropped === undefined) {
    console.error(misuseError(name, `${problem}: give onDropped, a mutation, to hear of it.`));
    return;
  }
  try {
    await ctx.scheduler.runAfter(0, onDropped as unknown as FunctionHandle<"mutation">, { args, reason });
  } catch (error) {
    console.error(misuseError(name, `${problem}, and its onDropped cannot be scheduled: ${String(error)}`));
  }
}
