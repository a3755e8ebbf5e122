/** Tests that find some faults of larger.ts and miss others. */
import { expect, it } from "vitest";
import { isSmall, larger } from "./larger.js";

it("larger", () => {
  expect(larger(1, 2)).toBe(2);
  expect(larger(2, 1)).toBe(2);
});

// 10 itself is not tried, so that a fault at the boundary survives.
it("isSmall", () => {
  expect(isSmall(9)).toBe(true);
  expect(isSmall(11)).toBe(false);
});
