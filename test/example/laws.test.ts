import { expect, it } from "vitest";
import { overdraft } from "../../example/demo/laws.js";

/** 2 tokens at once, 1 a second. */
const LIMIT = { rate: 1, period: 1000, capacity: 2 };

it.each([
  ["accepts a burst followed by the rate", [0, 0, 1000, 2000], 1, undefined],
  ["rejects a start that is a millisecond early", [0, 0, 999], 1, { from: 0, to: 999, tokens: 3, most: 2.999 }],
  ["checks every interval", [0, 1e5, 100_001, 100_002], 1, { from: 1e5, to: 100_002, tokens: 3, most: 2.002 }],
  ["counts tokens, not starts", [0], 3, { from: 0, to: 0, tokens: 3, most: 2 }],
])("the demo's bound %s", (_, times, tokens, found) => {
  const starts = times.map((time) => ({ earliest: time, latest: time, tokens }));
  expect(overdraft(starts, LIMIT)).toEqual(found);
});
