/**
 * A circuit breaker: after some failures in a row it says no for a while, then lets one call through to see. It lives in the
 * memory of one isolate; the platform may give each request a fresh one, and then it never opens and costs nothing.
 */

export interface BreakerOptions {
  /** How many failures in a row open it. */
  failures: number;
  /** For how many ms it stays open before one call may try again. */
  cooldown: number;
}

interface Breaker {
  /** 0 when a call may be made now, which then has to be reported; else the ms until one may. */
  readonly wait: (now: number) => number;
  readonly succeeded: () => void;
  readonly failed: (now: number) => void;
}

export function makeBreaker({ failures, cooldown }: BreakerOptions): Breaker {
  let inARow = 0;
  let openUntil = -Infinity;
  return {
    wait: (now) => {
      if (inARow < failures) return 0;
      if (now < openUntil) return openUntil - now;
      // This call is the probe; while it is under way no other is.
      openUntil = now + cooldown;
      return 0;
    },
    succeeded: () => {
      inARow = 0;
    },
    failed: (now) => {
      inARow++;
      openUntil = now + cooldown;
    },
  };
}
