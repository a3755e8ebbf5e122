const nodeSetTimeout = globalThis.setTimeout;

/**
 * Node's timers count on a clock of their own and may fire when `Date.now()` is still a millisecond short. Convex's scheduler
 * never starts a job early, so the engine, which uses `setTimeout` for it, gets one that does not either.
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
