/** A status and its config, in the terms of HTTP: quota, window, what is available, and how long that has to last. */
import type { RateLimitDefinition } from "../client/definitionTypes.js";
import { checkDefinition } from "../client/definitions.js";
import { type Limit, unitsPerMs } from "../engine/kinds/kind.js";
import { parseBucket } from "../engine/request.js";
import { END_OF_TIME } from "../engine/time.js";
import { lowered, raised } from "../engine/units.js";
import type { AllowedStatus, DeniedStatus } from "../wire/answers.js";

/** One of a limit on several rows may have neither `remaining` nor `resetAt`. Without `renewsAt`, `t` of a sliding window is its whole period. */
export type HttpStatus = (AllowedStatus | DeniedStatus) & { shadow?: { ok: boolean } };

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
  /** Sent as the draft's `pk`, for clients with several quotas. Anyone may read it: do not give the key itself. */
  partitionKey?: string | undefined;
}

/** Whether no wait helps: the limit is closed to the caller by an override that does not end. */
export function isForGood({ status }: LimitedBy): boolean {
  return !status.ok && status.retryAt >= END_OF_TIME;
}

/** When all of the limits that denied let the request pass; undefined if none did, and if no wait helps. */
export function retryAtOf(limits: readonly LimitedBy[]): number | undefined {
  const times = limits.flatMap(({ status }) => (status.ok ? [] : [status.retryAt]));
  return times.length === 0 || limits.some(isForGood) ? undefined : Math.max(...times);
}

/** The policy of a limit, and the part of its state that a client gets. */
export type Quota = ReturnType<typeof quotaOf>;

interface Left {
  /** Whole tokens. */
  readonly available: number;
  /** `available`, or less if a client that divides it by the effective window would far exceed the rate. */
  readonly paced: number;
  /** How many requests like this one `available` suffices for. */
  readonly requests: number;
  /** The end of the effective window, in ms since the epoch: a client that spends `paced` and then waits until here is not denied. */
  readonly until: number;
}

export function quotaOf(limited: LimitedBy, now: number) {
  const { name, key, config, status, partitionKey } = limited;
  const own = status.override?.config ?? checkDefinition(name, config).config;
  // Windows without a `start` begin when the key says.
  const { limit } = parseBucket({ name, key, config: own });
  const windowMs = limit.kind.windowMs(limit, now);
  return {
    name: toAscii(name),
    partitionKey,
    denied: !status.ok,
    /** At most this many tokens at once, and all of them are back after the window. */
    quota: Math.floor(limit.tokens),
    windowSeconds: Math.min(MAX_INTEGER, Math.max(1, Math.ceil(windowMs / 1000))),
    /** Absent if the status had no `remaining`, and if no wait helps. */
    left: isForGood(limited) ? undefined : leftOf(limited, limit, windowMs, now),
  };
}

function leftOf({ status, count = 1 }: LimitedBy, limit: Limit, windowMs: number, now: number): Left | undefined {
  const { kind } = limit;
  const { remaining: available, resetAt } = status;
  if (available === undefined || resetAt === undefined) return undefined;
  const requests = count > 0 ? available / count : Infinity;
  if (!status.ok) return { available, paced: available, requests, until: status.retryAt };
  const known = { ...status, remaining: available, resetAt };
  // A request that takes nothing tells nothing about those that follow.
  const each = count > 0 ? count : 1;
  const usable = Math.floor(raised(available / each)) * each;
  // `r` is a whole number, and what is available is: of a request that takes a fraction, the tokens that hold it.
  const least = Math.ceil(lowered(each));
  const perSecond = (unitsPerMs(limit) / limit.unitsPerToken) * 1000;
  // Tokens that come back by themselves, and not with a window, last as long as they take for that.
  const lastsSeconds = kind.whenReset ? 0 : Math.floor(raised(usable / perSecond));
  const until = Math.max(kind.renewedAt(limit, known, { spent: usable, count: each }, now), now + lastsSeconds * 1000);
  const seconds = secondsUntil(until, now);
  // One second more than the window: `lastsSeconds` was rounded down.
  const arriving = Math.ceil(lowered(perSecond * (seconds + 1)));
  // r / t never exceeds the rate by far: r is cut, and a single request is spread over a longer t.
  const most = windowMs < LONG_WINDOW_MS ? Infinity : Math.floor(raised(MOST_PACE * perSecond * seconds));
  const paced = Math.min(available, Math.max(least, arriving), most);
  if (usable < each || most >= least) return { available, paced, requests, until };
  const apart = now + Math.ceil(lowered(least / (MOST_PACE * perSecond))) * 1000;
  return { available, paced: least, requests, until: Math.max(until, apart) };
}

/** From this window on whole seconds are fine enough to hold r / t to `MOST_PACE` × the rate. */
const LONG_WINDOW_MS = 10_000;
const MOST_PACE = 1.5;

/** The tightest first: denials, the longest wait first; then what will run out first; what is not known last. */
export function byTightness(a: Quota, b: Quota): number {
  if (a.denied !== b.denied) return a.denied ? -1 : 1;
  if (!a.left || !b.left) return a.left ? -1 : b.left ? 1 : 0;
  return (a.denied ? 0 : a.left.requests - b.left.requests) || b.left.until - a.left.until;
}

/** Whole seconds from `now` on, rounded up, so that a client that waits is never early. */
export function secondsUntil(time: number, now: number): number {
  return Math.min(MAX_INTEGER, Math.max(0, Math.ceil((time - now) / 1000)));
}

/** The largest Integer of RFC 9651, section 3.3.1: fifteen digits. */
const MAX_INTEGER = 999_999_999_999_999;

/** As a String of structured fields requires: % and what is not printable ASCII are percent-encoded, so different texts stay different. */
export function toAscii(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd").replace(/[^ -$&-~]/gu, encodeURIComponent);
}
