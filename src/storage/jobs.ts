/** The app's scheduled functions. */
import type { GenericDatabaseReader, GenericDataModel, Scheduler } from "convex/server";
import type { RateLimitedJob } from "../wire/answers.js";

/** A database that knows the state of the app's scheduled functions. */
export interface JobReader {
  db: Pick<GenericDatabaseReader<GenericDataModel>, "system">;
}

/** The state of a scheduled function; "deleted" when Convex has forgotten it, days after it ended. */
export async function readJobState({ db }: JobReader, id: RateLimitedJob["id"]) {
  return (await db.system.get("_scheduled_functions", id))?.state.kind ?? "deleted";
}

/** Cancels a scheduled function unless it has begun, or was cancelled. @returns the state that it was found in. */
export async function cancelPending(ctx: JobReader & { scheduler: Scheduler }, id: RateLimitedJob["id"]) {
  const found = await readJobState(ctx, id);
  if (found === "pending") await ctx.scheduler.cancel(id);
  return found;
}
