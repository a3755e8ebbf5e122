import { createHash } from "node:crypto";
import fc from "fast-check";
import { hashKey } from "convex-rate-limits";
import { expect, it } from "vitest";
import { forAnyAsync } from "../support/random.js";

it("hashKey is SHA-256 of the UTF-8 form in hexadecimal, equal to Node's, for any text of any length", async () => {
  const text = fc.oneof(fc.string({ unit: "grapheme" }), fc.string({ minLength: 300, maxLength: 2000 }));
  await forAnyAsync([text], 100, async (given) => {
    fc.pre(Buffer.from(given).toString() === given);
    expect(await hashKey(given)).toBe(createHash("sha256").update(given, "utf8").digest("hex"));
  });
});

it("hashKey refuses an unpaired surrogate, since UTF-8 would make all of them one key", async () => {
  for (const text of ["\ud800", "a\udc00b", "\udc00\ud800"]) {
    await expect(hashKey(text)).rejects.toThrow("hashKey: text must be a well-formed string");
  }
  expect(await hashKey("\ud83d\ude00")).toHaveLength(64);
});

it("hashKey refuses a value that is not text", async () => {
  for (const given of [undefined, null, 1, {}]) {
    await expect(hashKey(given as string)).rejects.toThrow(
      "hashKey: text must be a well-formed string, without an unpaired surrogate, got",
    );
  }
});
