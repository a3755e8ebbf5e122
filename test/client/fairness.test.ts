// @vitest-environment edge-runtime
import { expect, it } from "vitest";
import { FAIRNESS, fairness } from "../../bench/fairness.js";

it("a large request that reserves waits no longer than the bucket takes to fill; one that retries is starved", () => {
  const reserving = fairness("reserving");
  const retrying = fairness("retrying");
  // At worst the bucket is empty when it asks: then its own tokens have to come, and nobody gets in before it.
  expect(reserving.worst).toBeLessThanOrEqual((FAIRNESS.capacity / FAIRNESS.rate) * 1000);
  expect(retrying.worst).toBeGreaterThan(20 * reserving.worst);
  expect(retrying.median).toBeGreaterThan(5 * reserving.median);
});

it("the figure is the same on every machine", () => {
  expect(fairness("retrying")).toEqual(fairness("retrying"));
  expect(fairness("retrying").large).toHaveLength(FAIRNESS.runs);
});
