/** The common form of a config, told at a glance. */

/** Every config in whole numbers up to these can be counted: a property test holds this. */
const PLAIN_TOKENS = 1e9;
const PLAIN_PERIOD_MS = 1e12;

/**
 * Whether a config surely is valid: whole numbers of a common size. A quick look without tables, which are slow to make: the component
 * checks the config of every call, and an app may define hundreds of limits in a module that every function imports.
 * @param flags - whether it may be a definition, which has more fields.
 */
export function isPlain(given: unknown, flags = false): boolean {
  if (typeof given !== "object" || given === null) return false;
  const fields = given as Readonly<Record<string, unknown>>;
  const { kind } = fields;
  const saves = kind !== "sliding window";
  if (kind !== "token bucket" && kind !== "fixed window" && saves) return false;
  let required = 0;
  for (const field in fields) {
    const value = fields[field];
    if (field === "rate" || field === "period") required++;
    if (typeof value === "number") {
      const isTokens = field === "rate" || field === "maxReserved" || (field === "capacity" && saves);
      const most = isTokens ? PLAIN_TOKENS : field === "period" ? PLAIN_PERIOD_MS : 0;
      if (!(value >= 1 && value <= most && value % 1 === 0)) return false;
    } else if (typeof value === "boolean") {
      if (!flags || (field !== "keyed" && field !== "throws" && field !== "overrides")) return false;
    } else if (field === "period") {
      if (kind !== "fixed window" || (value !== "day" && value !== "week" && value !== "month")) return false;
    } else if (field !== "kind" && (field !== "shards" || value !== "auto")) return false;
  }
  return required === 2;
}
