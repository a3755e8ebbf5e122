/** Validators as JSON, in the order of a deployment: fields of objects are sorted by name. */

import { nameFault, refuseIf } from "./names.js";

interface FieldJson {
  readonly fieldType: ValidatorJson;
}

export type ValidatorJson =
  | { readonly type: "object"; readonly value: Readonly<Record<string, FieldJson>> }
  | { readonly type: "union"; readonly value: readonly ValidatorJson[] }
  | { readonly type: "array"; readonly value: ValidatorJson }
  | { readonly type: "record"; readonly keys: ValidatorJson; readonly values: FieldJson }
  | { readonly type: "any" | "null" | "number" | "bigint" | "boolean" | "string" | "bytes" | "literal" | "id" };

/** Why a deployment refuses the names of a validator's fields; undefined if it accepts them. */
export function fieldFault(validator: ValidatorJson): string | undefined {
  const names = validator.type === "object" ? Object.keys(validator.value) : [];
  return firstFault(names, nameFault) ?? firstFault(membersOf(validator), fieldFault);
}

function membersOf(validator: ValidatorJson): readonly ValidatorJson[] {
  if (validator.type === "object") return Object.values(validator.value).map(({ fieldType }) => fieldType);
  if (validator.type === "union") return validator.value;
  if (validator.type === "array") return [validator.value];
  return validator.type === "record" ? [validator.values.fieldType] : [];
}

function firstFault<T>(judged: readonly T[], judge: (each: T) => string | undefined): string | undefined {
  return judged.map(judge).find((fault) => fault !== undefined);
}

/** The sorted JSON text of a validator; null for a function without one. @throws Error for a name that a deployment refuses */
export function sortedJson(text: string): string | null {
  const validator = JSON.parse(text) as ValidatorJson | null;
  if (validator === null) return null;
  refuseIf(fieldFault(validator));
  return JSON.stringify(sorted(validator));
}

function sorted(validator: ValidatorJson): ValidatorJson {
  switch (validator.type) {
    case "object": {
      const fields = Object.entries(validator.value).sort(([a], [b]) => (a < b ? -1 : 1));
      return { ...validator, value: Object.fromEntries(fields.map(([name, field]) => [name, sortedField(field)])) };
    }
    case "union":
      return { ...validator, value: validator.value.map(sorted) };
    case "array":
      return { ...validator, value: sorted(validator.value) };
    case "record":
      return { ...validator, keys: sorted(validator.keys), values: sortedField(validator.values) };
    case "any":
    case "null":
    case "number":
    case "bigint":
    case "boolean":
    case "string":
    case "bytes":
    case "literal":
    case "id":
      return validator;
  }
}

function sortedField(field: FieldJson): FieldJson {
  return { ...field, fieldType: sorted(field.fieldType) };
}
