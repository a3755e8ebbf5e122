import { describe, expect, it } from "vitest";
import { damageError, fieldError, misuseError, show } from "../../src/engine/misuse.js";

const circle: Record<string, unknown> = {};
circle["self"] = circle;
const hostile = { toJSON: () => expect.fail("hands off") };

describe("a value in a message", () => {
  it.each<[unknown, string]>([
    [5, "5"],
    [-0, "0"],
    [NaN, "NaN"],
    [-Infinity, "-Infinity"],
    [5n, "5n"],
    ["5", '"5"'],
    ['say "hi"\n', String.raw`"say \"hi\"\n"`],
    [true, "true"],
    [undefined, "undefined"],
    [null, "null"],
    [[5, "a"], '[5,"a"]'],
    [{ rate: 5 }, '{"rate":5}'],
    [{ within: NaN, rates: [Infinity, 0.5] }, '{"within":"NaN","rates":["Infinity",0.5]}'],
    [circle, "an object"],
    [{ big: 5n }, "an object"],
    [hostile, "an object"],
    [{ toJSON: () => undefined }, "an object"],
    [() => 5, "a function"],
    [Symbol("5"), "a symbol"],
  ])("is short text: case %#", (value, text) => {
    expect(show(value)).toBe(text);
  });

  it("never throws, even for a revoked proxy", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(show(proxy)).toBe("an object");
  });

  it("is cut off after 80 characters", () => {
    expect(show("x".repeat(78))).toBe(`"${"x".repeat(78)}"`);
    expect(show("x".repeat(79))).toBe(`"${"x".repeat(79)}…`);
    expect(show(Array(100).fill(1))).toHaveLength(81);
  });
});

it("an error names the limit, the field, the permitted values and the value, or the bucket and the remedy", () => {
  expect(misuseError('a "b"', "no.").message).toBe(String.raw`Rate limit "a \"b\"": no.`);
  expect(misuseError({ of: "limitHttp" }, "no.").message).toBe("limitHttp: no.");
  const { message } = fieldError("send", "count", "a number", "7");
  expect(message).toBe('Rate limit "send": count must be a number, got "7".');
  const damage = "rows overlap, so nothing is let through. resetRateLimit makes it full again.";
  expect(damageError("send", undefined, "rows overlap").message).toBe(`Rate limit "send": ${damage}`);
  const ofKey = `Rate limit "send": the bucket of key "alice" cannot be used: ${damage}`;
  expect(damageError("send", "alice", "rows overlap").message).toBe(ofKey);
});
