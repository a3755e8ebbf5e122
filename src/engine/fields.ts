/**
 * Checking what callers give: one table of fields for each object, and one function that checks an object against its
 * table. Numbers and words are data, not functions: a function that runs while a module loads is compiled again in
 * every run of every Convex function.
 */
import { fieldError, type Subject, misuseError, show } from "./misuse.js";

/** A field is a number within a range, one of some values, or anything for which `holds` is true. */
export interface Field {
  readonly isRequired?: boolean;
  /** The range: NaN and infinities are within none. Its lower bound is `above` or `atLeast`. */
  readonly atMost?: number;
  readonly above?: number;
  readonly atLeast?: number;
  readonly isWhole?: boolean;
  readonly unit?: string;
  readonly oneOf?: readonly (string | boolean)[];
  readonly holds?: (value: unknown) => boolean;
  /** Beside `holds`: completes the sentence "<field> must be …". */
  readonly permitted?: string;
}

export type Fields = Readonly<Record<string, Field>>;

/**
 * Checks an object that a caller has given.
 * @param what - the sentence "<field> is not a field of <what>" names it.
 * @throws when it is no object, has a field that is not in the table, or one whose value is not permitted; naming
 * what was misused, field, value and range.
 */
export function checkFields(subject: Subject, what: string, given: unknown, fields: Fields): void {
  if (!isObject(given)) throw fieldError(subject, what, "an object", given);
  const values = given as Readonly<Record<string, unknown>>;
  // A misspelt `maxReserve` would be no bound at all.
  for (const name of Object.keys(values)) {
    if (!Object.hasOwn(fields, name)) throw strangeFieldError(subject, what, name, Object.keys(fields));
  }
  for (const name in fields) checkField(subject, name, fields[name], values[name]);
}

/** @throws when the value is not permitted, naming what was misused, field, value and range. */
export function checkField(subject: Subject, name: string, field: Field | undefined, value: unknown): void {
  if (!field || (value === undefined ? !field.isRequired : isPermitted(field, value))) return;
  throw fieldError(subject, name, describePermitted(field), value);
}

export function strangeFieldError(subject: Subject, what: string, field: string, permitted: readonly string[]): Error {
  return misuseError(subject, `${show(field)} is not a field of ${what}, which has ${permitted.join(", ")}.`);
}

export function isPermitted(field: Field, value: unknown): boolean {
  if (field.oneOf?.includes(value as never)) return true;
  if (field.atMost === undefined) return field.holds?.(value) ?? false;
  const { above = -Infinity, atLeast = -Infinity, atMost, isWhole } = field;
  if (typeof value !== "number") return false;
  return value > above && value >= atLeast && value <= atMost && (!isWhole || Number.isInteger(value));
}

/** Completes the sentence "<field> must be …". */
export function describePermitted(field: Field): string {
  if (field.permitted) return field.permitted;
  const words = field.oneOf?.map((word) => (typeof word === "string" ? `"${word}"` : String(word))) ?? [];
  const list = [words.slice(0, -1).join(", "), ...words.slice(-1)].filter(Boolean).join(" or ");
  if (field.atMost === undefined) return list;
  const { above, atLeast = -Infinity, atMost, unit, isWhole } = field;
  const least = above === undefined ? `at least ${plain(atLeast)}` : `above ${plain(above)}`;
  const number = `a ${isWhole ? "whole " : ""}number${unit ? ` of ${unit}` : ""} ${least} and at most ${plain(atMost)}`;
  return list ? `${number}, or ${list}` : number;
}

export function required(field: Field): Field {
  return { ...field, isRequired: true };
}

export const booleanField: Field = { oneOf: [true, false] };
export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
export function isFunction(value: unknown): boolean {
  return typeof value === "function";
}
export function isObjectOrFunction(value: unknown): boolean {
  return isObject(value) || isFunction(value);
}

/** As one would type it: 1e12, neither 1000000000000 nor 1e+12. */
export function plain(number: number): string {
  const size = Math.abs(number);
  return size >= 1e6 && 10 ** Math.round(Math.log10(size)) === size
    ? `${Math.sign(number)}e${Math.round(Math.log10(size))}`
    : String(number);
}
