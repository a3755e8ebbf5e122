/** The picture of docs/choosing.md shows the bounds of the kinds, and the file in the docs is what the script draws. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { calls, draw, lanesOf } from "../../bench/kinds.js";

it("each of four kinds keeps its own bound under sixty calls", () => {
  const [bucket = 0, window = 0, day = 0, sliding = 0] = lanesOf(calls()).map(({ most }) => most);
  expect(calls()).toHaveLength(60);
  expect(Math.max(bucket, window, day)).toBeLessThanOrEqual(20);
  expect(day).toBeGreaterThan(10);
  expect(sliding).toBe(10);
});

it("the file in the docs is what the script draws", () => {
  const file = path.resolve(import.meta.dirname, "../../docs/pictures/kinds.svg");
  expect(readFileSync(file, "utf8")).toBe(draw());
});
