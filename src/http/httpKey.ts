/** The key of a caller that the app knows by an id: for admins. */
import { fieldError } from "../engine/misuse.js";
import { callerAddress } from "./address.js";
import { boundedKey, customPrefix, hashed } from "./keys.js";

/**
 * The key under which a source counts a caller: for `overrideRateLimit`, `resetRateLimit` and `getRateLimit`. A source's
 * `keyOf(ctx, request)` gives the same for a request.
 *
 * @param source - `"apiKey"`, `"bearer"`, `"identity"`, `"address"`, or the prefix of a `custom` source.
 * @param id - the API key or token, or `{ hash }` if you stored its SHA-256; the `tokenIdentifier`; the address, or the network that
 *   `callerAddress` gave; the value.
 * @example
 * ```ts
 * import { httpKey } from "convex-rate-limits/http";
 *
 * export const keys = [await httpKey("apiKey", { hash: "ba78…" }), await httpKey("address", "198.51.100.7")];
 * ```
 * @throws when the address is none.
 */
export async function httpKey(source: string, id: string | { hash: string }): Promise<string> {
  const keyOf = Object.hasOwn(OWN_KEYS, source) ? OWN_KEYS[source] : undefined;
  if (keyOf) return await keyOf(id);
  return `${customPrefix(source)}:${await boundedKey(id as string)}`;
}

type MakeKey = (id: string | { hash: string }) => string | Promise<string>;
const hashOf = async (id: string | { hash: string }) => (typeof id === "object" ? id.hash : await hashed(id));

/** By the name of a source, how its keys are made. */
const OWN_KEYS: Readonly<Record<string, MakeKey>> = {
  apiKey: async (id) => `apikey:${await hashOf(id)}`,
  bearer: async (id) => `bearer:${await hashOf(id)}`,
  identity: async (id) => `identity:${await boundedKey(id as string)}`,
  address(id) {
    const caller = typeof id === "string" && id.includes("/") ? id : callerAddress(id as string);
    if (caller === undefined) throw fieldError("httpKey", "id", "an IP address", id);
    return `address:${caller}`;
  },
};
