/** Validators as JSON, in the order that a deployment gives them: fields of objects by name. */

interface FieldJson {
  readonly fieldType: ValidatorJson;
}

export type ValidatorJson =
  | { readonly type: "object"; readonly value: Readonly<Record<string, FieldJson>> }
  | { readonly type: "union"; readonly value: readonly ValidatorJson[] }
  | { readonly type: "array"; readonly value: ValidatorJson }
  | { readonly type: "record"; readonly keys: ValidatorJson; readonly values: FieldJson }
  | { readonly type: "any" | "null" | "number" | "bigint" | "boolean" | "string" | "bytes" | "literal" | "id" };

/** The JSON text of a validator, sorted; null for a function without one. */
export function sortedJson(text: string): string | null {
  const validator = JSON.parse(text) as ValidatorJson | null;
  return validator === null ? null : JSON.stringify(sorted(validator));
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
