/** The options of `defineRateLimits`, in either place, and what definitions and calls may say as well. */
import { booleanField, checkFields, type Field, type Fields, isObject } from "../engine/fields.js";
import { fieldError } from "../engine/misuse.js";
import type { RateLimitsOptions } from "./definitionTypes.js";

export const modeField: Field = { oneOf: ["enforce", "shadow"] };
export const throwsField: Field = {
  permitted: "true, false or { jitter: a number from 0 to 1 }",
  holds(value) {
    if (!isObject(value)) return typeof value === "boolean";
    const { jitter } = value as { jitter?: unknown };
    return Object.keys(value).length === 1 && typeof jitter === "number" && jitter >= 0 && jitter <= 1;
  },
};

/**
 * @param own - the options that only one place has. @throws when an option is unknown, missing, or has a value that is
 * not permitted.
 */
export function checkOptions(options: unknown, own: Fields): void {
  checkFields({ of: "defineRateLimits" }, "the options", options, {
    errorKeys: booleanField,
    throws: throwsField,
    ...own,
  });
}

/** @throws when the module that exports the worker was not named. */
export function queueModuleOf({ queueModule }: RateLimitsOptions): string {
  if (queueModule !== undefined) return queueModule;
  const permitted = 'the path of your module that exports exposeQueueWorker() (a limit has a queue), such as "limits"';
  throw fieldError({ of: "defineRateLimits" }, "queueModule", permitted, queueModule);
}
