/** The wrapper's options, and their check when the module is loaded: what cannot work fails the deploy, not each request. */
import { checkFields, describePermitted, type Field, isPermitted, required } from "../engine/fields.js";
import { parseLimit } from "../engine/limit.js";
import { fieldError, misuseError, show } from "../engine/misuse.js";
import type { Consume } from "./consume.js";
import type { HttpCtx } from "./ctx.js";
import type { DenialAnswer, HttpDenial } from "./denial.js";
import { headerFields } from "./fields.js";
import { checkFormats, type RateLimitFormat } from "./formats.js";
import { asList } from "./headers.js";
import type { HttpLimit } from "./httpLimit.js";
import { configIn, QUOTA_UNITS } from "./quota.js";
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
  /**
   * What no status says is read with a query beside the call: what remains on several rows, and when tokens of a sliding window come
   * back. So each allowed request to a sliding window costs a query more. `"omit"` saves it: a limit on several rows then sends its
   * policy alone, and a sliding window its whole period as t.
   */
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

type FieldsOf<Options extends object> = Readonly<Record<keyof Options, Field>>;

const isFunction = (value: unknown) => typeof value === "function";
const isObject = (value: unknown) => typeof value === "object" && value !== null;
const field = (permitted: string, holds: (value: unknown) => boolean): Field => ({ permitted, holds });
/** What a function may give as well. */
const orFunction = (given: Field): Field =>
  field(`${describePermitted(given)}, or a function`, (value) => isFunction(value) || isPermitted(given, value));
const oneOf = (...values: readonly string[]): Field =>
  field(values.map(show).join(" or "), (value) => values.includes(value as string));
const aFunction = field("a function", isFunction);

const OPTIONS: FieldsOf<LimitHttpOptions> = {
  limits: required(field("a limit or a list of limits", isObject)),
  consume: required(field("a function, such as inComponent(components.rateLimits)", isFunction)),
  formats: field("a list of formats", Array.isArray),
  jitter: field("a number from 0 to 1", (value) => typeof value === "number"),
  // A method in small letters would be none that a request has.
  skip: orFunction(field('a list of methods in capitals, such as "OPTIONS"', isListOfMethods)),
  denial: orFunction(field("an object with body, status or headers", isObject)),
  onDenied: aFunction,
  refund: orFunction(oneOf("successful", "failed")),
  remaining: oneOf("read", "omit"),
  cors: orFunction(headerFields),
  onError: oneOf("closed", "open"),
  report: aFunction,
};

const LIMIT: FieldsOf<HttpLimit> = {
  name: required(field("a non-empty string", (value) => typeof value === "string" && value !== "")),
  key: field(
    "firstOf(…) or everyone",
    (value) => isObject(value) && isFunction((value as { choose?: unknown }).choose),
  ),
  config: field("a config, or a function that returns one", (value) => isFunction(value) || isObject(value)),
  identify: aFunction,
  when: aFunction,
  cost: field("a function, such as fixed(1)", isFunction),
  unit: oneOf(...QUOTA_UNITS),
  partitionKey: aFunction,
};
const ANY_CONFIG = { kind: "token bucket", rate: 1, period: 1 } as const;
const KEYED_LIMIT = { ...LIMIT, key: required(LIMIT.key), config: required(LIMIT.config) };

const DENIAL = {
  body: orFunction(field("a string or an object", (value) => typeof value === "string" || isObject(value))),
  status: { atLeast: 400, atMost: 599, isWhole: true },
  headers: headerFields,
};

/** @throws when an option is unknown, missing, of the wrong type or out of range. */
export function checkOptions(options: LimitHttpOptions): void {
  checkFields("limitHttp", "limitHttp", options, OPTIONS);
  const limits = asList(options.limits);
  if (limits.length === 0) throw misuseError("limitHttp", "limits must have at least one limit.");
  checkLimits(limits);
  checkJitter("limitHttp", options.jitter ?? 0);
  checkFormats("limitHttp", options.formats ?? []);
  if (isObject(options.denial)) checkFields("limitHttp", "denial", options.denial, DENIAL);
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
    if (!isObject(limit)) throw fieldError("limitHttp", "limits", describePermitted(OPTIONS.limits), limit);
    const { name, key, config, identify } = limit;
    checkFields(name, "a limit of limitHttp", limit, identify === undefined ? KEYED_LIMIT : LIMIT);
    // The types forbid both, JavaScript does not.
    const both: readonly unknown[] = [key, config];
    if (identify !== undefined && both.some((field) => field !== undefined)) {
      throw misuseError(name, "takes identify, or key and config, not both.");
    }
    if (names.has(name)) throw misuseError(name, "is listed twice; clients could not tell the policies apart.");
    names.add(name);
    // Of a config that a request chooses, only the name is known here.
    parseLimit(name, typeof config === "object" ? configIn(config) : ANY_CONFIG);
  }
}

function isListOfMethods(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === "string" && each === each.toUpperCase());
}
