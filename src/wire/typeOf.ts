/**
 * The wire form of a value and its type, declared once: as the validators of its fields. `Infer` loses the comments on fields; a mapped
 * type over the fields keeps them, so editors show them on values of the type.
 */
import type { PropertyValidators, Validator } from "convex/values";

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- The validator of any field.
type AnyField<IsOptional extends "optional" | "required"> = Validator<any, IsOptional, any>;
type KeysOf<Fields, IsOptional extends "optional" | "required"> = {
  [Key in keyof Fields]: Fields[Key] extends AnyField<IsOptional> ? Key : never;
}[keyof Fields];

/** Mapped over keys of `Fields` itself: otherwise the comments are lost. */
type RequiredOf<Fields extends PropertyValidators, Keys extends keyof Fields> = { [Key in Keys]: Fields[Key]["type"] };
type OptionalOf<Fields extends PropertyValidators, Keys extends keyof Fields> = {
  [Key in Keys]?: Exclude<Fields[Key]["type"], undefined>;
};
/** As one type without a name, which the compiler would show with its arguments. */
type ObjectOf<Fields extends PropertyValidators> = RequiredOf<Fields, KeysOf<Fields, "required">> &
  OptionalOf<Fields, KeysOf<Fields, "optional">> extends infer Both
  ? { [Key in keyof Both]: Both[Key] }
  : never;

/**
 * The type of an object by a function that returns its fields. A function, because a validator that is built while a module loads is
 * built again in every run of every Convex function that imports the module.
 */
export type TypeOf<Fields extends () => PropertyValidators> = ObjectOf<ReturnType<Fields>>;
