/** Which key a limit uses, down to the case that there is none: that one is always spelt out. */
import { fieldError, misuseError, show } from "../engine/misuse.js";
import type { HttpCtx } from "./ctx.js";
import { checkField } from "../engine/fields.js";
import { headerFields } from "./fields.js";
import type { KeySource } from "./keys.js";

/** What happens to a request that no source has a key for. */
export type KeyEnd =
  | { readonly kind: "deny"; readonly status: 400 | 401 | 403; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: "shared"; readonly key: string };

/** The key of one request, or the refusal. */
export type ChosenKey = { readonly kind: "key"; readonly key: string | undefined } | (KeyEnd & { kind: "deny" });

/** Chooses the bucket of a limit for each request; made by `firstOf`, or `everyone`. */
export interface KeyChoice {
  readonly choose: (ctx: HttpCtx, request: Request) => Promise<ChosenKey>;
}

/** A caller without a key is refused, with this status and these header fields. @throws when no answer can have them. */
export function denyWith(status: 400 | 401 | 403, headers: Readonly<Record<string, string>> = {}): KeyEnd {
  if (![400, 401, 403].includes(status)) throw fieldError("denyWith", "status", "400, 401 or 403", status);
  checkField("denyWith", "headers", headerFields, headers);
  return { kind: "deny", status, headers };
}

/** A caller without a key is refused, with 403. */
export const deny: KeyEnd = denyWith(403);

/** Callers without a key share one bucket of this name. */
export function sharedBucket(name: string): KeyEnd {
  // The types forbid anything but text, JavaScript does not.
  const given: unknown = name;
  if (typeof given !== "string" || name === "" || name.length > 128 || /\p{Surrogate}/u.test(name)) {
    throw fieldError("sharedBucket", "the name", "well-formed text of 1 to 128 characters", given);
  }
  return { kind: "shared", key: `shared:${name}` };
}

/**
 * The key of the first source that has one; the end decides about requests for which none has.
 *
 * @example
 * ```ts
 * import { byAddress, byApiKey, deny, denyWith, firstOf, sharedBucket } from "convex-rate-limits/http";
 *
 * export const keys = [
 *   firstOf(byApiKey(), byAddress({ trustedProxies: 1 }), deny),
 *   firstOf(byApiKey(), denyWith(401, { "WWW-Authenticate": "Bearer" })),
 *   firstOf(byAddress({ trustedProxies: 1 }), sharedBucket("anonymous")),
 * ];
 * ```
 * @throws when there is no source, or no end.
 */
export function firstOf(...sourcesAndEnd: [KeySource, ...KeySource[], KeyEnd]): KeyChoice {
  const end = sourcesAndEnd.at(-1) as KeyEnd;
  const sources = sourcesAndEnd.slice(0, -1) as KeySource[];
  // Without an end, a request of nobody known would fall into the one bucket of everybody.
  if (!isEnd(end)) throw misuseError("firstOf", `must end in deny, denyWith(…) or sharedBucket(…), got ${show(end)}.`);
  if (sources.length === 0 || !sources.every(isSource)) {
    throw misuseError("firstOf", "needs sources before its end, such as byAddress({ trustedProxies: 1 }).");
  }
  return {
    choose: async (ctx, request) => {
      for (const source of sources) {
        const key = await source.read(ctx, request);
        if (key !== undefined) return { kind: "key", key };
      }
      return atEnd(end);
    },
  };
}

/** Whether it is one; the types forbid anything else, JavaScript does not. */
export function isEnd(end: unknown): end is KeyEnd {
  const { kind } = { ...(end as { kind?: unknown } | undefined) };
  return kind === "deny" || kind === "shared";
}

function isSource(source: unknown): source is KeySource {
  return typeof (source as Partial<KeySource> | null | undefined)?.read === "function";
}

/** What a request without a key gets. */
export function atEnd(end: KeyEnd): ChosenKey {
  return end.kind === "deny" ? end : { kind: "key", key: end.key };
}

/** Whether a key tells one caller from another; that of a shared bucket does not. */
export function isOfCaller(key: string | undefined): key is string {
  return key !== undefined && !key.startsWith("shared:");
}

/** One bucket for all callers: the limit of the whole service. */
export const everyone: KeyChoice = { choose: () => Promise.resolve({ kind: "key", key: undefined }) };
