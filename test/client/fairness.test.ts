import { expect, it } from "vitest";
import { FAIRNESS, fairness } from "../../bench/fairness.js";

it("a large request that reserves waits no longer than the bucket takes to fill, and one that retries is starved", () => {
  const reserving = fairness("reserving");
  const retrying = fairness("retrying");
  // At worst, the bucket is empty when the request arrives. It then waits for its own tokens, and is served before later requests.
  expect(reserving.worst).toBeLessThanOrEqual((FAIRNESS.capacity / FAIRNESS.rate) * 1000);
  expect(retrying.worst).toBeGreaterThan(20 * reserving.worst);
  expect(retrying.median).toBeGreaterThan(5 * reserving.median);
});

it("the figures are the same on every machine", () => {
  expect(fairness("retrying")).toEqual(fairness("retrying"));
  expect(fairness("retrying").large).toHaveLength(FAIRNESS.runs);
});
