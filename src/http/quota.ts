/** A status and its config, in the terms of HTTP: quota, window, what is available, and how long that has to last. */
import type { RateLimitConfig } from "../wire/configs.js";
import type { RateLimitDefinition } from "../client/args.js";
import type { RateLimitSnapshot } from "../wire/snapshots.js";
import { projectRateLimit } from "../browser/project.js";
import { parseLimit } from "../engine/limit.js";
import type { Limit } from "../engine/kinds/kind.js";
import { bucketAt } from "../engine/request.js";
import { END_OF_TIME } from "../engine/time.js";
import { lowered, raised } from "../engine/units.js";
import { MAX_INTEGER, toAscii } from "./structuredFields.js";

/** What HTTP reads of a status; a limit on several rows may leave out what it would have to read all of them for. */
export type HttpStatus = { remaining?: number; resetAt?: number; shadow?: { ok: boolean } } & (
  { ok: true; retryAt?: number; takenAt?: number } | { ok: false; retryAt: number }
);

/** A limit that a request was held to, and what it answered. */
export interface LimitedBy {
  name: string;
  status: HttpStatus;
  /** The config, or the definition, that the status was asked with. */
  config: RateLimitDefinition;
  /** What `getRateLimit` has returned since. It tells when tokens of a sliding window come back: without it, after a whole period. */
  snapshot?: RateLimitSnapshot | undefined;
  /** The tokens that the request asked for, default 1. */
  count?: number | undefined;
  /** The bucket's key; it is not sent. */
  key?: string | undefined;
  /** What a token stands for, when it is not a request: the draft's `qu`. */
  unit?: QuotaUnit | undefined;
  /** Sent as the draft's `pk`, for clients with several quotas. Anyone may read it: do not give the key itself. */
  partitionKey?: string | undefined;
  /** An override lets everything through: clients are told nothing, as of a limit in shadow. */
  unlimited?: true | undefined;
}

/** Whether no wait helps: the limit is closed to the caller by an override that does not end. */
export function isForGood({ status }: LimitedBy): boolean {
  return !status.ok && status.retryAt >= END_OF_TIME;
}

/** The units that the draft registers; the default is "requests". */
export type QuotaUnit = (typeof QUOTA_UNITS)[number];
export const QUOTA_UNITS = ["requests", "content-bytes", "concurrent-requests"] as const;

/** The policy of a limit, and what a client is told of its state. */
export interface Quota {
  readonly name: string;
  readonly denied: boolean;
  /** At most so many tokens at once, and all of them are back after the window. */
  readonly quota: number;
  readonly windowSeconds: number;
  /** Absent where the status had no `remaining`, and where no wait helps. */
  readonly left: Left | undefined;
  /** Of a denial: when the same request succeeds; absent where no wait helps. */
  readonly retryAt: number | undefined;
  readonly unit: QuotaUnit | undefined;
  readonly partitionKey: string | undefined;
}

interface Left {
  /** Whole tokens. */
  readonly available: number;
  /** `available`, or less where a client that divides it by the effective window would far exceed the rate. */
  readonly paced: number;
  /** How many requests like this one `available` suffices for. */
  readonly requests: number;
  /** The end of the effective window, in ms since the epoch: who spends `available` and then waits until here is not denied. */
  readonly until: number;
}

export function quotaOf(limit: LimitedBy, now: number): Quota {
  const { name, status, config, unit, partitionKey } = limit;
  const parsed = limitOf(limit);
  const forGood = isForGood(limit);
  return {
    name: toAscii(name),
    denied: !status.ok,
    quota: Math.floor(config.capacity ?? config.rate),
    windowSeconds: Math.min(MAX_INTEGER, Math.max(1, Math.ceil(parsed.kind.quota.windowMs(parsed, now) / 1000))),
    left: forGood ? undefined : leftOf(limit, now),
    retryAt: status.ok || forGood ? undefined : status.retryAt,
    unit,
    partitionKey,
  };
}

/** Whether t is longer than it has to be without a snapshot. */
export function needsSnapshot(limit: LimitedBy): boolean {
  return limitOf(limit).kind.quota.needsSnapshot ?? false;
}

/** The limit of the bucket: of windows without a `start`, it is the key that says when they start. */
function limitOf({ name, key, config }: LimitedBy): Limit {
  return bucketAt(parseLimit(name, configIn(config)), key).limit;
}

function leftOf(limited: LimitedBy, now: number): Left | undefined {
  const { status, snapshot, count = 1 } = limited;
  const limit = limitOf(limited);
  const { quota } = limit.kind;
  const { remaining: available, resetAt } = status;
  if (available === undefined || resetAt === undefined) return undefined;
  const requests = count > 0 ? available / count : Infinity;
  if (!status.ok) return { available, paced: available, requests, until: status.retryAt };
  const whenHeld = snapshot && ((tokens: number) => heldAt(snapshot, tokens, now));
  const known = { ...status, remaining: available, resetAt, whenHeld };
  // A request that takes nothing tells nothing of those that follow.
  const each = count > 0 ? count : 1;
  const usable = Math.floor(raised(available / each)) * each;
  const lastsSeconds = Math.floor(raised(quota.restoredInMs(limit, usable) / 1000));
  const until = Math.max(quota.renewedAt(limit, known, usable, each, now), now + lastsSeconds * 1000);
  // One second more than the window: `lastsSeconds` was rounded down.
  const perMs = limit.kind.unitsPerMs(limit) / limit.unitsPerToken;
  const arriving = Math.ceil(lowered(perMs * (secondsUntil(until, now) + 1) * 1000));
  return { available, paced: usable <= arriving ? available : Math.max(each, arriving), requests, until };
}

/** The first moment from `now` on at which a bucket holds so many tokens, if nobody takes any; undefined for none. */
function heldAt(snapshot: RateLimitSnapshot, held: number, now: number): number | undefined {
  const { tokens = snapshot.tokens } = overrideIn(snapshot, now);
  if (lowered(held) > tokens) return undefined;
  const { retryAt = now } = projectRateLimit(snapshot, { now, count: Math.min(held, tokens) });
  return retryAt < END_OF_TIME ? retryAt : undefined;
}

/** What overrides the limit at a moment. */
export function overrideIn(
  { override }: RateLimitSnapshot,
  now: number,
): Partial<RateLimitSnapshot> & { until?: number; unlimited?: true } {
  return override && now < override.until ? override : {};
}

/** The tightest first: denials, the longest wait first; then what will run out first; what is not known last. */
export function byTightness(a: Quota, b: Quota): number {
  if (a.denied !== b.denied) return a.denied ? -1 : 1;
  if (!a.left || !b.left) return a.left ? -1 : b.left ? 1 : 0;
  if (!a.denied && a.left.requests !== b.left.requests) return a.left.requests < b.left.requests ? -1 : 1;
  return b.left.until - a.left.until;
}

/** Whole seconds from `now` on, rounded up: who waits so long is not early. */
export function secondsUntil(moment: number, now: number): number {
  return Math.min(MAX_INTEGER, Math.max(0, Math.ceil((moment - now) / 1000)));
}

/**
 * A definition of `defineRateLimits` is a config with more fields. The key is always chosen here, and a denial always answered; what
 * `mode` and `overrides` say is asked for with the request.
 */
export function configIn(definition: RateLimitDefinition): RateLimitConfig {
  const config = { ...definition };
  delete config.keyed;
  delete config.overrides;
  delete config.throws;
  delete config.mode;
  delete config.queue;
  return config;
}
