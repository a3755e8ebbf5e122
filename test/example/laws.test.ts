import { expect, it } from "vitest";
import { overdraft } from "../../example/demo/laws.js";

/** Two at once, one a second. */
const LIMIT = { rate: 1, period: 1000, capacity: 2 };
const at = (moment: number, tokens = 1) => ({ earliest: moment, latest: moment, tokens });

it("the demo's bound accepts a burst followed by the rate", () => {
  expect(overdraft([at(0), at(0), at(1000), at(2000)], LIMIT)).toBeUndefined();
});

it("the demo's bound rejects a start that is a millisecond early", () => {
  expect(overdraft([at(0), at(0), at(999)], LIMIT)).toMatchObject({ from: 0, to: 999, tokens: 3, most: 2.999 });
});

it("the demo's bound looks at every interval, not only at the whole", () => {
  const starts = [at(0), at(100_000), at(100_001), at(100_002)];
  expect(overdraft(starts, LIMIT)).toMatchObject({ from: 100_000, to: 100_002, tokens: 3 });
});

it("the demo's bound counts tokens, not starts", () => {
  expect(overdraft([at(0, 3)], LIMIT)).toMatchObject({ tokens: 3, most: 2 });
});
