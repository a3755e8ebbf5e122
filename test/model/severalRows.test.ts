/** Random calls of the public API, 1 to 5 at once, on buckets of several rows: exact buckets could grant all that is granted. */
import { describe, it } from "vitest";
import { placeNames } from "../support/places.js";
import { fuzz, placeShares, useFuzzedClock } from "./operations.js";
import { severalRows } from "./scenario.js";
import { lightStage } from "./stage.js";

useFuzzedClock();

describe.each(placeNames)("in the %s, on several rows", (place) => {
  it.each([
    { kind: "token bucket" as const, share: 0.25 },
    { kind: "fixed window" as const, share: 0.15 },
    { kind: "sliding window" as const, share: 0.15 },
  ])("a $kind grants nothing that an exact one would not", async ({ kind, share }) => {
    await fuzz(severalRows(kind), () => lightStage(place), share * placeShares[place]);
  });
});
