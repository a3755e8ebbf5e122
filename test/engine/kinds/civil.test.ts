/** The calendar as numbers, compared with JavaScript's Date. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { firstDayOf } from "../../../src/engine/kinds/timeZone.js";
import { DAY_MS } from "../../../src/engine/time.js";
import { forAny } from "../../support/random.js";

it("a month begins on the same day as in Date, from the first month of a Date to the last", () => {
  // Date.UTC reads years below 100 as years of the 20th century, so the month is counted from 1970 instead.
  const first = -12 * (271_821 + 1970) + 4;
  const last = 12 * (275_760 - 1970) + 8;
  const edges = fc.constantFrom(first, last, -1, 0, 1, 11, 12, 25, 26, 361, 1561);
  const months = fc.oneof(edges, fc.integer({ min: first, max: last }));
  forAny([months], 5000, (month) => {
    expect(firstDayOf(month) * DAY_MS).toBe(Date.UTC(1970, month));
  });
});
