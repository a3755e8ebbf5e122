/** Real time, to the millisecond. */

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

export async function sleepUntil(moment: number): Promise<void> {
  while (Date.now() < moment) {
    await new Promise<void>((resolve) => nodeSetTimeout(resolve, moment - Date.now()));
  }
}

/** How often `until` looks: short beside what it waits for, long beside a query. */
const POLL_MS = 20;

/** Asks until the answer is yes, but not for ever. */
export async function until(holds: () => Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() >= deadline) return false;
    await sleepUntil(Date.now() + POLL_MS);
  }
  return true;
}
