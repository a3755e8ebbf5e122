/** The wrapper's options, checked when the module is loaded: what cannot work fails the deploy, not each request. */
import { modeField } from "../client/options.js";
import { limitOf } from "../client/limitOf.js";
import { planAndConfigError, undefinedError } from "../client/errors.js";
import { definitionUnder } from "../client/plans.js";
import type { Definition } from "../client/definitions.js";
import type { LimitSet } from "../client/place.js";
import {
  checkField,
  checkFields,
  describePermitted,
  type Field,
  isFunction,
  isPermitted,
  required,
} from "../engine/fields.js";
import type { Limit } from "../engine/kinds/kind.js";
import { parseLimit } from "../engine/limit.js";
import { fieldError, misuseError } from "../engine/misuse.js";
import { countField } from "../engine/request.js";
import { headerFields } from "./fields.js";
import { asList, checkFormats, jitterField } from "./headers.js";
import type { AnyHttpLimit, AnyOptions, CommonOptions, Keyless } from "./options.js";
import type { KeySource } from "./request.js";

/** A limit of the options, checked. */
export interface Rule {
  readonly name: string;
  readonly given: AnyHttpLimit;
  readonly sources: readonly KeySource[];
  readonly definition: Definition | undefined;
  /** The definition's limit, or the one that is given; undefined if each request has its own config. */
  readonly limit: Limit | undefined;
  /** Whether calls name their config, since no definition has it. */
  readonly isInline: boolean;
  readonly isShadow: boolean;
}

const isText = (value: unknown) => typeof value === "string";
const isObject = (value: unknown) => typeof value === "object" && value !== null;
const isObjectOrFunction = (value: unknown) => isObject(value) || isFunction(value);
const isFilled = (value: unknown) => Array.isArray(value) && value.length > 0;
const field = (permitted: string, holds: (value: unknown) => boolean): Field => ({ permitted, holds });
/** A function may give it as well. */
const orFunction = (given: Field): Field =>
  field(`${describePermitted(given)}, or a function`, (value) => isFunction(value) || isPermitted(given, value));
const aFunction = field("a function", isFunction);
const isSource = (value: unknown) => isObject(value) && typeof (value as Partial<KeySource>).keyOf === "function";
export const keylessField = field('"deny", "share" or { status: 400, 401 or 403, headers? }', (value) => {
  if (value === "deny" || value === "share") return true;
  const { status, headers = {}, ...others } = { ...(value as Partial<Extract<Keyless, object>> | undefined) };
  return (
    [400, 401, 403].includes(status ?? 0) && isPermitted(headerFields, headers) && Object.keys(others).length === 0
  );
});

const COMMON: Record<keyof CommonOptions, Field> = {
  formats: field("a list of formats", Array.isArray),
  jitter: jitterField,
  skip: aFunction,
  denial: field("an object with body, status or headers", isObject),
  onDenied: aFunction,
  cors: orFunction(headerFields),
  onError: { oneOf: ["closed", "open"] },
  report: aFunction,
  via: field("a reference to the function that httpMutation(limits) made", isObjectOrFunction),
};
const LIMIT: Record<keyof AnyHttpLimit, Field> = {
  limit: required(field("the name of a limit", (value) => typeof value === "string" && value !== "")),
  config: field("a config, or a function that returns one", isObjectOrFunction),
  plan: field("the name of a plan, or a function that returns one", (value) => isFunction(value) || isText(value)),
  by: field('"everyone", or one or more key sources, such as address({ trustedProxies: 1 })', (value) => {
    return value === "everyone" || (Array.isArray(value) ? isFilled(value) && value.every(isSource) : isSource(value));
  }),
  without: keylessField,
  identify: aFunction,
  mode: modeField,
  when: aFunction,
  cost: orFunction(countField),
  partitionKey: aFunction,
  refund: orFunction({ oneOf: ["successful", "failed"] }),
};
const LIMITS = { limits: required(field("a list of one or more limits", isFilled)) };
const DENIAL = {
  body: orFunction(field("a string or an object", (value) => isText(value) || isObject(value))),
  status: { atLeast: 400, atMost: 599, isWhole: true },
  headers: headerFields,
};

/** The limits of the options. @throws when an option is unknown, missing, of the wrong type or out of range. */
export function parseOptions(set: LimitSet, options: AnyOptions): Rule[] {
  const isList = isObject(options) && "limits" in options;
  checkFields("limitHttp", "limitHttp", options, { ...(isList ? LIMITS : LIMIT), ...COMMON });
  checkFormats("limitHttp", options.formats ?? []);
  if (options.denial) checkFields("limitHttp", "denial", options.denial, DENIAL);
  if (options.onError === "open")
    checkField("limitHttp", "report", required(field('a function if onError is "open"', isFunction)), options.report);
  if (!set.place.component !== (options.via !== undefined)) {
    const needed = set.place.component
      ? "left out: the component is called directly"
      : "a reference to what httpMutation(limits) made: these limits are in your tables";
    throw fieldError("limitHttp", "via", needed, options.via);
  }
  // One limit is given beside the other options.
  const limits = isList ? (options.limits ?? []) : [options as AnyHttpLimit];
  const rules = limits.map((limit) => {
    if (!isObject(limit)) throw fieldError("limitHttp", "limits", "a list of limits", limit);
    if (isList) checkFields(limit.limit, "a limit of limitHttp", limit, LIMIT);
    return parseRule(set, limit);
  });
  const names = rules.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw misuseError(twice, "is listed twice; clients could not tell the policies apart.");
  return rules;
}

function parseRule({ definitions }: LimitSet, given: AnyHttpLimit): Rule {
  const { limit: name, config, plan, by, without, identify } = given;
  const definition = definitions.get(name);
  if (identify ? Boolean(by ?? without ?? config ?? plan) : by === undefined) {
    throw misuseError(name, 'needs by (key sources, or "everyone") and without, or else identify, and not both.');
  }
  const isKeyless = by === "everyone";
  if (by !== undefined && isKeyless !== (without === undefined)) {
    const needed = isKeyless ? 'left out with by: "everyone"' : describePermitted(keylessField);
    throw fieldError(name, "without", needed, without);
  }
  if (!definition && !config && !identify) throw undefinedError(name, definitions);
  if (definition?.keyed === isKeyless) {
    const choice = isKeyless ? '"everyone"' : "a key source";
    throw misuseError(name, `is defined with keyed: ${String(definition.keyed)}, so by cannot be ${choice}.`);
  }
  if (plan !== undefined && config) throw planAndConfigError(name);
  if (plan !== undefined && !definition?.plans)
    throw fieldError(name, "plan", "left out (the limit has no plans)", plan);
  // A plan that a request chooses is not known here.
  const isLater = typeof plan === "function" || (definition?.plans && identify);
  const limit =
    typeof config === "object"
      ? parseLimit(name, config)
      : definition && !config && !isLater
        ? limitOf(name, definition.plans ? definitionUnder(name, definition, plan, true) : definition)
        : undefined;
  // Only the name of a config that a request chooses is known here.
  if (!limit) parseLimit(name, { kind: "token bucket", rate: 1, period: 1 });
  return {
    name,
    given,
    sources: by === undefined || isKeyless ? [] : asList(by),
    definition,
    limit,
    isInline: config !== undefined || !definition,
    isShadow: (given.mode ?? definition?.mode) === "shadow",
  };
}
