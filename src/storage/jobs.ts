/** The app's scheduled functions. */
import type { GenericDatabaseReader, GenericDataModel } from "convex/server";
import { show } from "../engine/misuse.js";
import type { RateLimitedJob } from "../wire/answers.js";

/** A database that knows the state of the app's scheduled functions. */
export interface JobReader {
  db: Pick<GenericDatabaseReader<GenericDataModel>, "system">;
}

/** @throws when the ctx has no database, as in an action, for limits in either place. */
export function checkJobReader(ctx: unknown, call: string): void {
  const db: unknown = typeof ctx === "object" && ctx !== null ? (ctx as { db?: unknown }).db : undefined;
  if (typeof db === "object" && db !== null) return;
  throw new Error(
    `${call} needs the ctx of a mutation, to read the job's state, got ${show(ctx)} without db. In an action call a mutation of yours.`,
  );
}

/** The state of a scheduled function; "deleted" when Convex has forgotten it, days after it ended. */
export async function readJobState({ db }: JobReader, id: RateLimitedJob["id"]) {
  return (await db.system.get("_scheduled_functions", id))?.state.kind ?? "deleted";
}
