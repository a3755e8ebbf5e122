const nodeSetTimeout = globalThis.setTimeout;

/**
 * Replaces `setTimeout` by one that never fires early. Node's timers have their own clock and may fire when `Date.now()` is still
 * 1 ms short. Convex's scheduler never starts a job early, and convex-test's scheduler uses `setTimeout`.
 */
export function makeTimersPunctual(): void {
  const punctual = (callback: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]) => {
    const due = Date.now() + delayMs;
    const fire = (): void => {
      if (Date.now() < due) setImmediate(fire);
      else callback(...args);
    };
    return nodeSetTimeout(fire, delayMs);
  };
  globalThis.setTimeout = Object.assign(punctual, nodeSetTimeout) as typeof globalThis.setTimeout;
}
