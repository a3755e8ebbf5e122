/** Misuse: a bug in the calling code, always thrown, before anything is read or written. */

/** What of a value fits into a message that a person reads. */
const SHOWN_CHARACTERS = 80;

/** The message names the limit and says what is wrong. */
export function misuse(limit: string, problem: string): Error {
  return new Error(`Rate limit ${show(limit)}: ${problem}`);
}

/** The misuse of one field; `permitted` completes the sentence "<field> must be …". */
export function badField(limit: string, field: string, permitted: string, value: unknown): Error {
  return misuse(limit, `${field} must be ${permitted}, got ${show(value)}.`);
}

/** Any value, as short text. Never throws, whatever the value. */
export function show(value: unknown): string {
  const text = inFull(value);
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}…`;
}

function inFull(value: unknown): string {
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value !== "string" && (typeof value !== "object" || value === null)) return String(value);
  try {
    const json: unknown = JSON.stringify(value);
    return typeof json === "string" ? json : "an object";
  } catch {
    // A circle, a bigint inside, a proxy that throws.
    return "an object";
  }
}

/** What helps when stored state is unusable. */
export const REMEDY = "resetRateLimit makes it full again.";
