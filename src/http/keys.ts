/** Key sources identify the caller. Each source's keys begin with its own prefix: no header names another's bucket. */
import { checkField, checkFields, type Fields, isFunction, isPermitted, required } from "../engine/fields.js";
import { fieldError, misuseError, show } from "../engine/misuse.js";
import { hashKey } from "../client/hashKey.js";
import { badRequest } from "./answers.js";
import { callerAddress, type Ipv6Prefix, ipv6PrefixField } from "./address.js";
import { headerNameField } from "./fields.js";
import { type HttpCtx, isText, type KeySource } from "./request.js";

type Read = (ctx: HttpCtx, request: Request) => string | null | undefined | Promise<string | null | undefined>;

/**
 * A source of your own: a session id, a tenant, a header that your gateway sets. A client that can choose the value
 * chooses its bucket.
 * @param prefix - sets this source's keys apart: letters, digits, "-" and "_".
 * @param read - gives the value; undefined, null or "" when there is none.
 * @throws when the prefix has other characters, or is that of another source.
 */
export function custom(prefix: string, read: Read): KeySource {
  if (!isFunction(read)) throw fieldError({ of: "custom" }, "read", "a function of ctx and request", read);
  return source(customPrefix(prefix), read);
}

function customPrefix(prefix: string): string {
  const names = Object.keys(WRITERS);
  // In any case: keys begin with "apikey", so that is what an admin may ask for.
  const isFree = isText(prefix) && !names.some((name) => name.toLowerCase() === prefix.toLowerCase());
  if (isFree && /^[\w-]{1,64}$/.test(prefix)) return `own.${prefix}`;
  const permitted = `made of 1 to 64 letters, digits, - and _, and none of ${names.join(", ")}`;
  throw fieldError({ of: "A key source" }, "its prefix", permitted, prefix);
}

/** `known` gets the SHA-256 of a secret, in hex, and says whether it was issued; only then it counts as a key. */
interface SecretOptions {
  known?: (ctx: HttpCtx, hash: string) => boolean | Promise<boolean>;
}

/** The token of `Authorization: Bearer …`, as its SHA-256. See `apiKey` for `known`. */
export function bearer(options: SecretOptions = {}): KeySource {
  return secret("bearer", options, {}, (_ctx, { headers }) => {
    return /^Bearer +([\w.~+/-]+=*)$/i.exec(headers.get("Authorization")?.trim() ?? "")?.[1];
  });
}

/**
 * An API key from a header (default `X-Api-Key`), as its SHA-256: the secret itself is not stored. Without `known`
 * every invented key is a new, full bucket: then let a second limit by address hold back those who invent them.
 */
export function apiKey(options: SecretOptions & { header?: string } = {}): KeySource {
  const read: Read = (_ctx, { headers }) => headers.get(options.header ?? "X-Api-Key")?.trim();
  return secret("apiKey", options, { header: headerNameField }, read);
}

function secret(name: string, options: SecretOptions, fields: Fields, read: Read): KeySource {
  // A misspelt `known` would take every invented key for an issued one.
  const known: Fields = { known: { permitted: "a function of ctx and hash", holds: isFunction } };
  checkFields({ of: name }, name, options, { ...fields, ...known });
  return source(name.toLowerCase(), read, async (value, ctx) => {
    const hash = await hashed(value);
    return !options.known || (await options.known(ctx, hash)) ? hash : undefined;
  });
}

/** `ipv6Prefix`: the bits of an IPv6 address that stand for one caller, 32 to 64, default 56; false: all of them. */
type AddressOptions = { ipv6Prefix?: Ipv6Prefix } & (
  | { trustedProxies: number | "platform"; header?: undefined }
  | { header: string; trustedProxies?: undefined }
);

/**
 * The caller's address; an IPv6 address counts as the network that contains it.
 *
 * @param options.trustedProxies - how many trusted proxies stand before the deployment, 1 to 100: the caller's
 * address is that many places from the right of `X-Forwarded-For`. `"platform"`: the first entry, which Convex reports.
 * @param options.header - instead: a header that your own proxy sets, and removes from what clients send.
 * @throws when an option is out of range.
 */
export function address(options: AddressOptions): KeySource {
  const of = { of: "address" };
  checkFields(of, "address", options, ADDRESS_FIELDS);
  const { trustedProxies, header, ipv6Prefix } = options;
  // The types forbid both, JavaScript does not.
  const isBoth = [trustedProxies, header].every((given) => given !== undefined);
  if (isBoth) throw misuseError(of, "takes trustedProxies or header, not both.");
  if (header === undefined) checkField(of, "trustedProxies", required(ADDRESS_FIELDS.trustedProxies), trustedProxies);
  const read: Read = async ({ meta }, { headers }) => {
    if (trustedProxies === undefined) return headers.get(header);
    if (trustedProxies === "platform") return (await meta.getRequestMetadata()).ip;
    return headers.get("X-Forwarded-For")?.split(",").at(-trustedProxies);
  };
  return source("address", read, (text) => callerAddress(text, ipv6Prefix));
}

const ADDRESS_FIELDS = {
  trustedProxies: { atLeast: 1, atMost: 100, isWhole: true, oneOf: ["platform"] },
  header: {
    permitted: "the name of a header field other than Forwarded (RFC 7239), which is not read",
    holds: (value: unknown) => isPermitted(headerNameField, value) && !/^forwarded$/i.test(value as string),
  },
  ipv6Prefix: ipv6PrefixField,
} satisfies Fields;

/** The signed-in user, by the identity's `tokenIdentifier`. With Convex Auth that is the session: use `custom`. */
export function identity(): KeySource {
  const read = async ({ auth }: HttpCtx) => await auth.getUserIdentity();
  // A token that cannot be read identifies nobody; its sender must not be able to cause a 503 with it.
  return source("identity", async (ctx) => (await read(ctx).catch(() => null))?.tokenIdentifier);
}

/**
 * The key under which a source counts a caller, for admins. An address counts by the default `ipv6Prefix`.
 *
 * @param source - `"apiKey"`, `"bearer"`, `"identity"`, `"address"`, the prefix of a `custom` source, or `"caller"` for
 *   the key that `identify` gave.
 * @param id - the API key or token, or `{ hash }` of one; the `tokenIdentifier`; the address, or what `callerAddress`
 *   gave; the value.
 * @example
 * ```ts
 * import { httpKey } from "convex-rate-limits/http";
 *
 * export const keysOf = async (hash: string) => [await httpKey("apiKey", { hash }), await httpKey("bearer", "abc")];
 * ```
 * @throws when `id` is no text, its hash is no SHA-256, or the address is none.
 */
export async function httpKey(source: string, id: string | { hash: string }): Promise<string> {
  const write = Object.hasOwn(WRITERS, source) ? WRITERS[source] : undefined;
  const isSecret = write === hashed;
  const said = isSecret && typeof id === "object" ? (id as Partial<typeof id> | null)?.hash : id;
  const isHash = said === id || (isText(said) && /^[\da-f]{64}$/.test(said));
  if (!isText(said) || !isHash) {
    const hash = ", or { hash }: the SHA-256 of one, in 64 hexadecimal digits, 0 to 9 and a to f";
    throw fieldError({ of: "httpKey" }, "id", `text${isSecret ? hash : ""}`, id);
  }
  const prefix = write ? source.toLowerCase() : customPrefix(source);
  const written = said === id ? await (write ?? boundedKey)(said) : said;
  if (written === undefined) throw fieldError({ of: "httpKey" }, "id", "an IP address", id);
  return `${prefix}:${written}`;
}

/** How the sources of this file write an id, after a prefix that is their name in small letters. */
const WRITERS: Readonly<Record<string, (id: string) => string | undefined | Promise<string>>> = {
  apiKey: hashed,
  bearer: hashed,
  identity: boundedKey,
  // A network is what callerAddress gave.
  address: (id) => (id.includes("/") ? id : callerAddress(id)),
  caller: boundedKey,
};

/** `prefix` contains no colon, so the first colon ends it. */
function source(
  prefix: string,
  read: Read,
  write: (value: string, ctx: HttpCtx) => string | undefined | Promise<string | undefined> = boundedKey,
): KeySource {
  return {
    keyOf: async (ctx, request) => {
      // The types forbid anything but text, JavaScript does not: `[object Object]` would be one bucket for all.
      const value: unknown = (await read(ctx, request)) ?? "";
      if (!isText(value)) throw new Error(`The key source "${prefix}" must give text, got ${show(value)}.`);
      const written = value === "" ? undefined : await write(value, ctx);
      return written && `${prefix}:${written}`;
    },
  };
}

/** The value, or its hash if it is not plain or longer than 64 characters. */
export async function boundedKey(value: string): Promise<string> {
  // A digest with its mark is longer, so no value passes for one. hashKey refuses what is no text.
  return isText(value) && /^[\x20-\x7e]{0,64}$/.test(value) ? value : `#${await hashed(value)}`;
}

/** @throws RefusedError when the value is not well-formed: that came with the request. */
async function hashed(value: string): Promise<string> {
  if (/\p{Surrogate}/u.test(value)) throw badRequest("The caller's key is not well-formed text.");
  return await hashKey(value);
}
