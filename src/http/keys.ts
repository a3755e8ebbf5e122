/**
 * Key sources: who is calling? Each source's keys begin with a prefix of its own, so that no header can name a bucket of another
 * source, and are at most 64 printable characters after it, whatever was sent.
 */
import { misuseError } from "../engine/misuse.js";
import { callerAddress } from "./address.js";
import type { HttpCtx } from "./ctx.js";
import { digestOf } from "./digest.js";

/** Reads a caller's key from a request; undefined when it is not there, is empty, or is not what it should be. */
export interface KeySource {
  readonly read: (ctx: HttpCtx, request: Request) => Promise<string | undefined>;
}

/** Checks a secret before it counts as a key: given its SHA-256 in hex, is it one that was issued? */
export interface SecretOptions {
  known?: (ctx: HttpCtx, digest: string) => boolean | Promise<boolean>;
}

/** Longer values are hashed. A digest with its mark is longer than this, so no value can pass for another's digest. */
const MAX_VALUE = 64;

/**
 * A source of your own: a session id, a route, a tenant.
 *
 * @param prefix - sets this source's keys apart: letters, digits, "-" and "_".
 * @param read - gives the value; undefined or "" when there is none.
 */
export function byValue(
  prefix: string,
  read: (ctx: HttpCtx, request: Request) => string | undefined | Promise<string | undefined>,
): KeySource {
  if (!/^[\w-]+$/.test(prefix)) throw misuseError(prefix, "a key's prefix must be made of letters, digits, - and _.");
  return source(`own.${prefix}`, read);
}

/**
 * The value of a header. Only for headers that your own gateway sets and strips from what clients send: a client that can
 * choose the value can choose its bucket.
 */
export function byHeader(name: string): KeySource {
  return source(`header.${name.toLowerCase()}`, (_ctx, request) => request.headers.get(name) ?? undefined);
}

/** The token of `Authorization: Bearer …`, as its SHA-256. See `byApiKey` for `known`. */
export function byBearer(options: SecretOptions = {}): KeySource {
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
export function byApiKey({ header = "X-Api-Key", ...options }: SecretOptions & { header?: string } = {}): KeySource {
  return secret("apikey", options, (request) => request.headers.get(header) ?? undefined);
}

/**
 * The caller's address; an IPv6 address counts as its /64.
 *
 * @param options.trustedProxies - how many proxies of your own stand before the deployment, at least 1. Each appends the
 *   address it was called from to `X-Forwarded-For`, so the caller is that many places from the right; what stands further
 *   left was written by the caller and is not looked at. `"platform"` takes the address that Convex reports
 *   (`ctx.meta.getRequestMetadata()`), which is only as good as the proxies before it.
 */
export function byAddress({ trustedProxies }: { trustedProxies: number | "platform" }): KeySource {
  if (trustedProxies === "platform") {
    return source("address", async ({ meta }) => callerAddress((await meta.getRequestMetadata()).ip ?? ""));
  }
  if (!(Number.isInteger(trustedProxies) && trustedProxies >= 1)) {
    throw misuseError(
      "address",
      `trustedProxies must be a whole number of at least 1, or "platform", got ${trustedProxies}.`,
    );
  }
  return source("address", (_ctx, request) => {
    const hops = (request.headers.get("X-Forwarded-For") ?? "").split(",");
    return callerAddress(hops.at(-trustedProxies) ?? "");
  });
}

/** The signed-in user, by `ctx.auth`: the identity's `tokenIdentifier`. */
export function byIdentity(): KeySource {
  return source("identity", async ({ auth }) => {
    try {
      return (await auth.getUserIdentity())?.tokenIdentifier;
    } catch {
      // A token that cannot be read identifies nobody; whoever sent it must not be able to cause a 503 with it.
      return undefined;
    }
  });
}

function secret(prefix: string, { known }: SecretOptions, read: (request: Request) => string | undefined): KeySource {
  return {
    read: async (ctx, request) => {
      const value = read(request);
      if (value === undefined || value === "") return undefined;
      const digest = await digestOf(value);
      return !known || (await known(ctx, digest)) ? `${prefix}:${digest}` : undefined;
    },
  };
}

/** `prefix` contains no colon, so the first colon ends it. */
function source(
  prefix: string,
  read: (ctx: HttpCtx, request: Request) => string | undefined | Promise<string | undefined>,
): KeySource {
  return {
    read: async (ctx, request) => {
      const value = await read(ctx, request);
      return value === undefined || value === "" ? undefined : `${prefix}:${await bounded(value)}`;
    },
  };
}

async function bounded(value: string): Promise<string> {
  return value.length <= MAX_VALUE && /^[\x20-\x7e]*$/.test(value) ? value : `#${await digestOf(value)}`;
}
