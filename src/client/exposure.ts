/** What public functions that show a limit share: the state, the clock, and a key that the server has chosen. */
import * as convex from "convex/server";
import { v } from "convex/values";
import { fieldError } from "../engine/misuse.js";
import type { BucketArgs } from "../engine/request.js";
import { functionOf } from "../wire/functionOf.js";
import type { RateLimitSnapshot } from "../wire/snapshots.js";
import type { Ctx, LimitSet } from "./place.js";

/** The public functions of one limit. Export them from a module; `useRateLimit` takes the references to them. */
export interface ExposedRateLimit {
  getRateLimit: convex.RegisteredQuery<"public", { key?: string }, Promise<RateLimitSnapshot>>;
  /** The server's clock: the hook need not trust the browser's. A mutation, since a query's answer is cached. */
  getServerTime: convex.RegisteredMutation<"public", Record<string, never>, Promise<number>>;
}

export async function readSnapshot(
  { definitions, place }: LimitSet,
  ctx: Ctx,
  bucket: BucketArgs,
): Promise<RateLimitSnapshot> {
  const snapshot = await place.get(ctx, bucket);
  return definitions.get(bucket.name)?.mode === "shadow" ? { ...snapshot, mode: "shadow" } : snapshot;
}

export function serverTime(): ExposedRateLimit["getServerTime"] {
  const now = async () => await Promise.resolve(Date.now());
  return convex.mutationGeneric(functionOf(() => ({}), v.number, now));
}

/** A key function that finds nobody must not show the bucket that belongs to everybody. */
export function keyFrom(name: string, call: string, key: unknown): string {
  if (typeof key === "string" && key !== "") return key;
  throw fieldError(name, `the key that ${call}'s key function returns`, "a non-empty string", key);
}
