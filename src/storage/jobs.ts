/** The app's scheduled functions. */
import type { GenericDatabaseReader, GenericDataModel } from "convex/server";
import type { RateLimitedJob } from "../wire/answers.js";

/** A database that knows the state of the app's scheduled functions. */
export interface JobReader {
  db: Pick<GenericDatabaseReader<GenericDataModel>, "system">;
}

/** The state of a scheduled function; "deleted" when Convex has forgotten it, days after it ended. */
export async function readJobState({ db }: JobReader, id: RateLimitedJob["id"]) {
  return (await db.system.get("_scheduled_functions", id))?.state.kind ?? "deleted";
}
