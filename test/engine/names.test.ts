import { expect, it } from "vitest";
import { checkBucket, checkKey, checkName, MAX_KEY, MAX_NAME } from "../../src/engine/names.js";

const CLEF = "\u{1D11E}";
const [name, key] = ["x".repeat(MAX_NAME), "x".repeat(MAX_KEY)];

it.each<[name: string, key?: string]>([
  ...["a", name, "send message / übung", CLEF.repeat(64), "\u0000", "__proto__"].map((each): [string] => [each]),
  ...["a", key, CLEF.repeat(128), `${CLEF}a${CLEF}`].map((each): [string, string] => ["a", each]),
])("a bucket may have the name %j and the key %j", (name, key) => {
  expect(checkBucket.bind(null, { name, key })).not.toThrow();
});

it.each<[unknown, string]>([
  ["", '""'],
  [`${name}x`, `129 characters: "${"x".repeat(40)}"`],
  [CLEF.repeat(65), `130 characters: "${CLEF.repeat(20)}"`],
  [undefined, "undefined"],
  [7, "7"],
  [["a"], '["a"]'],
  // A name is shown in full up to 40 UTF-16 units.
  [`\uD834${"x".repeat(39)}`, `"\\ud834${"x".repeat(39)}"`],
  [`\uD834${"x".repeat(40)}`, `41 characters: "\\ud834${"x".repeat(39)}"`],
])("a limit's name cannot be %j", (name, shown) => {
  const problem = `A rate limit's name must be a well-formed string of 1 to 128 characters (UTF-16 units), got ${shown}.`;
  expect(checkName.bind(null, name)).toThrow(problem);
});

const long = "at most 256 characters (UTF-16 units) long; await hashKey(key) makes one of 64, got 257 characters: ";
it.each<[unknown, string]>([
  ["", 'a non-empty string, got "".'],
  [null, "a non-empty string, got null."],
  [7, "a non-empty string, got 7."],
  // A bug once quoted this value twice.
  [`${key}x`, `${long}"${"x".repeat(40)}".`],
])("a bucket's key cannot be %j", (key, problem) => {
  expect(checkKey.bind(null, "send", key)).toThrow(`Rate limit "send": key must be ${problem}`);
});

const unpaired = ["\uD834", "\uDD1E", "a\uD834", "\uDD1Ea", "\uDD1E\uD834", `${CLEF}\uD834`, `\uD834${CLEF}`];
it.each(unpaired)("a name or key cannot have an unpaired surrogate: case %#", (text) => {
  expect(checkName.bind(null, text)).toThrow("must be a well-formed string");
  const problem = 'Rate limit "send": key must be well-formed, without an unpaired surrogate, got';
  expect(checkKey.bind(null, "send", text)).toThrow(problem);
});
