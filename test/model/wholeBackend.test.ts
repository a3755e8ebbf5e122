/** The fuzzer's worlds on convex-test, a backend that checks arguments, results and documents; it is slow. */
import { describe, it } from "vitest";
import { placeNames } from "../support/places.js";
import { fuzz, useFuzzedClock } from "./operations.js";
import { allKinds, oneRow, severalRows } from "./scenario.js";
import { openStage } from "../support/stage.js";

useFuzzedClock();

describe.each(placeNames)("in the %s of a whole backend", (place) => {
  it.each([
    { title: "limits of any kind that alternate, on one row", scenario: oneRow(allKinds) },
    { title: "limits of any kind that alternate, on several rows", scenario: severalRows(allKinds) },
  ])("$title hold against exact ones", async ({ scenario }) => {
    await fuzz(scenario, () => openStage(place, "whole"), 0.003);
  });
});
