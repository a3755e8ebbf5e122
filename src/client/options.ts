/** The options of `defineRateLimits`, in either place. */
import { booleanField, type Fields, isFunction } from "../engine/fields.js";
import { throwsField } from "./definitions.js";
import type { RateLimitsOptions } from "./settings.js";

export const COMMON_FIELDS: Fields = {
  errorKeys: booleanField,
  throws: throwsField,
  onDecision: { permitted: "a function of ctx and a decision", holds: isFunction },
};
export const OPTION_FIELDS: Fields = {
  ...COMMON_FIELDS,
  queueModule: {
    permitted: 'the path of a module of yours, such as "limits"',
    holds: (value) => typeof value === "string" && /^\w[\w/-]*$/.test(value),
  },
};

/** @throws when the module that exports the worker was not named. */
export function queueModuleOf({ queueModule }: RateLimitsOptions & { queueModule?: string | undefined }): string {
  if (queueModule !== undefined) return queueModule;
  throw new Error(
    'Rate limits with a queue in your tables need { queueModule: "limits" } in the options of defineRateLimits, naming the module that exports exposeQueueWorker().',
  );
}
