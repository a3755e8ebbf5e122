/** The fuzzer's worlds on convex-test, a backend that checks arguments, results and documents; it is slow. */
import { describe, it } from "vitest";
import { placeNames } from "../support/places.js";
import { fuzz, useFuzzedClock } from "./operations.js";
import { oneRow, refillingKinds, severalRows } from "./scenario.js";
import { wholeStage } from "./stage.js";

useFuzzedClock();

describe.each(placeNames)("in the %s of a whole backend", (place) => {
  it.each([
    { title: "buckets and windows that become each other, on one row", scenario: oneRow(refillingKinds) },
    { title: "sliding windows on one row", scenario: oneRow(["sliding window"]) },
    { title: "token buckets on several rows", scenario: severalRows("token bucket") },
    { title: "fixed windows on several rows", scenario: severalRows("fixed window") },
    { title: "sliding windows on several rows", scenario: severalRows("sliding window") },
  ])("$title hold against exact ones", async ({ scenario }) => {
    await fuzz(scenario, () => wholeStage(place), 0.002);
  });
});
