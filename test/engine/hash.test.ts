/** The hash of texts. It decides when windows start and how long callers wait, so it must never change. */
import { describe, expect, it } from "vitest";
import { hashOf } from "../../src/engine/hash.js";

describe("the hash of texts", () => {
  it("has not changed: with another hash every current window would start anew", () => {
    const hashes = [[""], ["send"], ["send", "alice"], ["send", "bob"], ["ß", "日本", "💥"]].map((texts) =>
      hashOf(...texts),
    );
    expect(hashes).toEqual([
      0.02137250336818397, 0.48884520842693746, 0.3972360889893025, 0.41337555344216526, 0.4960579627659172,
    ]);
  });

  it("depends on where one text ends and the next begins, and on their order", () => {
    const ways = [["ab"], ["a", "b"], ["b", "a"], ["ab", ""], ["", "ab"], ["a", "", "b"]];
    expect(new Set(ways.map((texts) => hashOf(...texts))).size).toBe(ways.length);
  });

  it("is evenly distributed for texts that differ by a number: chi-square of 64 parts", () => {
    const texts = 64_000;
    const counts = new Array<number>(64).fill(0);
    for (let i = 0; i < texts; i++) {
      const part = Math.floor(64 * hashOf("send", `user${i}`));
      counts[part] = (counts[part] ?? NaN) + 1;
    }
    expect(counts).toHaveLength(64);
    const square = counts.reduce((sum, count) => sum + (count - texts / 64) ** 2 / (texts / 64), 0);
    // 63 degrees of freedom: one of 30,000 even distributions exceeds 118.
    expect(square).toBeLessThan(118);
  });
});
