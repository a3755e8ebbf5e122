import { describe, expect, it } from "vitest";
import { checkKey, checkName, MAX_KEY, MAX_NAME } from "../../src/engine/names.js";

const CLEF = "\u{1D11E}";
const unpaired = ["\uD834", "\uDD1E", `a\uD834`, `\uDD1Ea`, "\uDD1E\uD834", `${CLEF}\uD834`, `\uD834${CLEF}`];

describe("a limit's name", () => {
  it.each([["a"], ["x".repeat(128)], ["send message / übung"], [CLEF.repeat(64)], ["\u0000"], ["__proto__"]])(
    "may be %j",
    (name) => {
      expect(() => {
        checkName(name);
      }).not.toThrow();
    },
  );

  it.each<[unknown, string]>([
    ["", '""'],
    ["x".repeat(129), `129 characters: "${"x".repeat(40)}"`],
    [CLEF.repeat(65), `130 characters: "${CLEF.repeat(20)}"`],
    [undefined, "undefined"],
    [7, "7"],
    [["a"], '["a"]'],
  ])("cannot be %j", (name, shown) => {
    expect(() => {
      checkName(name);
    }).toThrow(`A rate limit's name must be a well-formed string of 1 to 128 characters (UTF-16 units), got ${shown}.`);
  });

  it.each(unpaired)("has no unpaired surrogate: case %#", (name) => {
    expect(() => {
      checkName(name);
    }).toThrow("must be a well-formed string");
  });

  it("is shown in full up to 40 UTF-16 units", () => {
    const bad = `\uD834${"x".repeat(39)}`;
    expect(() => {
      checkName(bad);
    }).toThrow(`got ${JSON.stringify(bad)}.`);
    expect(() => {
      checkName(`${bad}x`);
    }).toThrow(`got 41 characters: ${JSON.stringify(bad)}.`);
  });

  it("is at most 128 UTF-16 units long", () => {
    expect(MAX_NAME).toBe(128);
  });
});

describe("a bucket's key", () => {
  it.each([[undefined], ["a"], ["x".repeat(256)], [CLEF.repeat(128)], [`${CLEF}a${CLEF}`]])("may be %j", (key) => {
    expect(() => {
      checkKey("send", key);
    }).not.toThrow();
  });

  it.each<[unknown, string]>([
    ["", 'a non-empty string, got "".'],
    [null, "a non-empty string, got null."],
    [7, "a non-empty string, got 7."],
    ["k".repeat(257), "at most 256 characters (UTF-16 units) long; await hashKey(key) makes one of 64, got "],
  ])("cannot be %j", (key, problem) => {
    expect(() => {
      checkKey("send", key);
    }).toThrow(`Rate limit "send": key must be ${problem}`);
  });

  it.each(unpaired)("has no unpaired surrogate: case %#", (key) => {
    expect(() => {
      checkKey("send", key);
    }).toThrow('Rate limit "send": key must be well-formed, without an unpaired surrogate, got');
  });

  it("is at most 256 UTF-16 units long", () => {
    expect(MAX_KEY).toBe(256);
  });
});
