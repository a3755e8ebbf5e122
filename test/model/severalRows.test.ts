/** Random calls of the public API, 1 to 5 at once, on buckets of several rows: exact buckets could grant all that is granted. */
import { describe, it } from "vitest";
import { placeNames } from "../support/places.js";
import { fuzz, placeShares, useFuzzedClock } from "./operations.js";
import { allKinds, severalRows } from "./scenario.js";
import { openStage } from "../support/stage.js";

useFuzzedClock();

describe.each(placeNames)("in the %s, on several rows", (place) => {
  it.each([
    { title: "a token bucket", kinds: ["token bucket"] as const, share: 0.2 },
    { title: "a fixed window", kinds: ["fixed window"] as const, share: 0.1 },
    { title: "a sliding window", kinds: ["sliding window"] as const, share: 0.1 },
    { title: "a limit that changes its kind", kinds: allKinds, share: 0.1 },
  ])("$title grants nothing that an exact one would not, and neither makes nor loses a token", async (world) => {
    await fuzz(severalRows(world.kinds), () => openStage(place, "light"), world.share * placeShares[place]);
  });
});
