/** The backend on which laws and the fuzzer run: a light one for many calls, or a whole one, in either place. */
import { internalMutationGeneric, makeFunctionReference } from "convex/server";
import { v } from "convex/values";
import { present } from "../../src/wire/present.js";
import type { ExactLimit } from "../model/exact/config.js";
import { FakeDb } from "./fakeDb.js";
import type { AnyRateLimits, PlaceName, StoredRow } from "./places.js";
import { defineIn, insertRow, openBackend, rowsIn } from "./places.js";

export type Limits = AnyRateLimits;
/** The ctx of a mutation, for any call. */
export type MutationCtx = Parameters<Limits["scheduleRateLimited"]>[0] &
  Parameters<Limits["sweepRateLimits"]>[0] &
  Parameters<Limits["cancelRateLimited"]>[0] &
  Parameters<Limits["checkRateLimit"]>[0];
export type Shards = number | "auto" | { atLeast?: number; atMost?: number } | undefined;

export interface Stage {
  /** The limits named "limit" and "other", on `shards` rows. `other` has the config of `limit` unless given. */
  readonly limits: (limit: ExactLimit, shards: Shards, other?: ExactLimit) => Limits;
  readonly mutation: <T>(body: (ctx: MutationCtx) => Promise<T>) => Promise<T>;
  readonly rows: () => Promise<(StoredRow & { _id: string })[]>;
  /** Inserts a row that the package might never write. */
  readonly plant: (row: StoredRow) => Promise<void>;
  /** Marks the job as run, unless it was cancelled. Resolves to false if jobs never run on this backend. */
  readonly finishJob: (id: string) => Promise<boolean>;
}

/** A whole backend checks arguments, results and documents, and has metrics, but is slow. */
export type Backend = "light" | "whole";

export function openStage(place: PlaceName, backend: Backend): Stage {
  const limits: Stage["limits"] = (limit, shards, other = limit) => definedOnce(place, [limit, other], shards);
  return { limits, ...(backend === "light" ? light(place) : whole(place)) };
}

function light(place: PlaceName): Omit<Stage, "limits"> {
  const db = new FakeDb();
  return {
    mutation: (body) => db.transaction((ctx) => body(ctx as never)),
    rows: () => Promise.resolve(db.rows(place)),
    plant: (row) => db.insertRow(place, row),
    finishJob: (id) => db.finishJob(id).then(() => true),
  };
}

const run = internalMutationGeneric({ args: {}, handler: () => Promise.resolve(null) });
const sweep = internalMutationGeneric({ args: { cursor: v.string() }, handler: () => Promise.resolve(null) });

function whole(place: PlaceName): Omit<Stage, "limits"> {
  const t = openBackend({ "./jobs.ts": () => Promise.resolve({ run, sweep }) });
  return {
    mutation: (body) => t.mutation((ctx) => body(ctx as never)),
    rows: () => rowsIn(place, t),
    plant: (row) => insertRow(place, t, row),
    finishJob: () => Promise.resolve(false),
  };
}

/** Limits that are parsed already: a hundred thousand operations use a few dozen limits. */
const defined = new Map<string, Limits>();

function definedOnce(place: PlaceName, configs: readonly [ExactLimit, ExactLimit], shards: Shards): Limits {
  const [limit, other] = configs.map((config) => present({ ...config, shards }));
  const id = JSON.stringify([place, limit, other]);
  const limits = defined.get(id) ?? defineIn(place, { limit: limit as never, other: other as never });
  defined.set(id, limits);
  return limits;
}

/** The scheduled job, and the sweep's next batch. The tests run neither. */
export const jobs = {
  run: makeFunctionReference<"mutation">("jobs:run"),
  sweep: makeFunctionReference<"mutation">("jobs:sweep"),
};
