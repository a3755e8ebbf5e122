/** The limits of an app: parsed when they are defined, looked up at each call. */
import { booleanField, checkFields, type Field, type Fields } from "../engine/fields.js";
import type { Limit } from "../engine/kinds/kind.js";
import { parseLimit } from "../engine/limit.js";
import { fieldError, misuseError, show } from "../engine/misuse.js";
import { checkName } from "../engine/names.js";
import { type Bucket, bucketAt, parseBucket } from "../engine/request.js";
import { parseQueueTerms, type QueueTerms } from "../queue/terms.js";
import type { AnyBucketArgs, RateLimitDefinitions } from "./args.js";

export interface Definitions {
  /** All of them, by name. */
  readonly limits: ReadonlyMap<string, Limit>;
  /** Those that have a queue, with its terms. */
  readonly queues: ReadonlyMap<string, QueueTerms>;
  /** The bucket that the arguments of a call name. `fields` are those that the call has besides name, key and config. */
  readonly lookUp: (args: AnyBucketArgs, call: string, fields?: Fields) => Bucket;
}

/** @throws when a definition is invalid, naming the limit and the field. */
export function parseDefinitions(definitions: RateLimitDefinitions): Definitions {
  // The types forbid anything else, JavaScript does not.
  const given: unknown = definitions;
  if (typeof given !== "object" || given === null) {
    throw new Error(`defineRateLimits needs an object of limits by name, got ${show(given)}.`);
  }
  const limits = new Map<string, Limit>();
  const keyedness = new Map<string, boolean | undefined>();
  const queues = new Map<string, QueueTerms>();
  for (const [name, definition] of Object.entries(definitions)) {
    const object: unknown = definition;
    if (typeof object !== "object" || object === null) throw fieldError(name, "the definition", "an object", object);
    const { keyed, queue, ...config } = definition;
    if (keyed !== undefined && typeof keyed !== "boolean") throw fieldError(name, "keyed", "true or false", keyed);
    limits.set(name, parseLimit(name, config));
    keyedness.set(name, keyed);
    if (queue !== undefined) queues.set(name, parseQueueTerms(name, queue));
  }
  const lookUp: Definitions["lookUp"] = (args, call, fields = NO_FIELDS) => {
    // The name first, since the other messages name the limit.
    checkArgs(args, call);
    checkFields(args.name, call, args, { ...BUCKET_FIELDS, ...fields });
    checkKeyed(args, keyedness.get(args.name));
    return find(limits, args);
  };
  return { limits, queues, lookUp };
}

const NO_FIELDS: Fields = {};

/** What these may be is checked where they are used. */
const ANYTHING: Field = { permitted: "anything", holds: () => true };
const BUCKET_FIELDS: Fields = { name: ANYTHING, key: ANYTHING, config: ANYTHING };
export const COUNT_FIELDS: Fields = { count: ANYTHING };
export const DEMAND_FIELDS: Fields = { ...COUNT_FIELDS, reserve: ANYTHING };
export const THROWS_FIELDS: Fields = { throws: booleanField };

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
