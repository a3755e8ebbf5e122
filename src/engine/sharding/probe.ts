/**
 * Which shards of a limit a call looks at, and when a look at a few of them is enough to deny. A shard that is read is one that
 * other calls conflict on, so a call reads one, and more only if that one cannot serve (docs/hot-limits.md has the figures).
 */
import { project, whenHolding } from "../kinds/bucket.js";
import { decide, outlook } from "../decide.js";
import { partOf } from "./heap.js";
import type { Decision, Demand, Limit, Part } from "../types.js";

/** A limit that refills the whole demand faster than this may deny without looking at everything. */
const FAST_MS = 50;
/** One such denial in this many looks at everything all the same, so that scattered tokens are found in the end. */
const THOROUGH_ONE_IN = 64;
/** Shards looked at one by one before a look at everything, or a denial. */
const PROBES = 10;
/**
 * A fast token bucket denies after two: a shard that is empty now is soon refilled. What is left in a window is lost with it, so
 * a fixed window is searched as thoroughly as a slow limit; its empty shards are written by nobody, so that costs no conflicts.
 */
const PROBES_FAST_BUCKET = 2;

/** The plan of one call. */
interface Probing {
  /** The k-th shard to look at. */
  readonly leaf: (k: number) => number;
  readonly atLeast: number;
  readonly atMost: number;
  /** Whether the demand may be split over the shards seen. Each more that is written is one more to conflict on. */
  readonly mayJoin: boolean;
  /** Whether this call may deny on what these shards say (`isClear`). */
  readonly mayDeny: boolean;
}

/** Plans a call from one random number in [0, 1): a random first shard and a random stride, so that all come in turn. */
export function planProbing(limit: Limit, { count, reserve }: Demand, random: number): Probing {
  const { shards } = limit;
  const first = Math.floor(random * shards);
  const rest = random * shards - first;
  const stride = 2 * Math.floor((rest * shards) / 2) + 1;
  const needed = shardsNeeded(limit, count);
  const mayDeny = !reserve && isFast(limit, count) && (random * 2 ** 20) % THOROUGH_ONE_IN >= 1;
  const usual = mayDeny && limit.kind === "token bucket" ? PROBES_FAST_BUCKET : PROBES;
  return {
    leaf: (k) => shards + ((first + k * stride) % shards),
    atLeast: Math.max(2, needed),
    // A question that takes nothing may as well be answered in full.
    atMost: 2 * needed > shards || count === 0 ? 0 : Math.min(shards, Math.max(usual, 2 * needed)),
    mayJoin: needed > 1 || !mayDeny || limit.kind === "fixed window",
    mayDeny,
  };
}

/**
 * Whether the next shard of the plan is worth a look. A call that would look at everything, or reserve, stops as soon as it is
 * unlikely that the plan's shards bring the count together.
 */
export function isPromising(plan: Probing, seen: readonly Part[], now: number, count: number): boolean {
  if (seen.length >= plan.atMost) return false;
  if (seen.length < plan.atLeast || plan.mayDeny) return true;
  const held = seen.reduce((sum, part) => sum + Math.max(0, project(part.limit, part.bucket, now).value), 0);
  return held * (plan.atMost / seen.length) >= count;
}

/**
 * Whether what a few shards said is enough to deny. Not when one of them was written in this very millisecond: then it is not a
 * stream of callers that has emptied them but one transaction, whose clock stands still, or a burst, and the others may be full.
 */
export function isClear(plan: Probing, seen: readonly Part[], now: number): boolean {
  return plan.mayDeny && seen.length > 0 && seen.every(({ bucket }) => bucket.ts < now);
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

/** The shards that a demand is spread over: one when it is at most half of what a shard holds, so that it does not starve. */
function shardsNeeded(limit: Limit, count: number): number {
  return Math.max(1, Math.ceil((2 * count) / smallest(limit).capacity));
}

function isFast(limit: Limit, count: number): boolean {
  const perMs = limit.kind === "token bucket" ? limit.refill : limit.refill / limit.period;
  return perMs * FAST_MS >= count;
}

/** The part of the first leaf: no other has less. */
function smallest(limit: Limit): Limit {
  return partOf(limit, limit.shards);
}
