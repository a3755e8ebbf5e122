/** Where the fuzzer plays: on a light backend for many operations, and on a whole one, in either place. */
import type { RateLimitDefinitions } from "convex-rate-limits";
import { makeFunctionReference, internalMutationGeneric } from "convex/server";
import { v } from "convex/values";
import { FakeDb } from "../support/fakeDb.js";
import { type AnyRateLimits, defineIn, defineLight, openBackend, type PlaceName } from "../support/places.js";
import type { ExactLimit } from "./exact/config.js";

export type Limits = AnyRateLimits;
export type MutationCtx = Parameters<Limits["scheduleRateLimited"]>[0] &
  Parameters<Limits["sweepRateLimits"]>[0] &
  Parameters<Limits["cancelRateLimited"]>[0] &
  Parameters<Limits["checkRateLimit"]>[0];
export type Shards = number | "auto" | { atLeast?: number; atMost?: number } | undefined;

export interface Stage {
  /** The limits named "limit" and "other", which is the first unless it is given, on so many rows. */
  readonly limits: (limit: ExactLimit, shards: Shards, other?: ExactLimit) => Limits;
  readonly mutation: <T>(body: (ctx: MutationCtx) => Promise<T>) => Promise<T>;
  /** The job runs, if it has not been cancelled; false where jobs never run. */
  readonly finishJob: (id: string) => boolean;
}

/** Parsed once: a hundred thousand operations use a few dozen limits. */
const defined = new Map<string, Limits>();

function definedOnce(
  define: (limits: RateLimitDefinitions) => Limits,
  place: string,
  configs: readonly [ExactLimit, ExactLimit],
  shards: Shards,
): Limits {
  const [limit, other] = configs.map((config) =>
    Object.fromEntries(Object.entries({ ...config, shards }).filter(([, value]) => value !== undefined)),
  );
  const id = JSON.stringify([place, limit, other]);
  const limits = defined.get(id) ?? define({ limit: limit as never, other: other as never });
  defined.set(id, limits);
  return limits;
}

export function lightStage(place: PlaceName): Stage {
  const db = new FakeDb();
  return {
    limits: (limit, shards, other = limit) =>
      definedOnce((limits) => defineLight(place, limits), `light ${place}`, [limit, other], shards),
    mutation: (body) => db.transaction((ctx) => body(ctx as never)),
    finishJob: (id) => {
      db.finishJob(id);
      return true;
    },
  };
}

const run = internalMutationGeneric({ args: {}, handler: () => Promise.resolve(null) });
const sweep = internalMutationGeneric({ args: { cursor: v.string() }, handler: () => Promise.resolve(null) });

export function wholeStage(place: PlaceName): Stage {
  const t = openBackend({ "./jobs.ts": () => Promise.resolve({ run, sweep }) });
  return {
    limits: (limit, shards, other = limit) =>
      definedOnce((limits) => defineIn(place, limits), `whole ${place}`, [limit, other], shards),
    mutation: (body) => t.mutation((ctx) => body(ctx as never)),
    finishJob: () => false,
  };
}

/** The job that is scheduled, and the sweep's next batch; neither is run by the fuzzer. */
export const jobs = {
  run: makeFunctionReference<"mutation">("jobs:run"),
  sweep: makeFunctionReference<"mutation">("jobs:sweep"),
};
