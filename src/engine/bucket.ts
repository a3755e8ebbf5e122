/** A bucket, and the plan or config that its rows were written under: a call without plan or config uses it. */
import type { RateLimitConfig } from "../wire/configs.js";
import type { Limit } from "./kinds/kind.js";
import { parseLimit } from "./kinds/limit.js";
import { damageError } from "./misuse.js";

/** A plan as a row holds it: its name, or the config of a call. */
export type StoredPlan = string | RateLimitConfig;

/** A plan of a definition; without a name the only config. */
export interface NamedPlan {
  readonly plan?: string | undefined;
  readonly config: RateLimitConfig;
}

/** A plan as the app's code has it, from a definition or a call: it was checked there, and is parsed once. */
export interface Term extends NamedPlan {
  limit?: Limit;
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
}

/** A config as a row holds it: rows stay what the limit's own `shards` says. */
export function storedConfig(config: RateLimitConfig): RateLimitConfig {
  const fields = Object.entries(config).filter(([field, value]) => field !== "shards" && value !== undefined);
  return Object.fromEntries(fields) as unknown as RateLimitConfig;
}

/**
 * The bucket as the row that was written last says, unless the call has said what holds. The first plan holds if a
 * deploy has taken the row's plan away: a page that shows a customer's quota must not break until he calls again.
 * @throws when a stored config cannot be used.
 */
export function asWritten<Own extends Bucket>(bucket: Own, stored: StoredPlan | undefined): Own {
  const { plans } = bucket;
  if (!plans || stored === undefined) return bucket;
  const named = plans.find(({ plan }) => plan === stored);
  const config = typeof stored === "string" ? named?.config : stored;
  return config ? { ...bucket, limit: limitUnder(bucket, config), plan: stored } : bucket;
}

/**
 * The limit of a bucket under another config, on the same rows. @throws when a config that rows hold cannot be used.
 */
export function limitUnder(
  { name, key, limit }: Pick<Bucket, "name" | "key" | "limit">,
  config: RateLimitConfig,
): Limit {
  const { shards } = limit.config;
  try {
    const parsed = parseLimit(name, { ...config, ...(shards !== undefined && { shards }) } as RateLimitConfig);
    return parsed.kind.forKey?.(parsed, key) ?? parsed;
  } catch (error) {
    throw damageError(name, key, `the stored config is unusable (${(error as Error).message})`);
  }
}

/** The name of a plan; a config of a call has none. */
export function nameOf(plan: StoredPlan | undefined): string | undefined {
  return typeof plan === "string" ? plan : undefined;
}
