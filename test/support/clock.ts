/** A clock that only the test moves. */
import { afterEach, beforeEach, vi } from "vitest";

export const NOW = 1_700_000_000_000;
/** A time at which a second, a minute, a day and a year begin. */
export const START = Date.UTC(2026, 0, 1);

type Fakeable = NonNullable<NonNullable<Parameters<typeof vi.useFakeTimers>[0]>["toFake"]>[number];

/**
 * The clock stays at `now` until a test moves it. After each test, replaced mocks, globals and environment variables are restored.
 * @param toFake - what is faked; by default all timers. Name fewer if other code needs real timers.
 */
export function useClock(now = NOW, ...toFake: Fakeable[]): void {
  beforeEach(() => {
    vi.useFakeTimers({ now, ...(toFake.length > 0 && { toFake }) });
  });
  afterEach(() => {
    // Restored afterwards, a spy on a fake timer would put back the fake one.
    vi.restoreAllMocks();
    vi.useRealTimers();
    vi.unstubAllGlobals();
    vi.unstubAllEnvs();
  });
}

/** Runs all scheduled jobs, each at its time, until none is left. */
export async function runJobs(t: { finishInProgressScheduledFunctions: () => Promise<void> }): Promise<void> {
  while (vi.getTimerCount() > 0) {
    vi.advanceTimersToNextTimer();
    await t.finishInProgressScheduledFunctions();
  }
}
