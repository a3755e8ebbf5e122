/** The options of `defineRateLimits`, in either place, and what definitions and calls may say as well. */
import { booleanField, type Field, type Fields, isFunction, isObject } from "../engine/fields.js";
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

export const commonFields = (): Fields => ({
  errorKeys: booleanField,
  throws: throwsField,
  onDecision: { permitted: "a function of ctx and a decision", holds: isFunction },
});
export const optionFields = (): Fields => ({
  ...commonFields(),
  queueModule: {
    permitted: 'the path of a module of yours, such as "limits"',
    holds: (value) => typeof value === "string" && /^\w[\w/-]*$/.test(value),
  },
});

/** @throws when the module that exports the worker was not named. */
export function queueModuleOf({ queueModule }: RateLimitsOptions): string {
  if (queueModule !== undefined) return queueModule;
  throw new Error(
    'Rate limits with a queue in your tables need { queueModule: "limits" } in the options of defineRateLimits, naming the module that exports exposeQueueWorker().',
  );
}
