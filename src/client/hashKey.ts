/** A hash as the key, for text that is too long or too secret. */
import { fieldError } from "../engine/misuse.js";

/**
 * SHA-256 of the text's UTF-8 form, as 64 hexadecimal digits: a key for texts of more than 256 UTF-16 units, and for
 * secrets that no table should hold.
 *
 * @throws when `text` is not a string, or has an unpaired surrogate: UTF-8 has no form for it, so two texts would share
 * a key.
 * @example
 * ```ts
 * import { hashKey } from "convex-rate-limits";
 *
 * async function issueKey(): Promise<{ secret: string; hash: string }> {
 *   const secret = crypto.randomUUID();
 *   return { secret, hash: await hashKey(secret) };
 * }
 * ```
 */
export async function hashKey(text: string): Promise<string> {
  // The types forbid anything else, JavaScript does not.
  const given: unknown = text;
  if (typeof given !== "string" || !given.isWellFormed()) {
    throw fieldError({ of: "hashKey" }, "text", "a well-formed string, without an unpaired surrogate", given);
  }
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(given));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
