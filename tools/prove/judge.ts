/** Runs one check, for no longer than its time. */
import type { Check, Prover } from "./check.js";
import { secondsOf } from "./checks.js";
import { type Result, verdictOf } from "./report.js";
import { sleep } from "./sleep.js";

export async function judge(check: Check, prover: Omit<Prover, "signal">, isEmbedded: boolean): Promise<Result> {
  const { subject, name, expected } = check;
  const shown = { subject, name, expected };
  const limit = secondsOf(check, prover.effort);
  const signal = AbortSignal.timeout(limit * 1000);
  const late = sleep(limit * 1000).then(() => ({ seen: `is not over after ${limit} s`, holds: false }));
  return await Promise.race([check.run({ ...prover, signal }), late]).then(
    ({ holds, ...seen }) => ({ check: shown, ...seen, verdict: verdictOf(check, isEmbedded, holds) }),
    (error: unknown) => ({ check: shown, seen: String(error), verdict: "failed" }),
  );
}
