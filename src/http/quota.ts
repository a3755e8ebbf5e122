/** A status and its config, in the terms of HTTP: quota, window, what is available, and how long that has to last. */
import type { RateLimitDefinition } from "../index.js";
import type { RateLimitConfig } from "../validators.js";
import { MAX_INTEGER, toAscii } from "./structuredFields.js";

/** What HTTP reads of a status; a limit on several rows may leave out what it would have to read all of them for. */
export type HttpStatus = { remaining?: number; resetAt?: number } & (
  { ok: true; retryAt?: number } | { ok: false; retryAt: number }
);

/** A limit that a request was held to, and what it answered. */
export interface LimitedBy {
  name: string;
  status: HttpStatus;
  /** The config, or the definition, that the status was asked with. */
  config: RateLimitDefinition;
  /** The tokens that the request asked for, default 1. */
  count?: number | undefined;
  /** The bucket's key; it is not sent. */
  key?: string | undefined;
  /** What a token stands for, when it is not a request: the draft's `qu`. */
  unit?: QuotaUnit | undefined;
  /** Sent as the draft's `pk`, for clients with several quotas. Anyone may read it: do not give the key itself. */
  partitionKey?: string | undefined;
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
  /** Absent where the status had no `remaining`. */
  readonly left: Left | undefined;
  /** Of a denial: when the same request succeeds. */
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
  return {
    name: toAscii(name),
    denied: !status.ok,
    quota: Math.floor(config.capacity ?? config.rate),
    windowSeconds: Math.min(MAX_INTEGER, Math.max(1, Math.ceil(lowered(httpWindowMs(config) / 1000)))),
    left: leftOf(limit, now),
    retryAt: status.ok ? undefined : status.retryAt,
    unit,
    partitionKey,
  };
}

function leftOf({ status, config, count = 1 }: LimitedBy, now: number): Left | undefined {
  const { remaining: available, resetAt } = status;
  if (available === undefined || resetAt === undefined) return undefined;
  const requests = count > 0 ? available / count : Infinity;
  if (!status.ok) return { available, paced: available, requests, until: status.retryAt };
  const known = { ...status, remaining: available, resetAt };
  // A request that takes nothing tells nothing of those that follow.
  const each = count > 0 ? count : 1;
  const usable = Math.floor(raised(available / each)) * each;
  const lastsSeconds = Math.floor(raised(restoredInMs(usable, config) / 1000));
  const until = Math.max(renewedAt(known, usable, config, each, now), now + lastsSeconds * 1000);
  // One second more than the window: `lastsSeconds` was rounded down.
  const arriving = Math.ceil((config.rate * (secondsUntil(until, now) + 1) * 1000) / config.period);
  return { available, paced: usable <= arriving ? available : Math.max(each, arriving), requests, until };
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

/*
 * What depends on the kind of a limit. Three questions, asked nowhere else in this folder.
 */

/** The time in which the whole capacity comes back, in ms: capacity / window is the sustained rate. */
function httpWindowMs({ kind, rate, period, capacity = rate }: RateLimitConfig): number {
  const periods = capacity === 0 ? 1 : capacity / rate;
  return (kind === "token bucket" ? periods : Math.ceil(lowered(periods))) * period;
}

type KnownStatus = HttpStatus & { readonly remaining: number; readonly resetAt: number };

/** The first moment at which a request of `count` is served, once the `usable` tokens of `remaining` have been spent. */
function renewedAt(status: KnownStatus, usable: number, config: RateLimitConfig, count: number, now: number): number {
  const { remaining, resetAt, retryAt = 0 } = status;
  const { kind, rate, period, capacity = rate } = config;
  if (kind === "fixed window") {
    // A window brings `rate` tokens, which may be less than a request takes.
    const windows = Math.ceil(lowered((count - (remaining - usable)) / rate));
    return Math.max(resetAt, retryAt) + Math.max(0, windows - 1) * period;
  }
  // Reckoned back from the moment at which the bucket would be full, since that is exact and `remaining` is rounded down.
  const spareMs = ((capacity - usable - count) / rate) * period;
  const byReset = resetAt - Math.floor(raised(spareMs));
  // Of several rows, `resetAt` is when the last of them is full. What is there belongs to no debt, so it can be reckoned from now.
  const missingMs = ((count - (remaining - usable)) / rate) * period;
  return Math.max(remaining > 0 ? Math.min(byReset, now + Math.ceil(lowered(missingMs))) : byReset, retryAt);
}

/** How long the `usable` tokens take to arrive again, in ms; 0 where they cannot be saved up beyond the next window. */
function restoredInMs(usable: number, { kind, rate, period }: RateLimitConfig): number {
  return kind === "token bucket" ? (usable / rate) * period : 0;
}

/** A product or quotient of rounded numbers may lie just beside the whole number that it stands for: 0.3 / 0.1 * 1 s. */
const ROUNDING = 4 * Number.EPSILON;
const lowered = (value: number): number => value * (1 - ROUNDING);
const raised = (value: number): number => value * (1 + ROUNDING);
