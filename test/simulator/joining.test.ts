/** A small run of bench/joining.ts, so that a broken bench fails a test. It also checks that merging entries of a log never grants more. */
import { expect, it } from "vitest";
import { renderJoining, runJoining } from "../../bench/joining.js";

it("bench:joining: a sliding window grants as much as an exact log at a rate of up to 64, and less above it", () => {
  const results = runJoining({ rates: [1, 64, 300], periods: 30, seed: "test" });
  for (const { rate, random, saturated } of results) {
    expect(saturated.ours).toBeLessThanOrEqual(saturated.exact);
    if (rate > 64) expect(random.ours).toBeLessThan(random.exact);
    else expect([random.ours, saturated.ours]).toEqual([random.exact, saturated.exact]);
  }
  expect(renderJoining(results).match(/^\| \d/gm)).toHaveLength(3);
});
