/** Misuse: a bug in the calling code, always thrown, before anything is read or written. */

/** The message names the limit and says what is wrong. */
export function misuse(limit: string, problem: string): Error {
  return new Error(`Rate limit ${JSON.stringify(limit)}: ${problem}`);
}

/** The misuse of one field; `permitted` completes the sentence "<field> must be …". */
export function badField(limit: string, field: string, permitted: string, value: unknown): Error {
  return misuse(limit, `${field} must be ${permitted}, got ${show(value)}.`);
}

function show(value: unknown): string {
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  return typeof value === "string" || (typeof value === "object" && value !== null)
    ? JSON.stringify(value)
    : String(value);
}

/** What helps when stored state is unusable. */
export const REMEDY = "resetRateLimit makes the bucket full again.";
