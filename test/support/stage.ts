/** The backend on which laws run: a light one for many calls, or a whole one, in either place. */
import { internalMutationGeneric, makeFunctionReference } from "convex/server";
import { v } from "convex/values";
import { FakeDb } from "./fakeDb.js";
import type { AnyRateLimits, PlaceName, StoredRow } from "./places.js";
import { insertRow, openBackend, rowsIn } from "./places.js";

/** The ctx of a mutation, for any call. */
export type MutationCtx = Parameters<AnyRateLimits["scheduleRateLimited"]>[0] &
  Parameters<AnyRateLimits["sweepRateLimits"]>[0] &
  Parameters<AnyRateLimits["cancelRateLimited"]>[0] &
  Parameters<AnyRateLimits["checkRateLimit"]>[0];

export interface Stage {
  readonly mutation: <T>(body: (ctx: MutationCtx) => Promise<T>) => Promise<T>;
  readonly rows: () => Promise<(StoredRow & { _id: string })[]>;
  /** Inserts a row that the package might never write. */
  readonly plant: (row: StoredRow) => Promise<void>;
}

/** A whole backend checks arguments, results and documents, and has metrics, but is slow. */
export type Backend = "light" | "whole";

export function openStage(place: PlaceName, backend: Backend): Stage {
  return backend === "light" ? light(place) : whole(place);
}

function light(place: PlaceName): Stage {
  const db = new FakeDb();
  return {
    mutation: (body) => db.transaction((ctx) => body(ctx as never)),
    rows: () => Promise.resolve(db.rows(place)),
    plant: (row) => db.insertRow(place, row),
  };
}

const run = internalMutationGeneric({ args: {}, handler: () => Promise.resolve(null) });
const sweep = internalMutationGeneric({ args: { cursor: v.string() }, handler: () => Promise.resolve(null) });

function whole(place: PlaceName): Stage {
  const t = openBackend({ "./jobs.ts": () => Promise.resolve({ run, sweep }) });
  return {
    mutation: (body) => t.mutation((ctx) => body(ctx as never)),
    rows: () => rowsIn(place, t),
    plant: (row) => insertRow(place, t, row),
  };
}

/** The scheduled job, and the sweep's next batch. The tests run neither. */
export const jobs = {
  run: makeFunctionReference<"mutation">("jobs:run"),
  sweep: makeFunctionReference<"mutation">("jobs:sweep"),
};
