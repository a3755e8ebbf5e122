// @vitest-environment edge-runtime
import type { UserIdentity } from "convex/server";
import fc from "fast-check";
import { hashKey } from "convex-rate-limits";
import {
  address,
  apiKey,
  bearer,
  custom,
  type HttpCtx,
  httpKey,
  identity,
  type KeySource,
} from "convex-rate-limits/http";
import { describe, expect, it, vi } from "vitest";

function requestWith(headers: Record<string, string>): Request {
  return new Request("https://api.example/", { headers });
}

/** As much of an action's ctx as the sources look at. */
function ctxWith({ ip = null, identity }: { ip?: string | null; identity?: () => UserIdentity | null } = {}): HttpCtx {
  return {
    auth: { getUserIdentity: async () => await Promise.resolve(identity?.() ?? null) },
    meta: { getRequestMetadata: async () => await Promise.resolve({ ip }) },
  } as unknown as HttpCtx;
}

async function read(source: KeySource, headers: Record<string, string>, ctx = ctxWith()): Promise<string | undefined> {
  return await source.keyOf(ctx, requestWith(headers));
}

const byTenant = custom("tenant", (_ctx, request) => request.headers.get("X-Tenant"));
const ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

it("a key that is not well-formed text is the client's fault, not a key", async () => {
  const source = custom("name", () => "\ud800");
  await expect(read(source, {})).rejects.toThrow("not well-formed");
});

describe("a value of one's own", () => {
  it("is the key, whatever the case of its name", async () => {
    expect(await read(byTenant, { "x-tenant": "acme" })).toBe("own.tenant:acme");
  });

  it("that is missing or empty is a miss", async () => {
    expect(await read(byTenant, {})).toBeUndefined();
    expect(await read(byTenant, { "X-Tenant": " " })).toBeUndefined();
  });

  it("that is oversized or not ASCII is hashed, so that keys stay short and plain", async () => {
    for (const value of ["a".repeat(65), "a".repeat(60_000), "größe", "a\tb"]) {
      const key = await read(byTenant, { "X-Tenant": value });
      expect(key).toMatch(/^own\.tenant:#[0-9a-f]{64}$/);
    }
    expect(await read(byTenant, { "X-Tenant": "a".repeat(64) })).toBe(`own.tenant:${"a".repeat(64)}`);
  });

  it("cannot pass for the hash of another value", async () => {
    const long = "a".repeat(65);
    const key = await read(byTenant, { "X-Tenant": long });
    const forged = await read(byTenant, { "X-Tenant": `#${await hashKey(long)}` });
    expect(forged).not.toBe(key);
  });
});

describe("a secret", () => {
  it("is stored as its digest only", async () => {
    expect(await read(apiKey(), { "X-Api-Key": "abc" })).toBe(`apikey:${ABC}`);
    expect(await read(apiKey({ header: "X-Token" }), { "X-Token": "abc" })).toBe(`apikey:${ABC}`);
    expect(await read(bearer(), { Authorization: "Bearer abc" })).toBe(`bearer:${ABC}`);
    expect(await read(bearer(), { Authorization: "bearer  abc " })).toBe(`bearer:${ABC}`);
  });

  it.each(["", "Bearer", "Bearer ", "Basic abc", "abc", "Bearer a b", "Bearer a,b", "Bearer ä", "Bearer ="])(
    "is not in the Authorization header %j",
    async (authorization) => {
      expect(await read(bearer(), { Authorization: authorization })).toBeUndefined();
    },
  );

  it("that was never issued is a miss", async () => {
    const known = async (_ctx: HttpCtx, digest: string) => await Promise.resolve(digest === ABC);
    expect(await read(apiKey({ known }), { "X-Api-Key": "abc" })).toBe(`apikey:${ABC}`);
    expect(await read(apiKey({ known }), { "X-Api-Key": "abd" })).toBeUndefined();
    expect(await read(apiKey({ known }), {})).toBeUndefined();
    expect(await read(bearer({ known }), { Authorization: "Bearer abd" })).toBeUndefined();
  });
});

describe("the caller's address", () => {
  const forwarded = (value: string, trustedProxies = 1) =>
    read(address({ trustedProxies }), { "X-Forwarded-For": value });

  it("is as many places from the right as there are trusted proxies", async () => {
    expect(await forwarded("198.51.100.1")).toBe("address:198.51.100.1");
    expect(await forwarded("203.0.113.7, 198.51.100.1")).toBe("address:198.51.100.1");
    expect(await forwarded("203.0.113.7, 198.51.100.1", 2)).toBe("address:203.0.113.7");
  });

  it("does not change with what the caller writes further left", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme-ascii", maxLength: 200 }), async (spoofed) => {
        expect(await forwarded(`${spoofed}, 198.51.100.1`)).toBe("address:198.51.100.1");
        expect(await forwarded(`${spoofed}, 203.0.113.7, 198.51.100.1`, 2)).toBe("address:203.0.113.7");
      }),
    );
  });

  it("is a miss when there are fewer hops than proxies, or the hop is no address", async () => {
    expect(await read(address({ trustedProxies: 1 }), {})).toBeUndefined();
    expect(await forwarded("198.51.100.1", 2)).toBeUndefined();
    expect(await forwarded("203.0.113.7, unknown")).toBeUndefined();
    expect(await forwarded("203.0.113.7,")).toBeUndefined();
  });

  it("is a /56 in IPv6 and IPv4 where that is mapped", async () => {
    expect(await forwarded("[2001:db8::1]:443")).toBe("address:2001:db8::/56");
    expect(await forwarded("::ffff:198.51.100.1")).toBe("address:198.51.100.1");
  });

  it("is as long a prefix as is chosen", async () => {
    const headers = { "X-Forwarded-For": "2001:db8:1:2:3:4:5:6" };
    const of = async (ipv6Prefix: number | false) => await read(address({ trustedProxies: 1, ipv6Prefix }), headers);
    expect(await of(64)).toBe("address:2001:db8:1:2::/64");
    expect(await of(48)).toBe("address:2001:db8:1::/48");
    expect(await of(false)).toBe("address:2001:db8:1:2:3:4:5:6");
    for (const ipv6Prefix of [31, 65, 56.5, NaN, true as unknown as number]) {
      expect(() => address({ trustedProxies: 1, ipv6Prefix })).toThrow(
        'Rate limit "address": ipv6Prefix must be a whole number from 32 to 64, or false',
      );
    }
  });

  it("may come from a header of the proxy, read like any other address", async () => {
    const source = address({ header: "CF-Connecting-IP" });
    const of = async (address: string) => await read(source, { "cf-connecting-ip": address });
    expect(await of("::ffff:198.51.100.1")).toBe("address:198.51.100.1");
    expect(await of("2001:db8::1")).toBe("address:2001:db8::/56");
    expect(await of("not an address")).toBeUndefined();
    expect(await read(source, { "X-Forwarded-For": "198.51.100.1" })).toBeUndefined();
    // @ts-expect-error: which of the two?
    expect(() => address({ header: "X-Real-IP", trustedProxies: 1 })).toThrow("trustedProxies or header, not both");
  });

  it("is what the platform says, if that is trusted", async () => {
    const platform = address({ trustedProxies: "platform" });
    const headers = { "X-Forwarded-For": "203.0.113.7" };
    expect(await read(platform, headers, ctxWith({ ip: "198.51.100.1" }))).toBe("address:198.51.100.1");
    expect(await read(platform, headers, ctxWith({ ip: null }))).toBeUndefined();
  });

  it("needs a number of proxies that says something", () => {
    for (const trustedProxies of [0, -1, 1.5, NaN, undefined as unknown as number]) {
      expect(() => address({ trustedProxies })).toThrow("trustedProxies must be a whole number of at least 1");
    }
  });
});

describe("an identity", () => {
  const ada = { tokenIdentifier: "https://auth.example|ada", subject: "ada", issuer: "https://auth.example" };

  it("is its token identifier", async () => {
    expect(await read(identity(), {}, ctxWith({ identity: () => ada }))).toBe("identity:https://auth.example|ada");
  });

  it("is a miss when nobody is signed in, or the token cannot be read", async () => {
    const unreadable = () => {
      throw new Error("Could not parse the token");
    };
    expect(await read(identity(), {})).toBeUndefined();
    expect(await read(identity(), {}, ctxWith({ identity: unreadable }))).toBeUndefined();
  });
});

it("a source of one's own has its own prefix", async () => {
  const byRoute = custom("route", (_ctx, request) => new URL(request.url).pathname);
  expect(await read(byRoute, {})).toBe("own.route:/");
  expect(() => custom("a:b", () => "c")).toThrow("letters, digits");
  expect(() => custom("", () => "c")).toThrow("letters, digits");
  expect(() => custom("p".repeat(65), () => "c")).toThrow("1 to 64 letters");
});

it("no value can name a bucket of another source", async () => {
  const sources: [string, KeySource][] = [
    ["X-Tenant", byTenant],
    ["X-Other", custom("other", (_ctx, request) => request.headers.get("X-Other"))],
    ["X-Api-Key", apiKey()],
    ["X-Own", custom("own", (_ctx, request) => request.headers.get("X-Own") ?? undefined)],
    ["X-Forwarded-For", address({ trustedProxies: 1 })],
  ];
  const value = fc.oneof(
    fc.string({ unit: "grapheme-ascii", minLength: 1 }),
    fc.ipV4(),
    fc.constantFrom("own.tenant:a", "shared:anonymous", `apikey:${ABC}`, "address:203.0.113.7", `#${ABC}`),
  );
  const anySource = fc.constantFrom(...sources);
  await fc.assert(
    fc.asyncProperty(anySource, anySource, value, value, async ([name, source], [name2, source2], sent, sent2) => {
      fc.pre(name !== name2);
      const key = await read(source, { [name]: sent });
      const key2 = await read(source2, { [name2]: sent2 });
      if (key !== undefined && key2 !== undefined) expect(key).not.toBe(key2);
      expect(key ?? "").not.toMatch(/^shared:/);
      // The longest prefix here is "own.tenant:", the longest value a marked digest.
      expect((key ?? "").length).toBeLessThanOrEqual(16 + 65);
    }),
  );
});

describe("for admins", () => {
  it("httpKey gives the key under which a source counts a caller, as the source itself does", async () => {
    const headers = { "X-Api-Key": "abc", Authorization: "Bearer abc", "X-Tenant": "a".repeat(65) };
    const from = { "X-Forwarded-For": "2001:db8:1:2::3" };
    expect(await httpKey("apiKey", "abc")).toBe(await read(apiKey(), headers));
    expect(await httpKey("apiKey", { hash: ABC })).toBe(await read(apiKey(), headers));
    expect(await httpKey("bearer", "abc")).toBe(await read(bearer(), headers));
    expect(await httpKey("tenant", "a".repeat(65))).toBe(await read(byTenant, headers));
    expect(await httpKey("identity", "https://auth.example|ada")).toBe("identity:https://auth.example|ada");
    expect(await httpKey("address", "2001:db8:1:2::3")).toBe(await read(address({ trustedProxies: 1 }), from));
    expect(await httpKey("address", "2001:db8:1::/64")).toBe("address:2001:db8:1::/64");
    await expect(httpKey("address", "nowhere")).rejects.toThrow("id must be an IP address");
  });

  it("a source of one's own cannot take the name of another", () => {
    for (const name of ["apiKey", "bearer", "identity", "address"]) {
      expect(() => custom(name, () => "a")).toThrow("none of apiKey, bearer, identity, address");
    }
  });
});

it("Forwarded is refused as a header, and said once if it is all that a request has", async () => {
  expect(() => address({ header: "Forwarded" })).toThrow("Forwarded (RFC 7239), which is not read");
  const warn = vi.spyOn(console, "warn").mockReturnValue();
  const source = address({ trustedProxies: 1 });
  for (let i = 0; i < 3; i++) expect(await read(source, { Forwarded: "for=192.0.2.1" })).toBeUndefined();
  expect(warn).toHaveBeenCalledOnce();
  warn.mockRestore();
});
