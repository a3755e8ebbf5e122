/** Config → parsed limit. Optional and unchecked fields end here: behind `parseLimit` every field is present and valid. */
import type { RateLimitConfig } from "../wire/configs.js";
import { checkConfig } from "./kinds/fields.js";
import { KINDS } from "./kinds/index.js";
import type { Limit } from "./kinds/kind.js";
import { isPlain } from "./kinds/plain.js";
import { checkName } from "./names.js";

/**
 * Parses the config of the bucket without a key; `forKey` gives that of any other.
 * @throws when a field is missing, unknown or out of range, naming the limit, the field, the value and the range.
 */
export function parseLimit(name: string, config: RateLimitConfig): Limit {
  checkName(name);
  if (!isPlain(config)) checkConfig(name, config);
  return parseChecked(name, config);
}

/** The same of a name and a config that have been checked. */
export function parseChecked(name: string, config: RateLimitConfig): Limit {
  const kind = KINDS[config.kind];
  if (!kind) throw new Error(`Rate limit kind ${config.kind} has fields but no parser.`);
  return kind.parse(name, config);
}
