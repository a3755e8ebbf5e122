/** A bucket, and the plan or config that its rows were written under: a call without plan or config uses it. */
import type { RateLimitConfig } from "../wire/configs.js";
import type { Limit } from "./kinds/kind.js";
import { parseLimit } from "./kinds/limit.js";
import { bucketNameOf } from "./kinds/policy.js";
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
 * The bucket as the row that was written last says, unless the call has said what holds. If a deploy has taken the
 * row's plan away, the first plan with its bucket holds, or the first of all: a page that shows a customer's quota must
 * not break until he calls again.
 * @throws when a stored config cannot be used.
 */
export function asWritten<Own extends Bucket>(bucket: Own, row: Written | undefined): Own {
  const { plans, limit } = bucket;
  if (!plans || !row || (row.plan === undefined && row.bucket === limit.bucket)) return bucket;
  const { plan: stored } = row;
  if (typeof stored === "object") return { ...bucket, limit: limitUnder(bucket, stored), plan: stored };
  const found =
    plans.find(({ plan }) => plan !== undefined && plan === stored) ??
    plans.find(({ config }) => bucketNameOf(config) === row.bucket);
  return found ? { ...bucket, limit: limitUnder(bucket, found.config), plan: found.plan } : bucket;
}

/** What a row says of its terms. */
interface Written extends Pick<Bucket, "plan"> {
  readonly bucket?: string | undefined;
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
