/** The header fields, one function for each format. When the draft changes, only this file does. */
import { fieldError, show } from "../engine/misuse.js";
import type { Fields } from "./fields.js";
import { byTightness, type Quota, secondsUntil } from "./quota.js";

/**
 * - `"draft-11"`: `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-11, structured fields.
 * - `"draft-7"`: `RateLimit-Policy`, and one `RateLimit` with limit, remaining and reset (seconds from now).
 * - `"draft-6"`: `RateLimit-Policy`, `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` (seconds from now).
 * - `"x"`: `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` (seconds since the epoch), as GitHub sends them.
 *
 * The latter three know one state only; they describe the tightest limit. The drafts share field names: choose one of them.
 */
export type RateLimitFormat = "draft-11" | "draft-7" | "draft-6" | "x";

export const FORMATS: Readonly<Record<RateLimitFormat, (quotas: readonly Quota[], now: number) => Fields>> = {
  "draft-11": draft11,
  "draft-7": draft7,
  "draft-6": draft6,
  x: xRateLimit,
};

/** A limit that is sent without its state sends the policy alone. */
function draft11(quotas: readonly Quota[], now: number): Fields {
  const denied = quotas.filter((quota) => quota.denied);
  // After a denial only the limits that denied are listed: Retry-After may not name a time before the end of a listed window.
  const listed = (denied.length > 0 ? denied : [...quotas]).sort(byTightness);
  const states = listed.flatMap(({ name, left, partitionKey }) =>
    left
      ? [{ value: name, parameters: { r: left.paced, t: secondsUntil(left.until, now), pk: bytes(partitionKey) } }]
      : [],
  );
  return {
    "RateLimit-Policy": writeList(
      quotas.map(({ name, quota, windowSeconds, partitionKey }) => ({
        value: name,
        parameters: { q: quota, w: windowSeconds, pk: bytes(partitionKey) },
      })),
    ),
    ...(states.length > 0 && { RateLimit: writeList(states) }),
  };
}

function bytes(partitionKey: string | undefined): Uint8Array | undefined {
  return partitionKey === undefined ? undefined : new TextEncoder().encode(partitionKey);
}

function draft7(quotas: readonly Quota[], now: number): Fields {
  const { quota, left } = tightest(quotas);
  return {
    ...unnamedPolicies(quotas),
    ...(left && {
      RateLimit: `limit=${quota}, remaining=${left.available}, reset=${secondsUntil(left.until, now)}`,
    }),
  };
}

function draft6(quotas: readonly Quota[], now: number): Fields {
  const { quota, left } = tightest(quotas);
  return {
    ...unnamedPolicies(quotas),
    "RateLimit-Limit": String(quota),
    ...(left && {
      "RateLimit-Remaining": String(left.available),
      "RateLimit-Reset": String(secondsUntil(left.until, now)),
    }),
  };
}

/** As drafts 6 and 7 had them: the quota is the item, and policies have no names. */
function unnamedPolicies(quotas: readonly Quota[]): Fields {
  return { "RateLimit-Policy": quotas.map(({ quota, windowSeconds }) => `${quota};w=${windowSeconds}`).join(", ") };
}

function xRateLimit(quotas: readonly Quota[]): Fields {
  const { quota, left } = tightest(quotas);
  return {
    "X-RateLimit-Limit": String(quota),
    ...(left && {
      "X-RateLimit-Remaining": String(left.available),
      "X-RateLimit-Reset": String(secondsUntil(left.until, 0)),
    }),
  };
}

function tightest(quotas: readonly Quota[]): Quota {
  return quotas.reduce((least, quota) => (byTightness(quota, least) < 0 ? quota : least));
}

/** These write the same fields, each in its own way. */
const DRAFTS: readonly RateLimitFormat[] = ["draft-11", "draft-7", "draft-6"];

/** @throws when a format is unknown, or two of them would overwrite each other's fields. */
export function checkFormats(name: string, formats: readonly RateLimitFormat[]): void {
  // JavaScript may pass anything.
  const given: unknown = formats;
  const known = Object.keys(FORMATS).map(show).join(", ");
  if (!Array.isArray(given) || !given.every((format) => Object.hasOwn(FORMATS, String(format)))) {
    throw fieldError(name, "formats", `a list of ${known}`, given);
  }
  const drafts = DRAFTS.filter((draft) => formats.includes(draft));
  if (drafts.length > 1) throw fieldError(name, "formats", "a list with one draft: they write the same fields", drafts);
}

/** Structured fields (RFC 9651): only the part that the RateLimit fields use. Tests parse it with a library. */
/** A whole number, a printable ASCII string, or bytes. */
type BareItem = number | string | Uint8Array;

/** A string item with its parameters, in order; an undefined parameter is left out. */
interface Item {
  readonly value: string;
  readonly parameters: Readonly<Record<string, BareItem | undefined>>;
}

function writeList(items: readonly Item[]): string {
  return items.map(writeItem).join(", ");
}

function writeItem({ value, parameters }: Item): string {
  const written = Object.entries(parameters).flatMap(([name, parameter]) =>
    parameter === undefined ? [] : [`;${name}=${writeBareItem(parameter)}`],
  );
  return writeBareItem(value) + written.join("");
}

function writeBareItem(item: BareItem): string {
  if (typeof item === "number") return String(item);
  if (typeof item === "string") return `"${item.replace(/["\\]/g, "\\$&")}"`;
  // Not spread: a long partition key would be too many arguments.
  return `:${btoa(Array.from(item, (byte) => String.fromCharCode(byte)).join(""))}:`;
}
