// @vitest-environment edge-runtime
import type { UserIdentity } from "convex/server";
import { hashKey } from "convex-rate-limits";
import { address, apiKey, bearer, custom, httpKey, identity } from "convex-rate-limits/http";
import type { HttpCtx, KeySource } from "convex-rate-limits/http";
import { expect, it } from "vitest";

/** The fields of an action's ctx that the key sources read. */
function ctxWith({ ip = null, identity }: { ip?: string | null; identity?: () => UserIdentity | null } = {}): HttpCtx {
  return {
    auth: { getUserIdentity: async () => await Promise.resolve(identity?.() ?? null) },
    meta: { getRequestMetadata: async () => await Promise.resolve({ ip }) },
  } as unknown as HttpCtx;
}

async function read(source: KeySource, headers: Record<string, string>, ctx = ctxWith()): Promise<string | undefined> {
  return await source.keyOf(ctx, new Request("https://api.example/", { headers }));
}

const byTenant = custom("tenant", (_ctx, request) => request.headers.get("X-Tenant"));
const byRoute = custom("route", (_ctx, request) => new URL(request.url).pathname);
const long = "a".repeat(65);
const ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const known = async (_ctx: HttpCtx, digest: string) => await Promise.resolve(digest === ABC);
const one = address({ trustedProxies: 1 });
const two = address({ trustedProxies: 2 });
const prefix = (ipv6Prefix: number | false) => address({ trustedProxies: 1, ipv6Prefix });
const byProxy = address({ header: "CF-Connecting-IP" });
const platform = address({ trustedProxies: "platform" });
const ada = { tokenIdentifier: "https://auth.example|ada", subject: "ada", issuer: "https://auth.example" };
const unreadable = () => {
  throw new Error("Could not parse the token");
};
const signedIn = ctxWith({ identity: () => ada });
const from = ctxWith({ ip: "198.51.100.1" });
const hops = (value: string) => ({ "X-Forwarded-For": value });
const cf = (value: string) => ({ "cf-connecting-ip": value });
const tenant = (value: string) => ({ "X-Tenant": value });
const bearing = (value: string) => ({ Authorization: value });
/** What a client may send itself: proxies add their entries at the right. */
const SPOOFED = "192.0.2.9,, unknown, [::1]:80";

type Row = [what: string, KeySource, headers: Record<string, string>, key: string | RegExp | undefined, ctx?: HttpCtx];
it.each<Row>([
  ["a custom value, from a header name in another case", byTenant, { "x-tenant": "acme" }, "own.tenant:acme"],
  ["a value that is missing", byTenant, {}, undefined],
  ["an empty value", byTenant, tenant(" "), undefined],
  ["64 characters", byTenant, tenant("a".repeat(64)), `own.tenant:${"a".repeat(64)}`],
  ["65 characters: a hash, so that keys stay short", byTenant, tenant(long), /^own\.tenant:#[0-9a-f]{64}$/],
  ["text that is not ASCII: a hash, so that keys stay plain", byTenant, tenant("größe"), /^own\.tenant:#[0-9a-f]{64}$/],
  ["a control character", byTenant, tenant("a\tb"), /^own\.tenant:#[0-9a-f]{64}$/],
  ["a value from the request", byRoute, {}, "own.route:/"],
  ["an API key, as its digest only", apiKey(), { "X-Api-Key": "abc" }, `apikey:${ABC}`],
  ["an API key in another header", apiKey({ header: "X-Token" }), { "X-Token": "abc" }, `apikey:${ABC}`],
  ["an API key that was issued", apiKey({ known }), { "X-Api-Key": "abc" }, `apikey:${ABC}`],
  ["an API key that was never issued", apiKey({ known }), { "X-Api-Key": "abd" }, undefined],
  ["no API key", apiKey({ known }), {}, undefined],
  ["a bearer token, as its digest only", bearer(), bearing("Bearer abc"), `bearer:${ABC}`],
  ["a bearer token in another spelling", bearer(), bearing("bearer  abc "), `bearer:${ABC}`],
  ["a bearer token that was never issued", bearer({ known }), bearing("Bearer abd"), undefined],
  ...["", "Bearer", "Bearer ", "Basic abc", "abc", "Bearer a b", "Bearer a,b", "Bearer ä", "Bearer ="].map(
    (value): Row => ["no token", bearer(), bearing(value), undefined],
  ),
  ["an address", one, hops("198.51.100.1"), "address:198.51.100.1"],
  ["the last hop, whatever is further left: one proxy", one, hops(`${SPOOFED}, 198.51.100.1`), "address:198.51.100.1"],
  ["the last hop but one: two proxies", two, hops(`${SPOOFED}, 203.0.113.7, 198.51.100.1`), "address:203.0.113.7"],
  ["no hops", one, {}, undefined],
  ["no hops but Forwarded, which is not read", one, { Forwarded: "for=192.0.2.1" }, undefined],
  ["fewer hops than proxies", two, hops("198.51.100.1"), undefined],
  ["a hop that is no address", one, hops("203.0.113.7, unknown"), undefined],
  ["an empty hop", one, hops("203.0.113.7,"), undefined],
  ["a header of the proxy, read like any other address", byProxy, cf("::ffff:198.51.100.1"), "address:198.51.100.1"],
  ["a header of the proxy with IPv6", byProxy, cf("2001:db8::1"), "address:2001:db8::/56"],
  ["a header of the proxy without an address", byProxy, cf("not an address"), undefined],
  ["another header than the proxy's", byProxy, hops("198.51.100.1"), undefined],
  ["the platform's address, if that is trusted", platform, hops("203.0.113.7"), "address:198.51.100.1", from],
  ["a platform that gives no address", platform, hops("203.0.113.7"), undefined],
  ["an identity: its token identifier", identity(), {}, "identity:https://auth.example|ada", signedIn],
  ["a caller that is not signed in", identity(), {}, undefined],
  ["a token that cannot be read", identity(), {}, undefined, ctxWith({ identity: unreadable })],
  ["a token that is refused at once", identity(), {}, undefined, { auth: { getUserIdentity: unreadable } } as never],
])("the key of %s", async (_, source, headers, expected, ctx = ctxWith()) => {
  const key = await read(source, headers, ctx);
  if (expected instanceof RegExp) expect(key).toMatch(expected);
  else expect(key).toBe(expected);
});

type Refused = [string, () => unknown, string];
const noPrefix = "address: ipv6Prefix must be a whole number at least 32 and at most 64, or false";
const noProxies = 'trustedProxies must be a whole number at least 1 and at most 100, or "platform"';
// @ts-expect-error: header and trustedProxies exclude each other.
const undecided = () => address({ header: "X-Real-IP", trustedProxies: 1 });
it.each<Refused>([
  ...[31, 65, 56.5, NaN, true as never].map((bits): Refused => {
    return [`an IPv6 prefix of ${bits}`, () => prefix(bits), noPrefix];
  }),
  ...[0, -1, 1.5, 101, NaN, undefined as never].map((trustedProxies): Refused => {
    return [`${trustedProxies} proxies`, () => address({ trustedProxies }), noProxies];
  }),
  ["a header and proxies", undecided, "trustedProxies or header, not both"],
  ["Forwarded", () => address({ header: "Forwarded" }), "Forwarded (RFC 7239), which is not read"],
  ...["a:b", "", "p".repeat(65), undefined, null, 7, true].map((wrong): Refused => {
    return [`the prefix ${wrong}`, () => custom(wrong as never, () => "c"), "made of 1 to 64 letters, digits, - and _"];
  }),
  ...["apiKey", "apikey", "bearer", "identity", "address", "caller"].map((name): Refused => {
    return [`the built-in prefix ${name}`, () => custom(name, () => "a"), "apiKey, bearer, identity, address"];
  }),
])("%s is refused", (_, make, message) => {
  expect(make).toThrow(message);
});

it("a value cannot pass for the hash of another value", async () => {
  expect(await read(byTenant, tenant(`#${await hashKey(long)}`))).not.toBe(await read(byTenant, tenant(long)));
});

it("httpKey returns the key under which a source counts a caller", async () => {
  const headers = { "X-Api-Key": "abc", ...bearing("Bearer abc"), ...tenant(long), ...hops("2001:db8::3") };
  const sources: [string, string | { hash: string }, KeySource][] = [
    ["bearer", "abc", bearer()],
    ["apiKey", "abc", apiKey()],
    ["apiKey", { hash: ABC }, apiKey()],
    ["tenant", long, byTenant],
    ["identity", ada.tokenIdentifier, identity()],
    ["address", "2001:db8::3", one],
  ];
  for (const [name, id, source] of sources) {
    expect(await httpKey(name, id), name).toBe(await read(source, headers, signedIn));
  }
  expect(await httpKey("caller", long)).toBe(`caller:#${await hashKey(long)}`);
  expect(await httpKey("address", "2001:db8:1::/64")).toBe("address:2001:db8:1::/64");
  await expect(httpKey("address", "nowhere")).rejects.toThrow("id must be an IP address");
  await expect(httpKey("address", { hash: "1.2.3.4" })).rejects.toThrow("id must be text");
  for (const wrong of [undefined, null, 7, true, "a:b", "apikey"])
    await expect(httpKey(wrong as never, "a")).rejects.toThrow("A key source: its prefix must be made of");
});

it.each(["", "ABC", "abc", ABC.toUpperCase(), ` ${ABC}`])("httpKey refuses %j as a hash", async (hash) => {
  await expect(httpKey("bearer", { hash })).rejects.toThrow("id must be text, or { hash }: the SHA-256 of one, in 64");
});

it.each([undefined, null, 7n, { hash: 7 }, ["a"]])("httpKey refuses an id that is not text: %s", async (id) => {
  const message = /^httpKey: id must be text(, or \{ hash \}.*)?, got /;
  for (const source of ["tenant", "identity", "address", "apiKey", "bearer"])
    await expect(httpKey(source, id as never), source).rejects.toThrow(message);
});

it("an API key has one bucket, also in a runtime whose Headers keep the spaces around a value", async () => {
  const keyOf = (value: string) => apiKey().keyOf(ctxWith(), { headers: { get: () => value } } as unknown as Request);
  expect(await Promise.all(["abc", " abc", "abc\t "].map(keyOf))).toEqual(new Array(3).fill(`apikey:${ABC}`));
  expect(await keyOf(" ")).toBeUndefined();
});
