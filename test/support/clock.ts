/** A clock that only the test moves. */
import { afterEach, beforeEach, vi } from "vitest";

export const NOW = 1_700_000_000_000;

type Fakeable = NonNullable<NonNullable<Parameters<typeof vi.useFakeTimers>[0]>["toFake"]>[number];

/**
 * The clock stands at `now` until a test moves it. After each test, what it has replaced is back: mocks, globals, environment variables.
 * @param toFake - what stands still, if not all timers as well: timers that others need go on.
 */
export function useClock(now = NOW, ...toFake: Fakeable[]): void {
  beforeEach(() => {
    vi.useFakeTimers({ now, ...(toFake.length > 0 && { toFake }) });
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
    vi.unstubAllEnvs();
  });
}

/** Runs what is scheduled, each job at its time, until nothing is left. */
export async function runJobs(t: { finishInProgressScheduledFunctions: () => Promise<void> }): Promise<void> {
  while (vi.getTimerCount() > 0) {
    vi.advanceTimersToNextTimer();
    await t.finishInProgressScheduledFunctions();
  }
}
