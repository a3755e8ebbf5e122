/** A clock that only the test moves. */
import { afterEach, beforeEach, vi } from "vitest";

export const NOW = Date.UTC(2026, 0, 1);

/** The clock stays where it is until a test moves it. */
export function useClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({ now: NOW });
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
}

/** Runs all scheduled functions, each at its time. */
export async function runJobs(t: { finishInProgressScheduledFunctions: () => Promise<void> }): Promise<void> {
  while (vi.getTimerCount() > 0) {
    vi.advanceTimersToNextTimer();
    await t.finishInProgressScheduledFunctions();
  }
}
