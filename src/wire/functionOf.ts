/** Registered functions: validators and a handler. */
import type { ObjectType, PropertyValidators, Validator } from "convex/values";

/**
 * A definition for Convex to register. Validators are getters: only a deploy reads them, but every run evaluates the
 * module.
 */
export function functionOf<
  Args extends PropertyValidators,
  // oxlint-disable-next-line typescript/no-explicit-any -- The validator of any answer.
  Returns extends Validator<any, "required", any>,
  Ctx,
  Result,
>(args: () => Args, returns: () => Returns, handler: (ctx: Ctx, args: ObjectType<Args>) => Result) {
  return {
    get args() {
      return args();
    },
    get returns() {
      return returns();
    },
    handler,
  };
}
