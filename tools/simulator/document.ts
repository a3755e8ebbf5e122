/** Documents as the store keeps them. */
import type { Value } from "convex/values";

export type Document = Readonly<Record<string, Value>> & { readonly _id: string; readonly _creationTime: number };

/** The table of an id. An id contains its table's name, as on the platform, where it is encoded. */
export function tableOf(id: string): string {
  return id.slice(0, id.lastIndexOf("|"));
}

/** A copy, so that a function that changes it changes nothing in the store. Fields that are undefined are left out. */
export function copyOf<Fields extends Readonly<Record<string, Value | undefined>>>(fields: Fields): Fields {
  const copy: Record<string, Value> = {};
  for (const name in fields) {
    const value = fields[name];
    if (value !== undefined) copy[name] = copyOfValue(value);
  }
  return copy as Fields;
}

function copyOfValue(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOfValue);
  // Bytes and placeholders of a commit's timestamp are not copied.
  return Object.getPrototypeOf(value) === Object.prototype ? copyOf(value as Record<string, Value>) : value;
}
