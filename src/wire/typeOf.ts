/**
 * The wire form of a value and its type, declared once: as the validators of its fields. `Infer` loses the comments on
 * fields; a mapped type over the fields keeps them, so editors show them on values of the type.
 */
import type { PropertyValidators, Validator } from "convex/values";

/** Mapped over all keys of the fields: otherwise the comments are lost. */
type ValuesOf<Fields extends PropertyValidators> = { [Key in keyof Fields]: Exclude<Fields[Key]["type"], undefined> };
type OptionalIn<Fields> = {
  // oxlint-disable-next-line typescript/no-explicit-any -- The validator of any field.
  [Key in keyof Fields]: Fields[Key] extends Validator<any, "optional", any> ? Key : never;
}[keyof Fields];
/** As one type without a name, which the compiler would show with its arguments. */
type ObjectOf<Fields extends PropertyValidators> = Omit<ValuesOf<Fields>, OptionalIn<Fields>> &
  Partial<Pick<ValuesOf<Fields>, OptionalIn<Fields>>> extends infer Both
  ? { [Key in keyof Both]: Both[Key] }
  : never;

/**
 * The type of an object by a function that returns its fields. A function, because a validator that is built while a
 * module loads is built again in every run of every Convex function that imports the module.
 */
export type TypeOf<Fields extends () => PropertyValidators> = ObjectOf<ReturnType<Fields>>;
