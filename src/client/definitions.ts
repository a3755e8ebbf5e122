/** The limits of an app: parsed when they are defined, looked up at each call. */
import { booleanField, type Fields, strangeFieldError } from "../engine/fields.js";
import type { Limit } from "../engine/kinds/kind.js";
import { parseLimit } from "../engine/limit.js";
import { fieldError, misuseError, show } from "../engine/misuse.js";
import { checkName } from "../engine/names.js";
import { type Bucket, bucketAt, parseBucket } from "../engine/request.js";
import { parseQueueTerms, type QueueTerms } from "../queue/terms.js";
import type { AnyBucketArgs, Mode, RateLimitDefinition, RateLimitDefinitions, ThrowChoice } from "./args.js";

export interface Definitions {
  /** All of them, by name. */
  readonly limits: ReadonlyMap<string, Limit>;
  /** Those that have a queue, with its terms. */
  readonly queues: ReadonlyMap<string, QueueTerms>;
  /** The bucket that the arguments of a call name. `fields` are those that the call has besides name, key and config. */
  readonly lookUp: (args: AnyBucketArgs, call: string, fields?: readonly string[]) => Bucket;
  /** What the definition of a name says besides the config; undefined where nothing is defined. */
  readonly termsOf: (name: string) => DefinedTerms | undefined;
}

/** What a definition says of calls, besides the config. */
type DefinedTerms = Pick<RateLimitDefinition, "keyed" | "overrides" | "throws" | "mode">;

/** @throws when a definition is invalid, naming the limit and the field. */
export function parseDefinitions(definitions: RateLimitDefinitions): Definitions {
  // The types forbid anything else, JavaScript does not.
  const given: unknown = definitions;
  if (typeof given !== "object" || given === null) {
    throw new Error(`defineRateLimits needs an object of limits by name, got ${show(given)}.`);
  }
  const limits = new Map<string, Limit>();
  const terms = new Map<string, DefinedTerms>();
  const queues = new Map<string, QueueTerms>();
  for (const [name, definition] of Object.entries(definitions)) {
    const object: unknown = definition;
    if (typeof object !== "object" || object === null) throw fieldError(name, "the definition", "an object", object);
    const { keyed, overrides, throws, mode, queue, ...config } = definition;
    const own = { keyed, overrides, throws, mode };
    checkTerms(name, own);
    if (overrides && queue) {
      throw misuseError(name, "overrides and queue cannot be had together: a queue would not ask for them.");
    }
    if (mode === "shadow" && queue) {
      throw misuseError(name, 'mode: "shadow" and queue cannot be had together: its jobs would wait all the same.');
    }
    limits.set(name, parseLimit(name, config));
    terms.set(name, own);
    if (queue !== undefined) queues.set(name, parseQueueTerms(name, queue));
  }
  const lookUp: Definitions["lookUp"] = (args, call, fields = []) => {
    // The name first, since the other messages name the limit.
    checkArgs(args, call, limits);
    const { name, key, config } = args;
    const permitted = [...BUCKET_FIELDS, ...fields];
    const strange = Object.keys(args).find((field) => !permitted.includes(field));
    if (strange !== undefined) throw strangeFieldError(name, call, strange, permitted);
    const { keyed, overrides } = terms.get(name) ?? {};
    if (keyed === (key === undefined)) throw keyedError(name, key);
    if (config !== undefined) return parseBucket({ name, key, config, overrides });
    const limit = limits.get(name);
    if (!limit) throw undefinedError(name, limits);
    return bucketAt(limit, key, overrides);
  };
  return { limits, queues, lookUp, termsOf: (name) => terms.get(name) };
}

/** What calls say, by the names of the fields: the values are checked where they are used. */
const BUCKET_FIELDS = ["name", "key", "config"];
export const ADJUST_FIELDS = ["count", "takenAt"];
export const DEMAND_FIELDS = ["count", "reserve", "mode", "refundable"];
export const CALL_FIELDS = [...DEMAND_FIELDS, "atLeast", "throws"];

export const THROWS_FIELDS: Fields = {
  throws: { permitted: "true, false or { jitter: a number from 0 to 1 }", holds: isThrows },
};
const TERM_FIELDS: Fields = {
  keyed: booleanField,
  overrides: booleanField,
  ...THROWS_FIELDS,
  mode: { permitted: '"enforce" or "shadow"', holds: isMode },
};

/** @throws when a definition, or a call, says what these cannot be. */
export function checkTerms(name: string, terms: DefinedTerms): void {
  for (const [field, { permitted, holds }] of Object.entries(TERM_FIELDS)) {
    const value = terms[field as keyof DefinedTerms];
    if (value !== undefined && !holds(value)) throw fieldError(name, field, permitted, value);
  }
}

function isMode(value: unknown): value is Mode {
  return value === "enforce" || value === "shadow";
}

function isThrows(value: unknown): value is ThrowChoice {
  if (typeof value !== "object" || value === null) return typeof value === "boolean";
  const { jitter } = value as { jitter?: unknown };
  return Object.keys(value).length === 1 && typeof jitter === "number" && jitter >= 0 && jitter <= 1;
}

/** @param limits - those that are defined: their names are known to be good. */
export function checkArgs(args: unknown, call: string, limits: ReadonlyMap<unknown, Limit>): void {
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    throw new Error(`${call} needs an object with the name of a rate limit, got ${show(args)}.`);
  }
  const { name } = args as { name?: unknown };
  if (!limits.has(name)) checkName(name);
}

function keyedError(name: string, key: unknown): Error {
  return misuseError(
    name,
    key === undefined
      ? "key must be a non-empty string, got undefined (the limit is keyed: true)."
      : `key must be left out, got ${show(key)} (the limit is keyed: false, one bucket for all).`,
  );
}

function undefinedError(name: string, limits: ReadonlyMap<string, Limit>): Error {
  const known = [...limits.keys()].map(show).join(", ");
  return misuseError(
    name,
    `is not one of your limits (${known || "none is defined"}); to use it without a definition give its config.`,
  );
}
