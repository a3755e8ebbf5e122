/** Header fields: their names, and how fields are added to a response that has some already. */
import { type Field, isPermitted } from "../engine/fields.js";

export type HeaderFields = Readonly<Record<string, string>>;

/** `Headers` itself would refuse another name only at the first request. */
export const headerNameField: Field = { permitted: "the name of a header field", holds: isHeaderName };
export function isHeaderName(value: unknown): value is string {
  return typeof value === "string" && isPermitted(headerFields, { [value]: "" });
}

/** Header fields, as an object. */
export const headerFields: Field = {
  permitted: "an object of header fields",
  holds(value) {
    if (typeof value !== "object" || value === null) return false;
    try {
      return Boolean(new Headers(value as HeaderFields));
    } catch {
      return false;
    }
  },
};

/**
 * The response with additional header fields. It keeps its own fields, with two exceptions. Lists get longer: `Vary`,
 * `Access-Control-Expose-Headers`, and the RateLimit fields, which an inner limiter or an upstream may have set. The later
 * `Retry-After` is sent.
 */
export function withFields(response: Response, fields: HeaderFields): Response {
  const { status, statusText, body } = response;
  // Response.error() and the like: no such response can be made, or needs to be.
  if (status < 200) return response;
  // A response with a body is used once, so it can be changed; a copy of it would lose its Content-Length on Convex.
  if (body !== null && isChangeable(response.headers)) {
    add(response.headers, fields);
    return response;
  }
  const headers = new Headers(response.headers);
  add(headers, fields);
  return new Response(body, { status, statusText, headers });
}

/** The headers of a response that was fetched cannot be changed. */
function isChangeable(headers: Headers): boolean {
  try {
    headers.delete("RateLimit-Probe");
    return true;
  } catch {
    return false;
  }
}

function add(headers: Headers, fields: HeaderFields): void {
  const isTighter = remainingIn(new Headers(fields)) < remainingIn(headers);
  for (const [name, value] of Object.entries(fields)) {
    const known = headers.get(name);
    const merge = known === null ? undefined : MERGES[name.toLowerCase()];
    if (known === null) headers.set(name, value);
    else if (merge) headers.set(name, merge(known, value, isTighter));
    else if (OF_ONE_STATE.test(name) && isTighter) headers.set(name, value);
  }
  const exposed = [...headers.keys()].filter((name) => OF_LIMITS.test(name));
  if (exposed.length > 0) headers.set(EXPOSE, withItems(headers.get(EXPOSE) ?? "", exposed.join(", ")));
}

const EXPOSE = "access-control-expose-headers";
const OF_LIMITS = /^(x-)?ratelimit(-|$)|^retry-after$/;
/** The fields that describe one limit only: those of the tightest limit are sent. */
const OF_ONE_STATE = /^x-ratelimit-|^ratelimit-(?!policy)/i;

/** By the name of a field that both sides have, what is sent. */
const MERGES: Readonly<Record<string, (known: string, added: string, isTighter: boolean) => string>> = {
  [EXPOSE]: withItems,
  vary: withItems,
  "ratelimit-policy": withItems,
  ratelimit: (known, added, isTighter) => {
    if (known.startsWith('"') && added.startsWith('"')) return withItems(known, added);
    return isTighter ? added : known;
  },
  "retry-after": (known, added) => (waitOf(known) < waitOf(added) ? added : known),
};

/** A list, with the items whose names it lacks: a policy that is there already was charged later. */
function withItems(known: string, added: string): string {
  const names = itemsOf(known).map(nameOf);
  const missing = itemsOf(added).filter((item) => !names.includes(nameOf(item)));
  return [...(known ? [known] : []), ...missing].join(", ");
}

/** The items of a list: a comma within a string separates nothing. */
function itemsOf(list: string): string[] {
  return list.match(/(?:"(?:[^"\\]|\\.)*"|[^,"])+/g)?.map((item) => item.trim()) ?? [];
}

/** The name of a policy, or all of another item; drafts before 8 had no names, so that each of their items is another policy. */
function nameOf(item: string): string {
  return /^"(?:[^"\\]|\\.)*"/.exec(item)?.[0] ?? item.toLowerCase();
}

function waitOf(retryAfter: string): number {
  const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? -Infinity : seconds;
}

/** The remaining tokens by the fields that describe one limit; Infinity if there are none. */
function remainingIn(headers: Headers): number {
  const known = headers.get("X-RateLimit-Remaining") ?? headers.get("RateLimit-Remaining");
  return Number(known ?? /remaining=(\d+)/.exec(headers.get("RateLimit") ?? "")?.[1] ?? Infinity);
}
