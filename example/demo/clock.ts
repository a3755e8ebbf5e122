/** Real time, to the millisecond. */

export async function sleepUntil(moment: number): Promise<void> {
  while (Date.now() < moment) {
    await new Promise<void>((resolve) => setTimeout(resolve, moment - Date.now()));
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
