export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Asks every 100 ms until there is an answer, at most for `ms`. */
export async function until<Answer>(ms: number, ask: () => Promise<Answer | undefined>): Promise<Answer | undefined> {
  const end = performance.now() + ms;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined || performance.now() > end) return answer;
    await sleep(100);
  }
}
