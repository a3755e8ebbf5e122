/**
 * Key sources: who is calling? Each source's keys begin with a prefix of its own, so that no header can name a bucket of another
 * source, and are at most 64 printable characters after it, whatever was sent.
 */
import { checkFields, type Fields } from "../engine/fields.js";
import { fieldError, misuseError, show } from "../engine/misuse.js";
import { hashKey } from "../client/hashKey.js";
import { callerAddress, type Ipv6Prefix, ipv6PrefixField } from "./address.js";
import { BadRequestError } from "./badRequest.js";
import type { HttpCtx } from "./ctx.js";
import { checkHeaderName } from "./fields.js";

/** Reads a caller's key from a request; undefined when it is not there, is empty, or is not what it should be. */
export interface KeySource {
  readonly read: (ctx: HttpCtx, request: Request) => Promise<string | undefined>;
}

/** Checks a secret before it counts as a key: given its SHA-256 in hex, is it one that was issued? */
export interface SecretOptions {
  known?: (ctx: HttpCtx, hash: string) => boolean | Promise<boolean>;
}

/** Longer values are hashed. A digest with its mark is longer than this, so no value can pass for another's digest. */
const MAX_VALUE = 64;

/**
 * A source of your own: a session id, a route, a tenant.
 *
 * @param prefix - sets this source's keys apart: letters, digits, "-" and "_".
 * @param read - gives the value; undefined, null or "" when there is none.
 */
export function byValue(prefix: string, read: ReadValue): KeySource {
  if (!/^[\w-]{1,64}$/.test(prefix)) {
    throw misuseError(prefix, "a key's prefix must be made of 1 to 64 letters, digits, - and _.");
  }
  // The types forbid anything else, JavaScript does not.
  const given: unknown = read;
  if (typeof given !== "function") throw fieldError(prefix, "read", "a function of ctx and request", given);
  return source(`own.${prefix}`, read);
}

type Value = string | null | undefined;
type ReadValue = (ctx: HttpCtx, request: Request) => Value | Promise<Value>;

/**
 * The value of a header. Only for headers that your own gateway sets and strips from what clients send: a client that can
 * choose the value can choose its bucket.
 */
export function byHeader(name: string): KeySource {
  checkHeaderName("byHeader", name);
  return source(`header.${name.toLowerCase()}`, (_ctx, request) => request.headers.get(name));
}

/** The token of `Authorization: Bearer …`, as its SHA-256. See `byApiKey` for `known`. */
export function byBearer(options: SecretOptions = {}): KeySource {
  checkFields("byBearer", "byBearer", options, SECRET_FIELDS);
  return secret("bearer", options, (request) => {
    const authorization = request.headers.get("Authorization") ?? "";
    return /^Bearer +([\w.~+/-]+=*)$/i.exec(authorization.trim())?.[1];
  });
}

/**
 * An API key from a header (default `X-Api-Key`), as its SHA-256: the secret itself is not stored.
 *
 * Without `known` every invented key is a new, full bucket. Either say which keys were issued, or let a second limit by address
 * hold back those who invent them.
 */
export function byApiKey(options: SecretOptions & { header?: string } = {}): KeySource {
  checkFields("byApiKey", "byApiKey", options, { header: text, ...SECRET_FIELDS });
  const { header = "X-Api-Key" } = options;
  checkHeaderName("byApiKey", header);
  return secret("apikey", options, (request) => request.headers.get(header) ?? undefined);
}

/** A slip in `known` would take every invented key for an issued one. */
const SECRET_FIELDS: Fields = {
  known: { permitted: "a function of ctx and hash", holds: (value) => typeof value === "function" },
};
const text = { permitted: "a string", holds: (value: unknown) => typeof value === "string" };

/** Where `byAddress` reads the address, and how much of an IPv6 address counts. */
export type AddressOptions = (
  { trustedProxies: number | "platform"; header?: undefined } | { header: string; trustedProxies?: undefined }
) & {
  /** The bits of an IPv6 address that stand for one caller, 32 to 64, default 56; false: the whole address. */
  ipv6Prefix?: Ipv6Prefix;
};

/**
 * The caller's address; an IPv6 address counts as the network that contains it.
 *
 * @param options.trustedProxies - how many proxies of your own stand before the deployment, at least 1. Each appends the
 *   address it was called from to `X-Forwarded-For`, so the caller is that many places from the right; what stands further
 *   left was written by the caller and is not read. `"platform"` takes the address that Convex reports
 *   (`ctx.meta.getRequestMetadata()`), which is only as good as the proxies before it.
 * @param options.header - instead: a header that your own proxy sets to the address, such as `cf-connecting-ip`, and removes
 *   from what clients send.
 * @throws when an option is out of range.
 */
export function byAddress(options: AddressOptions): KeySource {
  checkFields("address", "byAddress", options, ADDRESS_FIELDS);
  const { trustedProxies, header, ipv6Prefix } = options;
  if (header !== undefined) {
    // The types forbid both, JavaScript does not.
    const other: unknown = trustedProxies;
    if (other !== undefined) throw misuseError("address", "takes trustedProxies or header, not both.");
    checkHeaderName("address", header);
    return source("address", (_ctx, request) => callerAddress(request.headers.get(header), ipv6Prefix));
  }
  if (trustedProxies === "platform") {
    return source("address", async ({ meta }) => callerAddress((await meta.getRequestMetadata()).ip, ipv6Prefix));
  }
  // The types forbid neither, JavaScript does not.
  const given: unknown = trustedProxies;
  if (given === undefined) {
    throw fieldError("address", "trustedProxies", ADDRESS_FIELDS.trustedProxies.permitted, given);
  }
  return source("address", (_ctx, request) => {
    const hops = (request.headers.get("X-Forwarded-For") ?? "").split(",");
    return callerAddress(hops.at(-trustedProxies), ipv6Prefix);
  });
}

const ADDRESS_FIELDS = {
  trustedProxies: {
    permitted: 'a whole number of at least 1, or "platform"',
    holds: (value: unknown) => value === "platform" || (Number.isInteger(value) && (value as number) >= 1),
  },
  header: text,
  ipv6Prefix: ipv6PrefixField,
} satisfies Fields;

/** The signed-in user, by `ctx.auth`: the identity's `tokenIdentifier`. */
export function byIdentity(): KeySource {
  return source("identity", async ({ auth }) => {
    try {
      return (await auth.getUserIdentity())?.tokenIdentifier;
    } catch {
      // A token that cannot be read identifies nobody; its sender must not be able to cause a 503 with it.
      return undefined;
    }
  });
}

function secret(prefix: string, { known }: SecretOptions, read: (request: Request) => string | undefined): KeySource {
  return {
    read: async (ctx, request) => {
      const value = read(request);
      if (value === undefined || value === "") return undefined;
      const hash = await hashed(value);
      return !known || (await known(ctx, hash)) ? `${prefix}:${hash}` : undefined;
    },
  };
}

/** `prefix` contains no colon, so the first colon ends it. */
function source(prefix: string, read: ReadValue): KeySource {
  return {
    read: async (ctx, request) => {
      const value = (await read(ctx, request)) ?? "";
      // The types forbid anything else, JavaScript does not: `[object Object]` would be one bucket for all.
      const given: unknown = value;
      if (typeof given !== "string") throw new Error(`The key source "${prefix}" must give text, got ${show(given)}.`);
      return value === "" ? undefined : `${prefix}:${await boundedKey(value)}`;
    },
  };
}

/** The value, or its hash where it is long or not plain. @throws BadRequestError when it is not well-formed. */
export async function boundedKey(value: string): Promise<string> {
  return value.length <= MAX_VALUE && /^[\x20-\x7e]*$/.test(value) ? value : `#${await hashed(value)}`;
}

/** hashKey refuses what is not well-formed; that came with the request. */
async function hashed(value: string): Promise<string> {
  if (/\p{Surrogate}/u.test(value)) throw new BadRequestError("The caller's key is not well-formed text.");
  return await hashKey(value);
}
