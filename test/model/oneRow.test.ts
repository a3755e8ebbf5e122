/** Random calls of the public API, 1 to 5 at once, on one row a bucket: every answer is the exact one, in some serial order. */
import { describe, it } from "vitest";
import { placeNames } from "../support/places.js";
import { fuzz, placeShares, useFuzzedClock } from "./operations.js";
import { oneRow, refillingKinds } from "./scenario.js";
import { lightStage } from "./stage.js";

useFuzzedClock();

describe.each(placeNames)("in the %s, on one row", (place) => {
  it("buckets and windows that become each other answer as exact ones do", async () => {
    await fuzz(oneRow(refillingKinds), () => lightStage(place), 0.25 * placeShares[place]);
  });

  it("sliding windows answer as exact ones do", async () => {
    await fuzz(oneRow(["sliding window"]), () => lightStage(place), 0.2 * placeShares[place]);
  });
});
