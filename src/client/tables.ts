/** `defineRateLimits` for limits in the app's own tables: no hop, the caller's own transaction. */
import { adjustmentOf } from "../engine/adjustment.js";
import { parseLimit } from "../engine/kinds/limit.js";
import { type BucketArgs, bucketOf, type RequestArgs, requestOf, slotOf } from "../engine/request.js";
import { adjustAll, pause, release, reset } from "../operations/adjust.js";
import { check, checkAll, consume, consumeAll, get } from "../operations/consume.js";
import { textOf } from "../queue/terms.js";
import { inQueue, wake } from "../queue/worker.js";
import { idOf, inTurn, takingTurns } from "../storage/rows.js";
import type { AdjustmentArgs } from "../wire/answers.js";
import type { CheckedDefinitions, DraftDefinitions, RateLimitsOptions, ThrowChoice } from "./definitionTypes.js";
import { functionsOf } from "./functions.js";
import { checkOptions, queueModuleOf } from "./options.js";
import { parseDefinitions } from "./definitions.js";
import type { InTables, Place } from "./place.js";
import type { RateLimits } from "./rateLimits.js";

interface ImportDefineRateLimitsFromTheComponentEntry {
  readonly "convex-rate-limits/component": never;
}

/**
 * Defines an app's limits, once, and returns the functions that apply them, typed: names autocomplete, a misspelt one
 * does not compile.
 *
 * The limits live in the app's own `rateLimits` table (see `rateLimitTables` of `convex-rate-limits/schema`), and `ctx`
 * must be that of a function whose schema has it. `convex-rate-limits/component` has the same function for limits in
 * the component.
 *
 * @throws at module load, so that a deploy fails, when a config is invalid; the error names the limit and the field.
 * @example
 * ```ts
 * import { defineRateLimits, HOUR, MINUTE } from "convex-rate-limits";
 *
 * export const { rateLimit, checkRateLimit, resetRateLimit } = defineRateLimits(
 *   {
 *     sendMessage: { kind: "token bucket", rate: 10, period: MINUTE, capacity: 20, keyed: true },
 *     signUp: { kind: "fixed window", rate: 100, period: HOUR },
 *   },
 *   { throws: true },
 * );
 * ```
 */
export function defineRateLimits<const Limits extends DraftDefinitions, Default extends ThrowChoice = false>(
  limits: CheckedDefinitions<Limits>,
  options?: RateLimitsOptions<Default> & {
    /** Not here: the compiler shows the name of the entry that takes it. */
    component?: ImportDefineRateLimitsFromTheComponentEntry | undefined;
  },
): RateLimits<Limits, InTables, Default> {
  const definitions = parseDefinitions(limits, (name, term) => {
    term.limit = parseLimit(name, term.config);
  });
  if (options !== undefined) {
    const holds = (value: unknown) => typeof value === "string" && /^\w[\w/-]*$/.test(value);
    checkOptions(options, { queueModule: { permitted: 'the path of a module of yours, such as "limits"', holds } });
  }
  return functionsOf({ definitions, place: inTables, options: options ?? {} }) as never;
}

const requestsOf = (requests: readonly RequestArgs[]) => requests.map(requestOf);
const adjustmentsOf = (adjustments: readonly (BucketArgs & AdjustmentArgs)[]) =>
  adjustments.map((asked) => adjustmentOf(bucketOf(asked), asked));

const inTables: Place = {
  consume: takingTurns(requestOf, consume),
  peek: takingTurns(requestOf, check, false),
  consumeAll: takingTurns(requestsOf, consumeAll),
  peekAll: takingTurns(requestsOf, checkAll, false),
  adjust: takingTurns(adjustmentsOf, adjustAll),
  release: takingTurns(slotOf, release),
  get: takingTurns(bucketOf, get, false),
  pause: (ctx, pausing) => inTurn(ctx, () => pause(ctx, pausing), true),
  reset: takingTurns(idOf, reset),
  wake: (ctx, bucket, terms, options) =>
    inTurn(ctx, () => wake(inQueue(ctx, queueModuleOf(options)), bucket, textOf(terms))),
};
