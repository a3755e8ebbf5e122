/** The app's scheduled functions. */
import type { GenericDatabaseReader, GenericDataModel, Scheduler } from "convex/server";
import type { RateLimitedJob } from "../wire/answers.js";

/** A database that knows the state of the app's scheduled functions. */
export interface JobReader {
  db: Pick<GenericDatabaseReader<GenericDataModel>, "system">;
}

/**
 * A scheduled function's state and arguments. The state is "deleted" when Convex has forgotten it, days after it ended.
 */
export async function readJob({ db }: JobReader, id: RateLimitedJob["id"]) {
  const job = await db.system.get("_scheduled_functions", id);
  return { state: job?.state.kind ?? ("deleted" as const), args: job?.args ?? [] };
}

/** Cancels a scheduled function unless it has begun, or was cancelled. @returns its state before, and its arguments. */
export async function cancelPending(ctx: JobReader & { scheduler: Scheduler }, id: RateLimitedJob["id"]) {
  const found = await readJob(ctx, id);
  if (found.state === "pending") await ctx.scheduler.cancel(id);
  return found;
}
