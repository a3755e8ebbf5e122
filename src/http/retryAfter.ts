/** Retry-After: never earlier than the truth, and on request later, by a part of the wait that is the caller's own. */
import { fieldError } from "../engine/misuse.js";
import { hashOf } from "../engine/hash.js";

/** What has to be waited for: a limit, and the moment. */
interface Wait {
  readonly name: string;
  readonly until: number;
}

/**
 * Whole seconds from `now` on, at least 1, until the last of the waits is over. Each wait is lengthened by up to the fraction
 * `jitter` of itself. How far comes from a hash of limit and caller, so that a caller always gets the same and callers who were
 * denied together return one after another.
 *
 * A fraction of a second becomes a whole one with that probability: of many callers with 1 s to wait and a jitter of 0.5, a
 * quarter is told 2 s.
 */
export function retryAfterSeconds(waits: readonly Wait[], now: number, jitter: number, caller: string): number {
  const delays = waits.map(({ name, until }) => {
    const waitSeconds = (until - now) / 1000;
    const extraSeconds = Math.max(0, waitSeconds) * jitter * hashOf(name, caller, "length");
    return Math.floor(Math.max(1, Math.ceil(waitSeconds)) + extraSeconds + hashOf(name, caller, "rounding"));
  });
  return Math.max(...delays);
}

/** @throws when the fraction is not between 0 and 1. */
export function checkJitter(name: string, jitter: number): void {
  if (!(jitter >= 0 && jitter <= 1)) throw fieldError(name, "jitter", "a number from 0 to 1", jitter);
}
