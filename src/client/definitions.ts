/** The limits of an app: parsed when they are defined, looked up at each call. */
import { booleanField, checkFields, type Field, type Fields } from "../engine/fields.js";
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
  readonly lookUp: (args: AnyBucketArgs, call: string, fields?: Fields) => Bucket;
  /** What the definition of a name says besides the config; undefined where nothing is defined. */
  readonly termsOf: (name: string) => DefinedTerms | undefined;
}

/** What a definition says of calls, besides the config. */
type DefinedTerms = Pick<RateLimitDefinition, "keyed" | "throws" | "mode">;

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
    const { keyed, throws, mode, queue, ...config } = definition;
    const own = { keyed, throws, mode };
    for (const [field, { permitted, holds }] of Object.entries(TERM_FIELDS)) {
      const value = own[field as keyof DefinedTerms];
      if (value !== undefined && !holds(value)) throw fieldError(name, field, permitted, value);
    }
    limits.set(name, parseLimit(name, config));
    terms.set(name, own);
    if (queue !== undefined) queues.set(name, parseQueueTerms(name, queue));
  }
  const lookUp: Definitions["lookUp"] = (args, call, fields = NO_FIELDS) => {
    // The name first, since the other messages name the limit.
    checkArgs(args, call);
    checkFields(args.name, call, args, { ...BUCKET_FIELDS, ...fields });
    checkKeyed(args, terms.get(args.name)?.keyed);
    return find(limits, args);
  };
  return { limits, queues, lookUp, termsOf: (name) => terms.get(name) };
}

const NO_FIELDS: Fields = {};

/** What these may be is checked where they are used. */
const ANYTHING: Field = { permitted: "anything", holds: () => true };
const BUCKET_FIELDS: Fields = { name: ANYTHING, key: ANYTHING, config: ANYTHING };
export const COUNT_FIELDS: Fields = { count: ANYTHING };
export const MODE_FIELDS: Fields = { mode: { permitted: '"enforce" or "shadow"', holds: isMode } };
export const DEMAND_FIELDS: Fields = { ...COUNT_FIELDS, reserve: ANYTHING, ...MODE_FIELDS };
export const THROWS_FIELDS: Fields = {
  throws: { permitted: "true, false or { jitter: a number from 0 to 1 }", holds: isThrows },
};
export const CALL_FIELDS: Fields = { ...DEMAND_FIELDS, atLeast: ANYTHING, ...THROWS_FIELDS };
const TERM_FIELDS: Fields = { keyed: booleanField, ...THROWS_FIELDS, ...MODE_FIELDS };

function isMode(value: unknown): value is Mode {
  return value === "enforce" || value === "shadow";
}

function isThrows(value: unknown): value is ThrowChoice {
  if (typeof value !== "object" || value === null) return typeof value === "boolean";
  const { jitter } = value as { jitter?: unknown };
  return Object.keys(value).length === 1 && typeof jitter === "number" && jitter >= 0 && jitter <= 1;
}

export function checkArgs(args: unknown, call: string): void {
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    throw new Error(`${call} needs an object with the name of a rate limit, got ${show(args)}.`);
  }
  checkName((args as { name?: unknown }).name);
}

function checkKeyed({ name, key }: AnyBucketArgs, keyed: boolean | undefined): void {
  if (keyed === true && key === undefined) {
    throw misuseError(name, "key must be a non-empty string, got undefined (the limit is keyed: true).");
  }
  if (keyed === false && key !== undefined) {
    throw misuseError(name, `key must be left out, got ${show(key)} (the limit is keyed: false, one bucket for all).`);
  }
}

function find(limits: ReadonlyMap<string, Limit>, { name, key, config }: AnyBucketArgs): Bucket {
  if (config !== undefined) return parseBucket({ name, key, config });
  const limit = limits.get(name);
  if (limit) return bucketAt(limit, key);
  const known = [...limits.keys()].map(show).join(", ");
  throw misuseError(
    name,
    `is not one of your limits (${known || "none is defined"}); to use it without a definition give its config.`,
  );
}
