/** A definition, and its plans: each is a config of its own, chosen by name with each call. */
import { booleanField, checkField, type Field, isObject } from "../engine/fields.js";
import { isPlain } from "../engine/kinds/plain.js";
import { bucketNameOf } from "../engine/kinds/policy.js";
import { fieldError, misuseError, show } from "../engine/misuse.js";
import { checkName } from "../engine/names.js";
import type { NamedPlan, Term } from "../engine/bucket.js";
import { checkCount, checkQueueConfig } from "../queue/terms.js";
import type { QueueTerms, RateLimitConfig } from "../wire/configs.js";
import type { Definition, RateLimitDefinition } from "./definitionTypes.js";
import { modeField, throwsField } from "./options.js";

/** The plan in a call. Calls that it changes need one if the limit has plans. */
export const planField: Field = { permitted: "the name of a plan", holds: (value) => typeof value === "string" };

/** @param check - checks a config, and may keep what it is parsed to. @throws when the definition is invalid. */
export function parseDefinition(name: string, given: unknown, check: Check): Definition {
  const isCommon = isPlain(given, true);
  // JavaScript may pass anything.
  if (!isCommon && !isObject(given)) throw fieldError(name, "the definition", "an object", given);
  const { plans, keyed, throws, mode, queue, ...config } = given as RateLimitDefinition & { plans?: unknown };
  const terms = { keyed, throws, mode, queue };
  if (isCommon) return { ...terms, configs: [{ config }] };
  checkField(name, "keyed", booleanField, keyed);
  checkField(name, "throws", throwsField, throws);
  checkField(name, "mode", modeField, mode);
  if (mode === "shadow" && queue) {
    throw misuseError(name, 'mode: "shadow" and queue cannot be combined: its jobs would still wait.');
  }
  if (queue !== undefined) checkQueueConfig(name, queue);
  const definition = { ...terms, configs: parseConfigs(name, plans, config, check) };
  checkSlots(name, definition);
  return definition;
}
type Check = (name: string, term: Term) => void;

/** @throws when slots have a queue, or only some plans have slots: the configs have been checked. */
function checkSlots(name: string, { configs, queue }: Definition): void {
  const others = configs.filter(({ config }) => !("lease" in config));
  if (others.length === configs.length) return;
  if (queue) {
    throw misuseError(name, 'queue must be left out with kind "concurrency": nobody knows when a slot is free.');
  }
  for (const { config } of others) {
    throw fieldError(name, "kind", 'the same in all plans if one is "concurrency"', config.kind);
  }
}

/**
 * @param given - the plans, if there are any. @param shared - the fields that they share, or the only config.
 * @throws when they are no plans, a config is invalid, or they would not share one bucket that may be split.
 */
function parseConfigs(name: string, given: unknown, shared: RateLimitConfig, check: Check): Definition["configs"] {
  if (given === undefined) {
    const term: Term = { config: shared };
    if (!isPlain(shared)) check(name, term);
    return [term];
  }
  const terms: Term[] = [];
  for (const [plan, fields] of isObject(given) ? Object.entries(given as Record<string, unknown>) : []) {
    // Rows and queues store it, and a call without a plan must not find one.
    checkName(plan, `Rate limit ${show(name)}: the name of a plan`);
    if (!isObject(fields)) throw fieldError(name, `plan ${show(plan)}`, "an object", fields);
    // The rows of a bucket are split as its limit says, under every plan.
    if ("shards" in fields) throw fieldError(name, "shards", "left out of a plan: plans share it", fields.shards);
    const term: Term = { plan, config: { ...shared, ...fields } };
    try {
      check(name, term);
    } catch (error) {
      const problem = (error as Error).message.replace(`Rate limit ${show(name)}: `, "");
      throw misuseError(name, `plan ${show(plan)}: ${problem}`);
    }
    terms.push(term);
    checkBucketOf(name, `plan ${show(plan)}`, term.config, terms[0]?.config);
  }
  const [first, ...others] = terms;
  if (!first) throw fieldError(name, "plans", "an object of one or more plans by name", given);
  return [first, ...others];
}

/**
 * Calls of a bucket on several rows read one of them, so that no other bucket may lie between: one of another kind, or
 * of windows of another period.
 * @throws when a config would have a bucket of its own beside that of a limit with `shards`.
 */
export function checkBucketOf(name: string, field: string, config: RateLimitConfig, own = config): void {
  const { shards = 1 } = own;
  // Windows have a bucket for each kind and period.
  const [got, permitted] = [config, own].map((each) =>
    bucketNameOf(each) === undefined ? each.kind : `${each.kind} with period ${show(each.period)}`,
  );
  if (shards === 1 || got === permitted) return;
  throw misuseError(name, `${field} must be a ${permitted}, since the limit has shards, got a ${got}.`);
}

/** The config of each plan, or the only one, as they are sent. */
export function plansOf({ configs }: Definition): NamedPlan[] {
  return configs.map(({ limit: _, ...own }) => own);
}

/** What a limit's queue needs to know of its definition; undefined for a limit without a queue. */
export function queueTermsOf(
  definitions: { get: (name: string) => Definition | undefined },
  name: string,
): QueueTerms | undefined {
  const own = definitions.get(name);
  if (!own?.queue) return undefined;
  const { with: counts = {}, ...queue } = own.queue;
  // Sorted, since terms are compared.
  const others = Object.entries(counts)
    .sort()
    .flatMap(([other, count = 0]) => {
      const definition = definitions.get(other);
      return definition
        ? [{ name: other, count, isShared: definition.keyed === false, configs: plansOf(definition) }]
        : [];
    });
  const buckets = others.length > 0 && { with: others };
  return { name, queue, configs: plansOf(own), ...buckets };
}

/**
 * Checks the limits that the jobs of a queue also take from.
 * @throws when one is not defined, has a queue, is not enforced, has keys or plans that do not fit those of the queue's
 * limit, or can never pay for a job.
 */
export function checkWith(name: string, own: Definition, get: (name: string) => Definition | undefined): void {
  for (const [other, count] of Object.entries(own.queue?.with ?? {})) {
    const definition = other === name ? undefined : get(other);
    const needs = (what: string, got: unknown) => fieldError(name, `queue.with.${other}`, `a limit ${what}`, got);
    if (!definition) throw needs("that you define, other than the queue's own", other);
    const { queue, mode, keyed, configs } = definition;
    if (queue) throw needs("without a queue", { queue });
    if (mode === "shadow") throw needs("that is enforced", { mode });
    if (keyed && !own.keyed) throw needs("without keyed: true, since the queue's own is not keyed: true", { keyed });
    // A job waits under the plan that it names.
    const plans = configs.flatMap(({ plan }) => plan ?? []);
    if (plans.length > 0 && !own.configs.every(({ plan = "" }) => plans.includes(plan))) {
      throw needs("without plans, or with all plans of the queue's own", { plans });
    }
    for (const { config } of configs) checkCount(name, other, count, config);
  }
}

/**
 * The term that holds in a call; the first plan's, if a call may leave the plan out and does.
 * @throws when the limit has plans and the call names none of them, or it has none and the call names one.
 */
export function termUnder(name: string, { configs }: Definition, plan: string | undefined, isRequired: boolean) {
  const [first] = configs;
  const found = plan === undefined && !isRequired ? first : configs.find((own) => own.plan === plan);
  if (found) return found;
  const known = configs.map((own) => show(own.plan)).join(" or ");
  throw fieldError(name, "plan", first.plan === undefined ? "left out (the limit has no plans)" : known, plan);
}
