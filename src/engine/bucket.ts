/** A bucket, and the plan or config that its rows were written under: a call without plan or config uses it. */
import type { RateLimitConfig } from "../wire/configs.js";
import type { Limit } from "./kinds/kind.js";
import { parseLimit } from "./kinds/limit.js";
import { damageError, misuseError, show } from "./misuse.js";

/** A plan as a row holds it: its name, or the config of a call. */
export type StoredPlan = string | RateLimitConfig;

/** A plan of a definition. */
export interface NamedPlan {
  readonly plan: string;
  readonly config: RateLimitConfig;
}

/** A limit at a key, and what is known of its terms. */
export interface Bucket {
  /** The limit's. */
  readonly name: string;
  readonly limit: Limit;
  readonly key: string | undefined;
  /** The plan or config that its rows were written under, unless that is a plain definition. */
  readonly plan?: StoredPlan | undefined;
  /** For a call without plan or config: the plans of the definition. The stored plan decides. */
  readonly plans?: readonly NamedPlan[];
  /** Whether calls ask for an override of its limit. */
  readonly isOverridable?: boolean;
}

/** A config as a row holds it: rows stay what the limit's own `shards` says. */
export function storedConfig(config: RateLimitConfig): RateLimitConfig {
  const fields = Object.entries(config).filter(([field, value]) => field !== "shards" && value !== undefined);
  return Object.fromEntries(fields) as unknown as RateLimitConfig;
}

/** Whether two configs are equal as rows hold them: the order of their fields does not count. */
export function areEqual(one: RateLimitConfig, other: Partial<RateLimitConfig> = {}): boolean {
  const fields = Object.keys({ ...one, ...other }) as (keyof RateLimitConfig)[];
  return fields.every((field) => one[field] === other[field]);
}

/**
 * The bucket as its rows say, unless the call has said what holds.
 * @throws when they name a plan that is not defined, or their config cannot be used.
 */
export function asWritten<Own extends Bucket>(bucket: Own, stored: StoredPlan | undefined): Own {
  const { name, limit, key, plans } = bucket;
  // A deploy may have taken all plans away: no call could name one then.
  if (!plans || stored === undefined || (plans.length === 0 && typeof stored === "string")) return bucket;
  const { shards } = limit.config;
  const config =
    typeof stored === "string"
      ? plans.find(({ plan }) => plan === stored)?.config
      : { ...stored, ...(shards !== undefined && { shards }) };
  if (config) return { ...bucket, limit: storedLimit(bucket, config), plan: stored };
  const whose = key === undefined ? "the bucket" : `the bucket of key ${show(key)}`;
  throw misuseError(name, `${whose} is under plan ${show(stored)}, which is not defined: say the plan in the call.`);
}

/** @throws when a config that rows hold cannot be used. */
export function storedLimit({ name, key }: Pick<Bucket, "name" | "key">, config: RateLimitConfig): Limit {
  try {
    const limit = parseLimit(name, config);
    return limit.kind.forKey?.(limit, key) ?? limit;
  } catch (error) {
    throw damageError(name, key, `the stored config is unusable (${(error as Error).message})`);
  }
}
