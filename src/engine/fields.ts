/** Checking what callers give: one table of fields for each thing that has fields, one function that holds it to the table. */
import { fieldError, misuseError, show } from "./misuse.js";

/** What a field may be; `permitted` completes the sentence "<field> must be …". */
export interface Field {
  readonly permitted: string;
  readonly holds: (value: unknown) => boolean;
  readonly isRequired?: boolean;
}

export type Fields = Readonly<Record<string, Field>>;

/**
 * Checks an object that a caller has given.
 * @param what - the sentence "<field> is no field of <what>" names it.
 * @throws when it is no object, has a field that is not in the table, or one whose value is not permitted; naming limit, field,
 * value and range.
 */
export function checkFields(limit: string, what: string, given: unknown, fields: Fields): void {
  if (typeof given !== "object" || given === null) throw fieldError(limit, what, "an object", given);
  const values = given as Readonly<Record<string, unknown>>;
  const strange = Object.keys(values).find((field) => !Object.hasOwn(fields, field));
  if (strange !== undefined) throw strangeFieldError(limit, what, strange, Object.keys(fields));
  for (const [name, { permitted, holds, isRequired = false }] of Object.entries(fields)) {
    const value = values[name];
    if (value === undefined ? isRequired : !holds(value)) throw fieldError(limit, name, permitted, value);
  }
}

export function strangeFieldError(limit: string, what: string, field: string, permitted: readonly string[]): Error {
  return misuseError(limit, `${show(field)} is no field of ${what}, which has ${permitted.join(", ")}.`);
}

export function required(field: Field): Field {
  return { ...field, isRequired: true };
}

/** A number within a range; NaN and infinities are within none. */
export function numberField(
  range: ({ above: number } | { atLeast: number }) & { atMost: number; unit?: string; isWhole?: boolean },
): Field {
  const { atMost, unit = "", isWhole = false } = range;
  const [isEnough, least] =
    "above" in range
      ? [(value: number) => value > range.above, `above ${plain(range.above)}`]
      : [(value: number) => value >= range.atLeast, `at least ${plain(range.atLeast)}`];
  return {
    permitted: `a ${isWhole ? "whole " : ""}number${unit && ` of ${unit}`} ${least} and at most ${plain(atMost)}`,
    holds: (value) =>
      typeof value === "number" && isEnough(value) && value <= atMost && (!isWhole || Number.isInteger(value)),
  };
}

export const booleanField: Field = { permitted: "true or false", holds: (value) => typeof value === "boolean" };

/** As one would type it: 1e12, neither 1000000000000 nor 1e+12. */
export function plain(number: number): string {
  const size = Math.abs(number);
  return size >= 1e6 && 10 ** Math.round(Math.log10(size)) === size
    ? `${number < 0 ? "-" : ""}1e${Math.round(Math.log10(size))}`
    : String(number);
}
