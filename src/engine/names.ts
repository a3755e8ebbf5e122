/**
 * Names of limits and keys of buckets: strings that every database takes, short enough that no number of rows is too
 * long.
 */
import { fieldError, misuseError, show } from "./misuse.js";

/** In UTF-16 code units. With 512 rows to a batch, keys of one batch stay below a megabyte. */
export const MAX_NAME = 128;
export const MAX_KEY = 256;

/** @throws when `name` is not a well-formed string of 1 to 128 UTF-16 units; `what` is what its caller calls it. */
export function checkName(name: unknown, what = "A rate limit's name"): void {
  if (typeof name === "string" && name !== "" && name.length <= MAX_NAME && name.isWellFormed()) return;
  throw new Error(
    `${what} must be a well-formed string of 1 to ${MAX_NAME} characters (UTF-16 units), got ${described(name)}.`,
  );
}

/**
 * @throws when `key` is present and not a well-formed string of 1 to 256 UTF-16 units; `field` is what its caller calls
 * it.
 */
export function checkKey(name: string, key: unknown, field = "key"): void {
  if (key === undefined) return;
  if (typeof key !== "string" || key === "") throw fieldError(name, field, "a non-empty string", key);
  if (key.length > MAX_KEY) {
    const permitted = `at most ${MAX_KEY} characters (UTF-16 units) long; await hashKey(${field}) makes one of 64`;
    throw misuseError(name, `${field} must be ${permitted}, got ${described(key)}.`);
  }
  if (!key.isWellFormed()) throw fieldError(name, field, "well-formed, without an unpaired surrogate", key);
}

/** @throws when one of them is not what it may be. */
export function checkBucket({ name, key }: { name: string; key?: unknown }): void {
  checkName(name);
  checkKey(name, key);
}

function described(value: unknown): string {
  return typeof value === "string" && value.length > 40
    ? `${value.length} characters: ${show(value.slice(0, 40))}`
    : show(value);
}
