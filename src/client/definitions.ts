/** The limits of an app: parsed when they are defined, looked up at each call. */
import type { AnyBucketArgs, RateLimitDefinitions } from "./args.js";
import { checkName } from "../engine/demand.js";
import { parseLimit } from "../engine/limit.js";
import { badField, misuse, show } from "../engine/misuse.js";
import type { Limit } from "../engine/types.js";
import { parsePlace, placeAt, type Place } from "../engine/request.js";

export interface Definitions {
  /** All of them, by name. */
  readonly limits: ReadonlyMap<string, Limit>;
  /** The bucket that a call means. */
  readonly lookUp: (args: AnyBucketArgs) => Place;
}

/** @throws when a definition is invalid, naming the limit and the field. */
export function parseDefinitions(definitions: RateLimitDefinitions): Definitions {
  const limits = new Map<string, Limit>();
  const keyedness = new Map<string, boolean | undefined>();
  for (const [name, definition] of Object.entries(definitions)) {
    // The types forbid it, JavaScript does not.
    const given: unknown = definition;
    if (typeof given !== "object" || given === null) throw badField(name, "the definition", "an object", given);
    const { keyed, ...config } = definition;
    if (keyed !== undefined && typeof keyed !== "boolean") throw badField(name, "keyed", "true or false", keyed);
    limits.set(name, parseLimit(name, config));
    keyedness.set(name, keyed);
  }
  return { limits, lookUp: (args) => lookUp(limits, keyedness.get(args.name), args) };
}

function lookUp(limits: ReadonlyMap<string, Limit>, keyed: boolean | undefined, args: AnyBucketArgs): Place {
  const { name, key, config } = args;
  checkName(name);
  if (keyed === true && key === undefined) {
    throw misuse(name, "key must be a non-empty string, got undefined (the limit is keyed: true).");
  }
  if (keyed === false && key !== undefined) {
    throw misuse(name, `key must be left out, got ${show(key)} (the limit is keyed: false, one bucket for all).`);
  }
  if (config !== undefined) return parsePlace({ name, key, config });
  const limit = limits.get(name);
  if (limit) return placeAt(limit, key);
  const known = [...limits.keys()].map(show).join(", ");
  throw misuse(name, `config must be given, since no limit of that name is defined (${known || "none is"}).`);
}
