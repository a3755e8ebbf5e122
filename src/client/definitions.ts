/** The limits of an app. Each run evaluates them, so a definition of the common form is parsed at its first call. */
import type { FunctionReference, FunctionVisibility } from "convex/server";
import { checkField, type Field, type Fields, isObject, strangeFieldError } from "../engine/fields.js";
import { isPlain } from "../engine/kinds/plain.js";
import type { Term } from "../engine/bucket.js";
import { fieldError, misuseError, needError, show } from "../engine/misuse.js";
import { checkKey, checkName, MAX_NAME } from "../engine/names.js";
import type { BucketArgs, RequestArgs } from "../engine/request.js";
import type { DemandArgs } from "../wire/answers.js";
import type { RateLimitConfig } from "../wire/configs.js";
import type { JoinArgs } from "../wire/queue.js";
import type { Definition, Mode, RateLimitsOptions, ThrowChoice } from "./definitionTypes.js";
import { checkWith, parseDefinition, planField, plansOf, termUnder } from "./plans.js";

export interface Definitions {
  readonly names: readonly string[];
  readonly get: (name: string) => Definition | undefined;
  /** The limits whose queues also take from this one. */
  readonly queuesWith: (name: string) => string[];
  /** Checks a config of a definition or a call, and may keep what it is parsed to. @throws when it is invalid. */
  readonly check: (name: string, term: Term) => void;
}

/** @throws when a definition is invalid, naming the limit and the field. */
export function parseDefinitions(limits: unknown, check: Definitions["check"]): Definitions {
  if (!isObject(limits)) throw needError("defineRateLimits", "an object of limits by name", limits);
  const given = limits as Readonly<Record<string, unknown>>;
  const remembered = new Map<string, Definition>();
  const parse = (name: string) => {
    const definition = parseDefinition(name, given[name], check);
    remembered.set(name, definition);
    return definition;
  };
  const names = Object.keys(limits);
  // All at once: with hundreds of limits, a call for each is a twentieth of what loading costs.
  const areWellFormed = names.join().isWellFormed();
  for (const name of names) {
    if (!areWellFormed || name === "" || name.length > MAX_NAME) checkName(name);
    if (!isPlain(given[name], true)) parse(name);
  }
  const get = (name: string) => remembered.get(name) ?? (names.includes(name) ? parse(name) : undefined);
  // All limits with a queue have been parsed.
  const queues = [...remembered].filter(([, { queue }]) => queue?.with);
  for (const [name, definition] of queues) checkWith(name, definition, get);
  const queuesWith = (other: string) =>
    queues.flatMap(([name, { queue }]) => (Object.hasOwn(queue?.with ?? {}, other) ? name : []));
  return { names, get, queuesWith, check };
}

/** The bucket fields of a call, before they are checked: JavaScript may pass anything. */
export interface AnyBucketArgs {
  name: string;
  key?: string | undefined;
  config?: RateLimitConfig | undefined;
  plan?: string | undefined;
}
/** The same of the fields of all calls that decide. */
export interface AnyArgs
  extends AnyBucketArgs, DemandArgs, Pick<JoinArgs, "priority" | "fairBy" | "settles" | "notAfter"> {
  mode?: Mode | undefined;
  throws?: ThrowChoice;
  spread?: number | undefined;
  onDropped?: FunctionReference<"mutation", FunctionVisibility> | undefined;
}

/** A field whose value is checked where it is used. */
export const anything: Field = { permitted: "anything", holds: () => true };
const BUCKET_FIELDS: Fields = { name: anything, key: anything, config: anything, plan: planField };

/**
 * The bucket that the arguments of a call name.
 * @param more - what the call may say besides.
 * @param needsPlan - whether it must name the plan of a limit that has plans. Other calls mean the same under every
 * plan, or follow the one that the rows were written under.
 * @throws when the arguments have another field, a value that is not permitted, or no limit has the name.
 */
export function findBucket(
  definitions: Definitions,
  call: string,
  args: AnyBucketArgs,
  { more, needsPlan = false }: { readonly more?: Fields; readonly needsPlan?: boolean } = {},
): Readonly<BucketArgs> {
  // The name first, since the other messages name the limit.
  const definition = definitions.get((args as AnyBucketArgs | null)?.name ?? "");
  if (!definition) checkNamed(call, args);
  const { name, key, config, plan } = args;
  const fields: Fields = { ...BUCKET_FIELDS, ...more };
  for (const field of Object.keys(args)) {
    if (!Object.hasOwn(fields, field)) throw strangeFieldError(name, call, field, Object.keys(fields));
    if (fields[field] !== anything) checkField(name, field, fields[field], args[field as keyof AnyBucketArgs]);
  }
  if (definition?.keyed === (key === undefined)) {
    const permitted = definition.keyed
      ? "a non-empty string (keyed: true)"
      : "left out (keyed: false, one bucket for all)";
    throw fieldError(name, "key", permitted, key);
  }
  if (key !== undefined) checkKey(name, key);
  if (config !== undefined) {
    if (plan !== undefined) throw misuseError(name, "plan and config cannot be combined: a plan is a config.");
    const term = { config };
    if (!isPlain(config)) definitions.check(name, term);
    return { name, key, config, plan: null, term };
  }
  if (!definition) throw undefinedError(definitions, name, "give its config to use it without a definition");
  const [first] = definition.configs;
  const term = plan === first.plan ? first : termUnder(name, definition, plan, needsPlan);
  const plans = needsPlan || plan !== undefined ? undefined : plansOf(definition);
  return { name, key, config: term.config, plan, plans, term };
}

/** @param instead - what to do. */
export function undefinedError({ names }: Definitions, name: string, instead: string): Error {
  const known = names.map(show).join(", ") || "none is defined";
  return new Error(`Rate limit ${show(name)} is not one of your limits (${known}); ${instead}.`);
}

/** @throws when a call that reserves or gives back tokens is of a limit with slots. */
export function checkTokens(call: string, { name, config }: Pick<BucketArgs, "name" | "config">): void {
  if (!("lease" in config)) return;
  throw misuseError(name, `${call} is for limits with tokens, and this one has slots (kind "concurrency").`);
}

/** @throws when the arguments are no object with the name of a limit. */
export function checkNamed(call: string, args: unknown): void {
  if (!isObject(args)) throw needError(call, "an object with the name of a rate limit", args);
  checkName((args as { name?: unknown }).name);
}

/** A request, and whether a denial of it is thrown. */
export interface CompleteRequest extends RequestArgs {
  readonly throws?: ThrowChoice;
}

/** The request of a call, completed by the definitions. @throws when a field is unknown, or out of range. */
export function complete(
  { definitions, options }: { definitions: Definitions; options: RateLimitsOptions },
  call: string,
  args: AnyArgs,
  more: Fields,
): CompleteRequest {
  const bucket = findBucket(definitions, call, args, { more, needsPlan: true });
  const defined = definitions.get(bucket.name);
  // The call decides before the definition, and that before the options.
  const { throws = defined?.throws ?? options.throws, mode = defined?.mode, count, reserve, refundable } = args;
  return { ...bucket, count, reserve, refundable, shadow: mode === "shadow" || undefined, throws };
}
