/** A limit that a request was held to, in the terms of HTTP: its policy, and what is left of it. */
import { policyOf } from "../engine/kinds/policy.js";
import { fieldError } from "../engine/misuse.js";
import { checkName } from "../engine/names.js";
import { END_OF_TIME } from "../engine/time.js";
import type { RateLimitStatus } from "../wire/answers.js";
import type { RateLimitConfig } from "../wire/configs.js";

/** A limit that a request was held to, and what it answered. */
export interface LimitedBy {
  name: string;
  status: RateLimitStatus;
  /** The config, or the definition, that the status was asked with. */
  config: RateLimitConfig;
  /** The tokens that the request asked for, default 1. */
  count?: number | undefined;
  /** The bucket's key; it is not sent. */
  key?: string | undefined;
  /** Sent as the draft's `pk`, for clients with several quotas. Anyone may read it: do not give the key itself. */
  partitionKey?: string | undefined;
}

/** Why a limit denied, and until when; END_OF_TIME if no wait helps. Undefined if it let the request pass. */
export function denialIn({ status }: LimitedBy): { retryAt: number; reason: string | undefined } | undefined {
  if (status.ok) return undefined;
  const denied: { retryAt?: number; reason?: string } = status;
  return { retryAt: denied.retryAt ?? END_OF_TIME, reason: denied.reason };
}

/** When all of the limits that denied let the request pass; undefined if none denied, or if no wait helps. */
export function retryAtOf(limits: readonly LimitedBy[]): number | undefined {
  const latest = Math.max(...limits.map((limit) => denialIn(limit)?.retryAt ?? -Infinity));
  return latest > -Infinity && latest < END_OF_TIME ? latest : undefined;
}

/** The policy of a limit, and the part of its state that a client gets. */
export type Quota = ReturnType<typeof quotaOf>;

export function quotaOf(limited: LimitedBy) {
  const { name, config, status, count = 1, partitionKey } = limited;
  checkName(name);
  const { capacity, windowMs } = policyOf(status.override?.config ?? config);
  if (!(capacity >= 0 && windowMs >= 0)) throw fieldError(name, "config", "the config of the limit", config);
  const { remaining, resetAt = END_OF_TIME } = status;
  const denial = denialIn(limited);
  return {
    name: toAscii(name),
    partitionKey,
    quota: Math.floor(capacity),
    windowSeconds: Math.max(1, seconds(windowMs)),
    /** Absent if the call read only some rows of the bucket, or if the bucket is never full again. */
    left: remaining === undefined || resetAt >= END_OF_TIME ? undefined : { remaining, resetAt },
    /** How many more requests like this one are left. */
    requests: denial ? -1 : count > 0 ? (remaining ?? Infinity) / count : Infinity,
    until: denial?.retryAt ?? resetAt,
  };
}

/** The tightest first: denials, then what is used up first. Of two alike, the one that lasts longer. */
export function byTightness(a: Quota, b: Quota): number {
  // Two infinities are alike.
  return a.requests - b.requests || b.until - a.until;
}

/** Whole seconds, rounded up: a client that waits is never early. The most is the largest Integer of RFC 9651. */
export function seconds(ms: number): number {
  return Math.min(999_999_999_999_999, Math.max(0, Math.ceil(ms / 1000)));
}

/** As a String of structured fields requires: % and what is not printable ASCII are percent-encoded. */
export function toAscii(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd").replace(/[^ -$&-~]/gu, encodeURIComponent);
}
