/** A definition, and its plans: each is a config of its own, chosen by name with each call. */
import { booleanField, checkField, type Field, isObject } from "../engine/fields.js";
import { isPlain } from "../engine/kinds/plain.js";
import { bucketNameOf } from "../engine/kinds/policy.js";
import { fieldError, misuseError, show } from "../engine/misuse.js";
import { checkName } from "../engine/names.js";
import type { NamedPlan } from "../engine/bucket.js";
import { checkCount, checkQueueConfig } from "../queue/terms.js";
import type { QueueTerms, RateLimitConfig } from "../wire/configs.js";
import { present } from "../wire/present.js";
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
  const shared: Definition = { config, keyed, throws, mode, queue };
  if (isCommon) return shared;
  checkField(name, "keyed", booleanField, keyed);
  checkField(name, "throws", throwsField, throws);
  checkField(name, "mode", modeField, mode);
  if (mode === "shadow" && queue) {
    throw misuseError(name, 'mode: "shadow" and queue cannot be combined: its jobs would still wait.');
  }
  if (queue !== undefined) checkQueueConfig(name, queue);
  if (plans === undefined && !isPlain(config)) check(name, shared);
  const definition = plans === undefined ? shared : { ...shared, plans: parsePlans(name, plans, shared, check) };
  checkSlots(name, definition);
  return definition;
}
type Check = (name: string, definition: Definition) => void;

/** @throws when slots have a queue, or only some plans have slots: the configs have been checked. */
function checkSlots(name: string, definition: Definition): void {
  const plans = configsOf(definition);
  const others = plans.filter(({ config }) => !("lease" in config));
  if (others.length === plans.length) return;
  if (definition.queue) {
    throw misuseError(name, 'queue must be left out with kind "concurrency": nobody knows when a slot is free.');
  }
  for (const { config } of others) {
    throw fieldError(name, "kind", 'the same in all plans if one is "concurrency"', config.kind);
  }
}

/** @throws when they are no plans, one is invalid, or they would not share one bucket that may be split. */
function parsePlans(name: string, given: unknown, shared: Definition, check: Check): ReadonlyMap<string, Definition> {
  const parsed = new Map<string, Definition>();
  for (const [plan, fields] of isObject(given) ? Object.entries(given as Record<string, unknown>) : []) {
    // Rows and queues store it, and a call without a plan must not find one.
    checkName(plan, `Rate limit ${show(name)}: the name of a plan`);
    if (!isObject(fields)) throw fieldError(name, `plan ${show(plan)}`, "an object", fields);
    // All plans of a key are one bucket, on the same rows.
    if ("shards" in fields) throw fieldError(name, "shards", "left out of a plan: plans share it", fields.shards);
    const definition = { ...shared, config: { ...shared.config, ...fields } };
    try {
      check(name, definition);
    } catch (error) {
      const problem = (error as Error).message.replace(`Rate limit ${show(name)}: `, "");
      throw misuseError(name, `plan ${show(plan)}: ${problem}`);
    }
    parsed.set(plan, definition);
    const [first] = parsed.values();
    checkBucketOf(name, `plan ${show(plan)}`, definition.config, first?.config);
  }
  if (parsed.size === 0) throw fieldError(name, "plans", "an object of one or more plans by name", given);
  return parsed;
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

/** The config of each plan, or the only one, as they are sent: only a definition may say that a field is undefined. */
export function configsOf({ config, plans }: Pick<Definition, "config" | "plans">): NamedPlan[] {
  return plans
    ? Array.from(plans, ([plan, own]) => ({ plan, config: present(own.config) }))
    : [{ config: present(config) }];
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
        ? [{ name: other, count, isShared: definition.keyed === false, configs: configsOf(definition) }]
        : [];
    });
  const buckets = others.length > 0 && { with: others };
  return { name, queue: present(queue), configs: configsOf(own), ...buckets };
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
    const { queue, mode, keyed, plans } = definition;
    if (queue) throw needs("without a queue", { queue });
    if (mode === "shadow") throw needs("that is enforced", { mode });
    if (keyed && !own.keyed) throw needs("without keyed: true, since the queue's own is not keyed: true", { keyed });
    // A job waits under the plan that it names.
    if (plans && !(own.plans && [...own.plans.keys()].every((plan) => plans.has(plan)))) {
      throw needs("without plans, or with all plans of the queue's own", { plans: [...plans.keys()] });
    }
    for (const { config } of configsOf(definition)) checkCount(name, other, count, config);
  }
}

/**
 * The definition that holds in a call; the first plan's, if a call may leave the plan out and does.
 * @throws when the limit has plans and the call names none of them, or it has none and the call names one.
 */
export function definitionUnder(name: string, definition: Definition, plan: string | undefined, isRequired: boolean) {
  const { plans } = definition;
  if (!plans) {
    if (plan === undefined) return definition;
    throw fieldError(name, "plan", "left out (the limit has no plans)", plan);
  }
  const [first] = plans.values();
  const found = plan === undefined && !isRequired ? first : plans.get(plan ?? "");
  if (found) return found;
  throw fieldError(name, "plan", Array.from(plans.keys(), show).join(" or "), plan);
}

export function planAndConfigError(name: string): Error {
  return misuseError(name, "plan and config cannot be combined: a plan is a config.");
}
