/** Header fields that the app names: checked when the module is loaded, since `Headers` refuses them only when they are used. */
import { fieldError } from "../engine/misuse.js";
import type { Field } from "../engine/fields.js";

export type Fields = Readonly<Record<string, string>>;

/** @throws when no header can have such a name. */
export function checkHeaderName(source: string, name: string): void {
  if (!areFields({ [name]: "" })) throw fieldError(source, "header", "the name of a header field", name);
}

/** Header fields, as an object. */
export const headerFields: Field = {
  permitted: "an object of header fields",
  holds: (value) => typeof value === "object" && value !== null && areFields(value),
};

function areFields(fields: object): boolean {
  try {
    new Headers(fields as Fields);
    return true;
  } catch {
    return false;
  }
}
