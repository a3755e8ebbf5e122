/** A status and its config, in the terms of HTTP: quota, window, what is available, and from when there is more. */
import type { RateLimitDefinition } from "../index.js";
import type { RateLimitConfig } from "../configs.js";
import type { RateLimitStatus } from "../validators.js";
import { MAX_INTEGER, toAscii } from "./structuredFields.js";

/** A limit that a request was held to, and what it answered. */
export interface LimitedBy {
  name: string;
  status: RateLimitStatus;
  /** The config, or the definition, that the status was asked with. */
  config: RateLimitDefinition;
  /** The tokens that the request asked for, default 1. */
  count?: number | undefined;
  /** The bucket, as jitter tells callers apart; it is not sent. */
  key?: string | undefined;
  /** What a token stands for, when it is not a request: the draft's `qu`. */
  unit?: QuotaUnit | undefined;
  /** Sent as the draft's `pk`, for clients with several quotas. Anyone may read it: do not give the key itself. */
  partitionKey?: string | undefined;
}

/** The units that the draft registers; the default is "requests". */
export type QuotaUnit = "requests" | "content-bytes" | "concurrent-requests";

/**
 * - `quota`, `windowSeconds`: the policy. At most `quota` tokens at once, and all of them are back after the window.
 * - `available`: what is left. For `moreAt` (ms since the epoch) no more than that can be used, and then more is there.
 */
export interface Quota {
  readonly name: string;
  readonly key: string | undefined;
  readonly denied: boolean;
  readonly quota: number;
  readonly windowSeconds: number;
  readonly available: number;
  readonly moreAt: number;
  readonly unit: QuotaUnit | undefined;
  readonly partitionKey: string | undefined;
  /** How many requests like this one the available quota is good for. */
  readonly requestsLeft: number;
}

export function quotaOf({ name, status, config, count = 1, key, unit, partitionKey }: LimitedBy): Quota {
  return {
    name: toAscii(name),
    key,
    denied: !status.ok,
    quota: Math.floor(config.capacity ?? config.rate),
    windowSeconds: windowSeconds(config),
    available: status.remaining ?? 0,
    moreAt: status.ok ? renewedAt(status, config, count) : status.retryAt,
    unit,
    partitionKey,
    requestsLeft: count > 0 ? (status.remaining ?? 0) / count : Infinity,
  };
}

/** The tightest first: denials, the longest wait first; then what will run out first. */
export function byTightness(a: Quota, b: Quota): number {
  if (a.denied !== b.denied) return a.denied ? -1 : 1;
  if (!a.denied && a.requestsLeft !== b.requestsLeft) return a.requestsLeft < b.requestsLeft ? -1 : 1;
  return b.moreAt - a.moreAt;
}

/** Whole seconds from `now` on, rounded up: whoever waits so long is not early. */
export function secondsUntil(moment: number, now: number): number {
  return Math.min(MAX_INTEGER, Math.max(0, Math.ceil((moment - now) / 1000)));
}

/**
 * The time in which the whole capacity comes back. So quota / window is the sustained rate, and neither the available quota
 * nor the time until it is restored is ever larger than the policy says.
 */
function windowSeconds(config: RateLimitConfig): number {
  const { kind, rate, capacity = rate } = config as { kind: string; rate: number; capacity?: number };
  const period = config.period as number;
  const periods = capacity === 0 ? 1 : capacity / rate;
  const seconds = ((kind === "fixed window" ? Math.ceil(periods) : periods) * period) / 1000;
  // The product of two rounded numbers may lie just above the whole number that it stands for: 0.3 / 0.1 * 1 s.
  return Math.min(MAX_INTEGER, Math.max(1, Math.ceil(seconds * (1 - 4 * Number.EPSILON))));
}

/** When a request like this one finds its tokens again, even if all that is available was used in the meantime. */
function renewedAt(status: RateLimitStatus, config: RateLimitConfig, count: number): number {
  const moment = Math.max(status.resetAt ?? 0, status.retryAt ?? 0);
  if (config.kind === "token bucket") return moment;
  // A window brings `rate` tokens, which may be less than the request takes.
  const windows = Math.ceil((count - (status.remaining ?? 0)) / config.rate);
  return moment + Math.max(0, windows - 1) * (config.period as number);
}
