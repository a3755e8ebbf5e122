/** Header fields: their names, and how fields are added to a response that has some already. */
import { type Field, isObject, isPermitted } from "../engine/fields.js";

export type HeaderFields = Readonly<Record<string, string>>;

/** `Headers` itself would refuse another name only at the first request. */
export const headerNameField: Field = {
  permitted: "the name of a header field",
  holds: (value) => typeof value === "string" && isPermitted(headerFields, { [value]: "" }),
};

export const headerFields: Field = {
  permitted: "an object of header fields",
  holds(value) {
    if (!isObject(value)) return false;
    try {
      return Boolean(new Headers(value as HeaderFields));
    } catch {
      return false;
    }
  },
};

/** The response with more fields. Its own stay, but lists are appended to, and the later `Retry-After` is sent. */
export function withFields(response: Response, fields: HeaderFields): Response {
  const { status, statusText, body } = response;
  // Response.error(), or a site's own status such as 999: no such response can be made, or needs to be.
  if (status < 200 || status > 599) return response;
  // A response with a body is used once, so it can be changed; a copy of it would lose its Content-Length on Convex.
  if (body !== null) {
    try {
      add(response.headers, fields);
      return response;
    } catch {
      // The headers of a response that was fetched cannot be changed.
    }
  }
  const headers = new Headers(response.headers);
  add(headers, fields);
  return new Response(body, { status, statusText, headers });
}

/** An inner limiter, or an upstream, may have set the fields of limits. */
function add(headers: Headers, fields: HeaderFields): void {
  const [given, before] = [new Headers(fields), new Headers(headers)];
  for (const [name, added] of given) {
    const known = before.get(name) ?? "";
    const isList =
      LISTS.includes(name) || (name === "ratelimit" && [known, added].every((list) => list.startsWith('"')));
    if (isList) headers.set(name, withItems(known, added));
    else if (name === "retry-after" ? waitOf(known) < waitOf(added) : !known || OF_LIMITS.test(name)) {
      // The other fields of limits describe one limit: the tighter. An upstream's state may lack a field that ours has.
      const theirs = remainingIn(before, name);
      if (theirs === Infinity || theirs > remainingIn(given, name)) headers.set(name, added);
    }
  }
  const exposed = [...headers.keys()].filter((name) => OF_LIMITS.test(name));
  if (exposed.length > 0) headers.set(EXPOSE, withItems(headers.get(EXPOSE) ?? "", exposed.join(", ")));
}

const EXPOSE = "access-control-expose-headers";
const OF_LIMITS = /^(x-)?ratelimit(-|$)|^retry-after$/;
const LISTS: readonly string[] = [EXPOSE, "vary", "ratelimit-policy"];

/** A list, with the items whose names it lacks: a policy that is there already was charged later. */
function withItems(known: string, added: string): string {
  const names = itemsOf(known).map(nameOf);
  const missing = itemsOf(added).filter((item) => !names.includes(nameOf(item)));
  return [...(known ? [known] : []), ...missing].join(", ");
}

/** A string of a list, or what begins as one: if each quote could begin another, long fields would take seconds. */
const STRING = /"(?:[^"\\]|\\.)*"?/g;

/** The items of a list: a comma within a string separates nothing. */
export function itemsOf(list: string): string[] {
  return list.match(new RegExp(`(?:${STRING.source}|[^,"])+`, "g"))?.map((item) => item.trim()) ?? [];
}

/** An item without what its strings hold. */
export function withoutStrings(item: string): string {
  return item.replace(STRING, "");
}

/** The name of a policy, or all of another item: before draft 8 policies had no names. */
function nameOf(item: string): string {
  return /^"(?:[^"\\]|\\.)*"/.exec(item)?.[0] ?? item.toLowerCase();
}

function waitOf(retryAfter: string): number {
  const wait = /^\d+$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1000;
  return Number.isNaN(wait) ? -Infinity : wait;
}

/** The remaining tokens by the fields of the same format, which describe one limit; Infinity if they do not say. */
function remainingIn(headers: Headers, name: string): number {
  const said =
    name === "ratelimit"
      ? /remaining=(\d+)/.exec(headers.get(name) ?? "")?.[1]
      : headers.get(name.replace(/-[^-]*$/, "-remaining"));
  return Number(said ?? Infinity);
}
