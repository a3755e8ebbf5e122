/** Config → parsed limit. Optional and unchecked fields end here: behind `parseLimit` every field is present and valid. */
import type { RateLimitConfig } from "../configs.js";
import { checkFields } from "./fields.js";
import { KINDS } from "./kinds/index.js";
import type { Limit } from "./kinds/kind.js";
import { fieldError } from "./misuse.js";
import { checkName } from "./names.js";

/**
 * Parses the config of the bucket without a key; `forKey` gives that of any other.
 * @throws when a field is missing, unknown or out of range, naming the limit, the field, the value and the range.
 */
export function parseLimit(name: string, config: RateLimitConfig): Limit {
  checkName(name);
  // The types forbid it, JavaScript does not.
  const given: unknown = config;
  if (typeof given !== "object" || given === null) throw fieldError(name, "config", "an object", config);
  // typeof: an array of one string would pass for its element.
  const kind = typeof config.kind === "string" && Object.hasOwn(KINDS, config.kind) ? KINDS[config.kind] : undefined;
  if (!kind) {
    const known = Object.keys(KINDS).map((one) => `"${one}"`);
    throw fieldError(name, "kind", known.join(" or "), config.kind);
  }
  checkFields(name, `a ${kind.name}`, config, kind.fields);
  return kind.parse({ name, config });
}
