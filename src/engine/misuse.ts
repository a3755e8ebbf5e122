/** Misuse: a bug in the calling code, always thrown, before anything is read or written. */

/** A longer value is cut off in a message. */
const SHOWN_CHARACTERS = 80;

/** What was misused: a limit, by its name, or a function that is of no limit. */
export type Subject = string | { readonly of: string };

/** The message names what was misused and says what is wrong. */
export function misuseError(subject: Subject, problem: string): Error {
  const name = typeof subject === "string" ? `Rate limit ${show(subject)}` : subject.of;
  return new Error(`${name}: ${problem}`);
}

/** The misuse of one field; `permitted` completes the sentence "<field> must be …". */
export function fieldError(subject: Subject, field: string, permitted: string, value: unknown): Error {
  return misuseError(subject, `${field} must be ${permitted}, got ${show(value)}.`);
}

/** The misuse of a function as a whole. */
export function needError(call: string, needed: string, got: unknown): Error {
  return new Error(`${call} needs ${needed}, got ${show(got)}.`);
}

/** Stored rows that this package cannot have written: nothing is let through until the bucket is reset. */
export function damageError(limit: string, key: string | undefined, problem: string): Error {
  const bucket = key === undefined ? "" : `the bucket of key ${show(key)} cannot be used: `;
  return misuseError(limit, `${bucket}${problem}, so nothing is let through. resetRateLimit makes it full again.`);
}

/**
 * @param needs - begins the message, and `instead` ends it.
 * @throws when a ctx is none, or lacks what a call uses: that of a query has no scheduler, say.
 */
export function checkCtx(ctx: unknown, field: string, needs: string, instead = ""): void {
  const part = typeof ctx === "object" && ctx !== null ? (ctx as Record<string, unknown>)[field] : undefined;
  if (typeof part === "function" || (typeof part === "object" && part !== null)) return;
  throw new Error(`${needs}, got ${show(ctx)} without ${field}.${instead}`);
}

/** Any value, as short text. Never throws. */
export function show(value: unknown): string {
  const text = inFull(value);
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}…`;
}

function inFull(value: unknown): string {
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value !== "string" && (typeof value !== "object" || value === null)) return String(value);
  try {
    // JSON itself writes NaN and infinity as null.
    const json: unknown = JSON.stringify(value, (_, part: unknown) =>
      typeof part === "number" && !Number.isFinite(part) ? String(part) : part,
    );
    return typeof json === "string" ? json : "an object";
  } catch {
    // A circle, a bigint inside, a proxy that throws.
    return "an object";
  }
}
