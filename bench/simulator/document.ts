/** Documents as the store keeps them. */
import type { Value } from "convex/values";

export type Document = Readonly<Record<string, Value>> & { readonly _id: string; readonly _creationTime: number };

/** An id names its table, as it does on the platform (there, encoded). */
export function tableOf(id: string): string {
  return id.slice(0, id.lastIndexOf("|"));
}

/** A copy: what a function does to it afterwards changes nothing in the store. A field that is undefined is absent. */
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
  // Neither bytes nor what stands for a commit.
  return Object.getPrototypeOf(value) === Object.prototype ? copyOf(value as Record<string, Value>) : value;
}
