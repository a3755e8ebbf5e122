/** The common form of a config, told at a glance. */
import { CALENDAR_MS } from "./policy.js";

/** Every config in whole numbers up to these can be counted: a property test holds this. */
const PLAIN_TOKENS = 1e9;
const PLAIN_PERIOD_MS = 1e12;

/**
 * Whether a config surely is valid: whole numbers of a common size. A quick look without tables, which are slow to
 * make: the component checks the config of every call, and an app may define hundreds of limits in a module that every
 * function imports.
 * @param flags - whether it may be a definition, which has more fields.
 */
export function isPlain(given: unknown, flags = false): boolean {
  if (typeof given !== "object" || given === null) return false;
  const fields = given as Readonly<Record<string, unknown>>;
  const { kind, rate, period } = fields as { kind?: unknown; rate?: unknown; period?: unknown };
  const saves = kind !== "sliding window";
  if (kind !== "token bucket" && kind !== "fixed window" && saves) return false;
  if (typeof rate !== "number" || !(rate >= 1 && rate <= PLAIN_TOKENS && rate % 1 === 0)) return false;
  if (typeof period === "number") {
    if (!(period >= 1 && period <= PLAIN_PERIOD_MS && period % 1 === 0)) return false;
  } else if (kind !== "fixed window" || typeof period !== "string" || !Object.hasOwn(CALENDAR_MS, period)) return false;
  let required = 0;
  for (const field in fields) {
    if (field === "kind" || field === "rate" || field === "period") {
      required++;
      continue;
    }
    const value = fields[field];
    if (typeof value === "boolean") {
      if (!flags || (field !== "keyed" && field !== "throws")) return false;
    } else if (field === "maxReserved" || (field === "capacity" && saves)) {
      if (typeof value !== "number" || !(value >= 1 && value <= PLAIN_TOKENS && value % 1 === 0)) return false;
    } else if (field !== "shards" || value !== "auto") return false;
  }
  // A field that a copy would not have does not count.
  return required === 3;
}
