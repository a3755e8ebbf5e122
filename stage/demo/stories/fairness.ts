import { FAIRNESS, fairness as waits } from "../../../bench/fairness.js";
import { check, heading, table } from "../report.js";

/** Simulates ten minutes of a busy limit, twenty times, in virtual time. */
export function fairness(): Promise<void> {
  heading(
    "A large request among small ones: retrying with jitter, or reserving",
    `simulated: ${FAIRNESS.rate} a second, at most ${FAIRNESS.capacity}; ` +
      `small requests use 95 % of it, one wants all ${FAIRNESS.capacity}; ${FAIRNESS.runs} runs`,
  );
  const [retrying, reserving] = [waits("retrying"), waits("reserving")];
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  table([
    ["the large request", "median wait", "longest wait"],
    ["retries at retryAt, plus up to a second", seconds(retrying.median), seconds(retrying.worst)],
    ["reserves", seconds(reserving.median), seconds(reserving.worst)],
  ]);
  const longest = (FAIRNESS.capacity / FAIRNESS.rate) * 1000;
  check(
    `a request that reserves never waits longer than the bucket takes to fill, ${seconds(longest)}`,
    reserving.worst <= longest,
  );
  check(
    "a request that retries waits at least twenty times as long at worst",
    retrying.worst >= 20 * reserving.worst,
    retrying,
  );
  return Promise.resolve();
}
