/** Plain technical English: bans phrases for which the field has a term, and old names of things that have been renamed. */
import { describe, expect, it } from "vitest";
import { files, lines } from "./files.js";

const BANNED: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [/\bwhoever\b/i, "callers, or the caller that …"],
  [/\bdice\b/i, "random number"],
  [/\bhome ?[AB]\b/i, "in your tables, in the component"],
  [/\b(each|either|both|other|which|of the) homes?\b/i, "place"],
  [/\bunder your hands\b/i, "that you change"],
  [/\bfound out\b/i, "read, decided, known"],
  [/\bwish(es|ed)?\b/i, "request"],
];

const checked = files.filter(
  (file) => /^(src|convex|example\/convex)\/.*\.tsx?$/.test(file) || /^(README|ARCHITECTURE|docs\/.*)\.md$/.test(file),
);

function bannedIn(file: string, text: readonly string[]): string[] {
  return text.flatMap((line, index) =>
    BANNED.filter(([phrase]) => phrase.test(line)).map(
      ([, instead]) => `${file}:${index + 1} ${line.trim()} (say: ${instead})`,
    ),
  );
}

describe("comments and messages", () => {
  it("use the field's terms", () => {
    expect(checked.length).toBeGreaterThan(50);
    expect(checked.flatMap((file) => bannedIn(file, lines(file)))).toEqual([]);
  });

  it("are checked for every banned phrase", () => {
    const wrong = ["Whoever", "the dice", "home A", "both homes", "under your hands", "found out", "a wish for a key"];
    expect(wrong.map((text) => bannedIn("a.ts", [text]).length)).toEqual(wrong.map(() => 1));
    expect(bannedIn("a.ts", ["the request of a client, in your tables"])).toEqual([]);
  });
});
