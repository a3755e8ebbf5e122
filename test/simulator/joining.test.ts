/** A small run of bench/joining.ts, so that it cannot rot; and that joining moments only ever costs. */
import { describe, expect, it } from "vitest";
import { renderJoining, runJoining } from "../../bench/joining.js";

const results = runJoining({ rates: [1, 64, 300], periods: 30, seed: "test" });
const at = (rate: number) => {
  const found = results.find((result) => result.rate === rate);
  if (!found) throw new Error(`no result for ${rate}`);
  return found;
};

describe("bench:joining", () => {
  it("up to 64 moments a sliding window starts what an exact log does", () => {
    for (const rate of [1, 64]) {
      const { random, saturated } = at(rate);
      expect(random.ours).toBe(random.exact);
      expect(saturated.ours).toBe(saturated.exact);
    }
  });

  it("beyond 64 moments it starts less under random load, never more than its rate", () => {
    const { random, saturated } = at(300);
    expect(random.ours).toBeLessThan(random.exact);
    for (const { ours, exact } of [random, saturated]) expect(ours).toBeLessThanOrEqual(exact);
  });

  it("prints a row for each rate", () => {
    expect(renderJoining(results).match(/^\| \d/gm)).toHaveLength(3);
  });
});
