/** Random calls of the public API, 1 to 5 at once, on one row a bucket: every answer is the exact one, in some serial order. */
import { describe, it } from "vitest";
import { placeNames } from "../support/places.js";
import { fuzz, placeShares, useFuzzedClock } from "./operations.js";
import { allKinds, oneRow } from "./scenario.js";
import { openStage } from "../support/stage.js";

useFuzzedClock();

describe.each(placeNames)("in the %s, on one row", (place) => {
  it.each([
    { title: "buckets and windows that alternate", kinds: ["token bucket", "fixed window"] as const, share: 0.2 },
    { title: "sliding windows", kinds: ["sliding window"] as const, share: 0.12 },
    { title: "limits of any kind that alternate", kinds: allKinds, share: 0.12 },
  ])("$title answer as exact ones do", async ({ kinds, share }) => {
    await fuzz(oneRow(kinds), () => openStage(place, "light"), share * placeShares[place]);
  });
});
