/** Documents as the store keeps them. */
import type { Value } from "convex/values";

export type Document = Readonly<Record<string, Value>> & { readonly _id: string; readonly _creationTime: number };

/** An id names its table, as it does on the platform (there, encoded). */
export function tableOf(id: string): string {
  return id.slice(0, id.lastIndexOf("|"));
}

/** A field that is undefined is absent. */
export function withoutUndefined(fields: Record<string, Value | undefined>): Record<string, Value> {
  const present: Record<string, Value> = {};
  for (const name in fields) {
    const value = fields[name];
    if (value !== undefined) present[name] = value;
  }
  return present;
}
