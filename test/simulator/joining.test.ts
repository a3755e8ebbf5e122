/** A small run of bench/joining.ts, so that it cannot rot; and that joining moments only ever costs. */
import { expect, it } from "vitest";
import { renderJoining, runJoining } from "../../bench/joining.js";

it("bench:joining: a sliding window starts what an exact log does up to 64 moments, and beyond that less, never more", () => {
  const results = runJoining({ rates: [1, 64, 300], periods: 30, seed: "test" });
  for (const { rate, random, saturated } of results) {
    expect(saturated.ours).toBeLessThanOrEqual(saturated.exact);
    if (rate > 64) expect(random.ours).toBeLessThan(random.exact);
    else expect([random.ours, saturated.ours]).toEqual([random.exact, saturated.exact]);
  }
  expect(renderJoining(results).match(/^\| \d/gm)).toHaveLength(3);
});
