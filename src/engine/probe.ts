/**
 * Which shards of a limit a call looks at, and when a look at a few of them is enough to deny. A shard that is read is one that
 * other calls conflict on, so a call reads one, and more only if that one cannot serve (docs/hot-limits.md has the figures).
 */
import { project, whenHolding } from "./bucket.js";
import { decide, outlook } from "./decide.js";
import { partOf } from "./heap.js";
import type { Decision, Demand, Limit, Part } from "./types.js";

/** Shards looked at one by one before looking at everything, unless the count needs more of them. */
const MOST_PROBES = 8;
/** A limit that refills the whole demand faster than this denies without looking at everything. */
const FAST_MS = 50;
/** One such denial in this many looks at everything all the same, so that scattered tokens are found in the end. */
const THOROUGH_ONE_IN = 16;

/** The plan of one call. */
interface Probing {
  /** The k-th shard to look at. */
  readonly leaf: (k: number) => number;
  /** Shards that hold the count together if each is full: fewer cannot be asked to. */
  readonly atLeast: number;
  readonly atMost: number;
  /** Whether this call may deny on what these shards say. */
  readonly mayDeny: boolean;
}

/** Plans a call from one random number in [0, 1): a random first shard and a random stride, so that all come in turn. */
export function planProbing(limit: Limit, { count, reserve }: Demand, random: number): Probing {
  const first = Math.floor(random * limit.shards);
  const rest = random * limit.shards - first;
  const stride = 2 * Math.floor((rest * limit.shards) / 2) + 1;
  const atLeast = shardsNeeded(limit, count);
  const thorough = (random * 2 ** 40) % THOROUGH_ONE_IN < 1;
  return {
    leaf: (k) => limit.shards + ((first + k * stride) % limit.shards),
    atLeast,
    atMost: atLeast > limit.shards / 2 ? 0 : Math.min(limit.shards, Math.max(MOST_PROBES, 2 * atLeast)),
    mayDeny: !reserve && isFast(limit, count) && !thorough,
  };
}

/** Whether shards like those seen so far are likely to hold the count before the plan is at its end. */
export function isPromising(plan: Probing, seen: readonly Part[], now: number, count: number): boolean {
  if (seen.length >= plan.atMost) return false;
  if (seen.length < plan.atLeast) return true;
  const held = seen.reduce((sum, part) => sum + Math.max(0, project(part.limit, part.bucket, now).value), 0);
  return held * (plan.atMost / seen.length) >= count;
}

/**
 * A denial on what some shards said. Its `retryAt` is the moment by which any shards that a call may come upon serve the
 * count: each then holds its share of it, even if it is empty now. Debts of shards that were not seen may delay it.
 */
export function denyOn(limit: Limit, seen: readonly Part[], now: number, demand: Demand): Decision {
  const retryAt = whenAnyServe(limit, seen, now, demand.count);
  return { status: { ok: false, retryAt, ...outlook(limit, seen, now) }, taken: [], asked: seen };
}

/** The decision of a call that looks at everything. Its `retryAt` allows for the next call looking at a few shards only. */
export function decideOnAll(limit: Limit, parts: readonly Part[], now: number, demand: Demand): Decision {
  const decision = decide(limit, parts, now, demand);
  const { status } = decision;
  if (status.ok || limit.shards === 1 || demand.reserve || !isFast(limit, demand.count)) return decision;
  const retryAt = Math.max(status.retryAt, whenAnyServe(limit, parts, now, demand.count));
  return { ...decision, status: { ...status, retryAt } };
}

function whenAnyServe(limit: Limit, seen: readonly Part[], now: number, count: number): number {
  const share = Math.ceil(count / shardsNeeded(limit, count));
  const empty = { limit: smallest(limit), bucket: { value: 0, ts: now } };
  return Math.max(...[empty, ...seen].map((part) => whenHolding(part.limit, part.bucket, share)));
}

/** Shards that every call looks at before it denies: two, or as many as hold the count when they are full. */
function shardsNeeded(limit: Limit, count: number): number {
  return Math.max(2, Math.ceil(count / smallest(limit).capacity));
}

function isFast(limit: Limit, count: number): boolean {
  const perMs = limit.kind === "token bucket" ? limit.refill : limit.refill / limit.period;
  return perMs * FAST_MS >= count;
}

/** The part of the first leaf: no other has less. */
function smallest(limit: Limit): Limit {
  return partOf(limit, limit.shards);
}
