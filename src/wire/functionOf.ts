/** Registered functions: validators and a handler. */
import type { ObjectType, PropertyValidators, Validator } from "convex/values";

/**
 * The definition of a function that Convex registers. Its validators are getters, since Convex reads them at a deploy, and evaluates
 * the module in every run.
 */
export function functionOf<
  Args extends PropertyValidators,
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- The validator of any answer.
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
