/** Retry-After: never earlier than the truth, and on request later, by a share of the wait that is the caller's own. */
import { hashedStart } from "../engine/phase.js";
import { fieldError } from "../engine/misuse.js";

/** What has to be waited for: a bucket, and the moment. */
interface Wait {
  readonly name: string;
  readonly key: string | undefined;
  readonly until: number;
}

/**
 * Whole seconds from `now` on, at least 1, until the last of the waits is over. Each wait is lengthened by up to the
 * fraction `jitter` of itself; how far comes from a hash of limit and key, so that a caller always gets the same share and
 * callers who were denied together come back one after another.
 */
export function retryAfterSeconds(waits: readonly Wait[], now: number, jitter: number): number {
  const delays = waits.map(({ name, key, until }) => (until - now) * (1 + jitter * share(name, key)));
  return Math.max(1, Math.ceil(Math.max(...delays) / 1000));
}

/** In [0, 1). Salted, for the phase of a fixed window is hashed from the same name and key. */
function share(name: string, key: string | undefined): number {
  return hashedStart(`Retry-After of ${name}`, key, 2 ** 32) / 2 ** 32;
}

/** @throws when the fraction is not between 0 and 1. */
export function checkJitter(name: string, jitter: number): void {
  if (!(jitter >= 0 && jitter <= 1)) throw fieldError(name, "jitter", "a number from 0 to 1", jitter);
}
