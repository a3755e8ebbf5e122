/** Waits in real time, to the millisecond. */

export async function sleepUntil(time: number): Promise<void> {
  while (Date.now() < time) {
    await new Promise<void>((resolve) => setTimeout(resolve, time - Date.now()));
  }
}

/** The interval at which `until` asks again: short compared to what it waits for, long compared to a query. */
const POLL_MS = 20;

/** Asks until the answer is yes, at most for `timeoutMs`. Returns whether it was. */
export async function until(holds: () => Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() >= deadline) return false;
    await sleepUntil(Date.now() + POLL_MS);
  }
  return true;
}
