/** The wrapper's options, checked when the module is loaded: what cannot work fails the deploy, not each request. */
import { modeField } from "../client/options.js";
import { checkTokens, type Definitions, findBucket } from "../client/definitions.js";
import type { LimitSet } from "../client/place.js";
import { isReference } from "../client/scheduler.js";
import {
  checkFields,
  describePermitted,
  type Field,
  isFunction,
  isObject,
  isPermitted,
  required,
} from "../engine/fields.js";
import { fieldError, misuseError } from "../engine/misuse.js";
import { countField } from "../engine/request.js";
import type { RateLimitConfig } from "../wire/configs.js";
import { headerFields } from "./fields.js";
import { formatsField, jitterField } from "./headers.js";
import type { AnyHttpLimit, AnyOptions, CheckedLimit, CommonOptions, Keyless } from "./options.js";
import { isText, type KeySource } from "./request.js";

const STATUSES: readonly unknown[] = [400, 401, 403];
const isFilled = (value: unknown): value is unknown[] => Array.isArray(value) && value.length > 0;
const field = (permitted: string, holds: (value: unknown) => boolean): Field => ({ permitted, holds });
const orFunction = (given: Field): Field =>
  field(`${describePermitted(given)}, or a function`, (value) => isFunction(value) || isPermitted(given, value));
export const aFunction = field("a function", isFunction);
const isSource = (value: unknown) => isFunction((value as Partial<KeySource> | null)?.keyOf);
export const keylessField = field('"deny", "share" or { status: 400, 401 or 403, headers? }', (value) => {
  if (value === "deny" || value === "share") return true;
  const { status, headers = {}, ...others } = { ...(value as Partial<Extract<Keyless, object>> | undefined) };
  return STATUSES.includes(status) && isPermitted(headerFields, headers) && Object.keys(others).length === 0;
});

const COMMON: Record<keyof CommonOptions, Field> = {
  formats: formatsField,
  jitter: jitterField,
  skip: aFunction,
  onDenied: aFunction,
  cors: orFunction(headerFields),
  onError: { oneOf: ["closed", "open"] },
  report: aFunction,
  via: field("a reference to the function that httpMutation(limits) made", isReference),
};
const LIMIT: Record<keyof AnyHttpLimit, Field> = {
  limit: required(field("the name of a limit", (value) => isText(value) && value !== "")),
  config: field("a config; identify returns that of a caller", isObject),
  plan: field("the name of a plan; identify returns that of a caller", isText),
  by: field('"everyone", or one or more key sources, such as address({ trustedProxies: 1 })', (value) => {
    return value === "everyone" || (isFilled(value) ? value : [value]).every(isSource);
  }),
  without: keylessField,
  identify: aFunction,
  mode: modeField,
  when: aFunction,
  cost: orFunction(countField),
  refund: orFunction({ oneOf: ["successful", "failed"] }),
};
const LIMITS = { limits: required(field("a list of one or more limits", isFilled)) };

/** Names the wrapper in messages of misuse. */
export const WRAPPER = { of: "limitHttp" };

/** The limits of the options, each with its mode. @throws when an option is unknown, missing or not permitted. */
export function parseOptions({ definitions, place }: LimitSet, options: AnyOptions): CheckedLimit[] {
  const isList = isObject(options) && "limits" in options;
  checkFields(WRAPPER, "limitHttp", options, { ...(isList ? LIMITS : LIMIT), ...COMMON });
  const { onError, report, via } = options;
  if (onError === "open" && !report) throw fieldError(WRAPPER, "report", 'a function if onError is "open"', report);
  if (Boolean(place.component) === Boolean(via)) {
    const ofTables = "a reference to what httpMutation(limits) made: these limits are in your tables";
    throw fieldError(WRAPPER, "via", via ? "left out: the component is called directly" : ofTables, via);
  }
  // One limit is given beside the other options.
  const limits = (isList ? options.limits : [options]) as AnyHttpLimit[];
  for (const limit of limits) {
    if (!isObject(limit)) throw fieldError(WRAPPER, "limits", "a list of limits", limit);
    if (isList) checkFields(limit.limit, "a limit of limitHttp", limit, LIMIT);
    checkLimit(definitions, limit);
  }
  const names = limits.map(({ limit }) => limit);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw misuseError(twice, "is listed twice; clients could not tell the policies apart.");
  return limits.map((limit) => ({ ...limit, mode: limit.mode ?? definitions.get(limit.limit)?.mode ?? "enforce" }));
}

/** @throws when the limit cannot work, as far as that does not depend on the request. */
function checkLimit(definitions: Definitions, limit: AnyHttpLimit): void {
  const { limit: name, config, plan, by, without, identify } = limit;
  const definition = definitions.get(name);
  if (identify ? [by, without, config, plan].some((given) => given !== undefined) : by === undefined) {
    throw misuseError(name, 'needs by (key sources, or "everyone") and without, or else identify, and not both.');
  }
  const isKeyless = by === "everyone";
  if (by !== undefined && isKeyless !== (without === undefined)) {
    const needed = isKeyless ? 'left out with by: "everyone"' : describePermitted(keylessField);
    throw fieldError(name, "without", needed, without);
  }
  if (definition?.keyed === isKeyless) {
    const choice = isKeyless ? '"everyone"' : "a key source";
    throw misuseError(name, `is defined with keyed: ${String(definition.keyed)}, so by cannot be ${choice}.`);
  }
  // The choice of a caller is not known here: any config stands for it.
  const anyConfig: RateLimitConfig = { kind: "token bucket", rate: 1, period: 1 };
  const terms = identify ? { config: anyConfig } : { config, plan };
  const args = { name, key: isKeyless ? undefined : "any", ...terms };
  const bucket = findBucket(definitions, "limitHttp", args, { needsPlan: true });
  // Nobody would release the slot of a request.
  for (const own of identify && definition ? definition.configs : [bucket]) {
    checkTokens("limitHttp", { name, config: own.config });
  }
}
