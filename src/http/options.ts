/** The wrapper's options, and their check when the module is loaded: what cannot work fails the deploy, not each request. */
import { parseLimit } from "../engine/limit.js";
import { fieldError, misuseError, show } from "../engine/misuse.js";
import type { Consume } from "./consume.js";
import type { HttpCtx } from "./ctx.js";
import type { DenialAnswer, HttpDenial } from "./denial.js";
import { checkFormats, type RateLimitFormat } from "./formats.js";
import { asList } from "./headers.js";
import type { HttpLimit } from "./httpLimit.js";
import { configIn } from "./quota.js";
import { QUOTA_UNITS } from "./quota.js";
import type { Report } from "./report.js";
import { checkJitter } from "./retryAfter.js";

/** Whether a request should not have counted; `response` is undefined when the handler threw. */
type RefundRule = (response: Response | undefined, request: Request) => boolean | Promise<boolean>;

export type LimitHttpOptions = {
  /** One limit, or several that are asked together: all of them let the request pass, or none is charged. */
  limits: HttpLimit | readonly HttpLimit[];
  /** Takes the tokens: `inComponent(components.rateLimits)`, `inTables({ take: … })`, or a function of your own. */
  consume: Consume;
  /** Which header fields to send, default `["draft-11"]`. */
  formats?: readonly RateLimitFormat[];
  /** By what fraction of the wait `Retry-After` may be later than the truth, 0 (default) to 1; 0.5 is a good choice. */
  jitter?: number;
  /**
   * Requests that pass without being counted: methods, default OPTIONS, or a function, which is asked about all other methods
   * than OPTIONS.
   */
  skip?: readonly string[] | ((request: Request, ctx: HttpCtx) => boolean | Promise<boolean>);
  /** The answer to a denied request, default problem details. */
  denial?: DenialAnswer;
  /** Told of each denial, for logs; what it throws is reported. */
  onDenied?: (denial: HttpDenial, ctx: HttpCtx) => void | Promise<void>;
  /**
   * Gives back what was taken once the handler has answered: when the response is below 400 (`"successful"`), when it is 400 or
   * above or the handler threw (`"failed"`), or when a function says so.
   */
  refund?: "successful" | "failed" | RefundRule;
  /** `"omit"`: a limit whose status has no `remaining` sends its policy alone. Default: what is left is read with a query. */
  remaining?: "read" | "omit";
  /** Header fields for the answers that are not the handler's: `Access-Control-Allow-Origin` and the like. */
  cors?: Readonly<Record<string, string>> | ((request: Request) => Readonly<Record<string, string>>);
} & (
  | {
      /** When the limits cannot be asked: answer 503 with Retry-After. The default. */
      onError?: "closed";
      /** Default: errors go to the log. */
      report?: Report;
    }
  | {
      /** When the limits cannot be asked: serve, unlimited, and report. */
      onError: "open";
      report: Report;
    }
);

/** A permitted value, in words, and whether a value is one. */
type Rule = readonly [permitted: string, isPermitted: (value: unknown) => boolean];

const isFunction = (value: unknown) => typeof value === "function";
const isObject = (value: unknown) => typeof value === "object" && value !== null;
const oneOf = (...values: readonly string[]): Rule => [
  values.map(show).join(" or "),
  (value) => values.includes(value as string),
];
const aFunction: Rule = ["a function", isFunction];

const OPTIONS: Readonly<Record<keyof LimitHttpOptions, Rule>> = {
  limits: ["a limit or a list of limits", isObject],
  consume: ["a function, such as inComponent(components.rateLimits)", isFunction],
  formats: ["a list of formats", Array.isArray],
  jitter: ["a number from 0 to 1", (value) => typeof value === "number"],
  skip: ["a list of methods, or a function", (value) => isFunction(value) || isListOfText(value)],
  denial: ["an object with body, status or headers, or a function", (value) => isFunction(value) || isObject(value)],
  onDenied: aFunction,
  refund: [
    '"successful", "failed" or a function',
    (value) => isFunction(value) || oneOf("successful", "failed")[1](value),
  ],
  remaining: oneOf("read", "omit"),
  cors: ["an object of header fields, or a function", (value) => isFunction(value) || isObject(value)],
  onError: oneOf("closed", "open"),
  report: aFunction,
};

const LIMIT_FIELDS: Readonly<Record<keyof HttpLimit, Rule>> = {
  name: ["a non-empty string", (value) => typeof value === "string" && value !== ""],
  key: ["firstOf(…) or everyone", (value) => isObject(value) && isFunction((value as { choose?: unknown }).choose)],
  config: ["a config, or a function that returns one", (value) => isFunction(value) || isObject(value)],
  identify: aFunction,
  when: aFunction,
  cost: ["a function, such as fixed(1)", isFunction],
  unit: oneOf(...QUOTA_UNITS),
  partitionKey: aFunction,
};

const DENIAL_FIELDS: Readonly<Record<"body" | "status" | "headers", Rule>> = {
  body: [
    "a string, an object or a function",
    (value) => typeof value === "string" || isFunction(value) || isObject(value),
  ],
  status: [
    "a whole number from 400 to 599",
    (value) => typeof value === "number" && Number.isInteger(value) && value >= 400 && value <= 599,
  ],
  headers: ["an object of header fields", isObject],
};

/** @throws when an option is unknown, missing, of the wrong type or out of range. */
export function checkOptions(options: LimitHttpOptions): void {
  checkFields("limitHttp", "an option of limitHttp", options, OPTIONS, ["limits", "consume"]);
  const limits = asList(options.limits);
  if (limits.length === 0) throw misuseError("limitHttp", "limits must have at least one limit.");
  checkLimits(limits);
  checkJitter("limitHttp", options.jitter ?? 0);
  checkFormats("limitHttp", options.formats ?? []);
  if (isObject(options.denial)) {
    checkFields("limitHttp", "a field of denial", options.denial, DENIAL_FIELDS, []);
  }
  if (options.onError === "open" && !isFunction(options.report)) {
    throw fieldError("limitHttp", "report", 'a function where onError is "open"', options.report);
  }
  if (options.refund !== undefined && !options.consume.giveBack) {
    throw misuseError(
      "limitHttp",
      "refund needs a consume that can give back: inComponent(…), or inTables with giveBack.",
    );
  }
}

function checkLimits(limits: readonly HttpLimit[]): void {
  const names = new Set<string>();
  for (const limit of limits) {
    if (!isObject(limit)) throw fieldError("limitHttp", "limits", OPTIONS.limits[0], limit);
    const { name, key, config, identify } = limit;
    const needed = identify === undefined ? (["name", "key", "config"] as const) : (["name", "identify"] as const);
    checkFields(name, "a field of a limit", limit, LIMIT_FIELDS, needed);
    // The types forbid both, JavaScript does not.
    const both: readonly unknown[] = [key, config];
    if (identify !== undefined && both.some((field) => field !== undefined)) {
      throw misuseError(name, "takes identify, or key and config, not both.");
    }
    if (names.has(name)) throw misuseError(name, "is listed twice; clients could not tell the policies apart.");
    names.add(name);
    if (config !== undefined && typeof config !== "function") parseLimit(name, configIn(config));
  }
}

function checkFields<Field extends string>(
  name: string,
  what: string,
  given: object,
  rules: Readonly<Record<Field, Rule>>,
  needed: readonly Field[],
): void {
  if (!isObject(given)) throw fieldError(name, "options", "an object", given);
  for (const [field, value] of Object.entries(given)) {
    if (!Object.hasOwn(rules, field)) {
      throw misuseError(name, `${show(field)} is not ${what}; those are ${Object.keys(rules).join(", ")}.`);
    }
    const [permitted, isPermitted] = rules[field as Field];
    if (value !== undefined && !isPermitted(value)) throw fieldError(name, field, permitted, value);
  }
  const present = new Map<string, unknown>(Object.entries(given));
  const missing = needed.find((field) => present.get(field) === undefined);
  if (missing !== undefined) throw fieldError(name, missing, rules[missing][0], undefined);
}

function isListOfText(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
