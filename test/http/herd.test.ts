/** Callers who are denied by a limit that they share are told different waits, each of them always the same one. */
import { SECOND } from "convex-rate-limits";
import {
  byHeader,
  byValue,
  deny,
  everyone,
  firstOf,
  type HttpCtx,
  type HttpLimit,
  limitHttp,
  sharedBucket,
} from "convex-rate-limits/http";
import { describe, expect, it } from "vitest";
import { served, useClock } from "./backend.js";

useClock();

const WAIT = 1000 * SECOND;
const config = { kind: "token bucket", rate: 1, period: WAIT } as const;
const denied = (limits: number) => async () => {
  const status = { ok: false as const, retryAt: Date.now() + WAIT, remaining: 0, resetAt: Date.now() + WAIT };
  return await Promise.resolve({ statuses: new Array(limits).fill(status) as (typeof status)[] });
};

interface Who {
  user?: string;
  address?: string;
  ip?: string | null;
}

/** The wait that a caller is told. */
async function waitOf(limits: HttpLimit[], { user, address, ip }: Who): Promise<number> {
  const headers = { ...(user && { "X-User": user }), ...(address && { "X-Forwarded-For": address }) };
  const getRequestMetadata = async () =>
    ip === undefined ? await Promise.reject(new Error("no metadata")) : await Promise.resolve({ ip });
  const ctx = { meta: { getRequestMetadata } } as unknown as HttpCtx;
  const action = limitHttp({ limits, consume: denied(limits.length), jitter: 1 }, served);
  const response = await action(ctx, new Request("https://api.example/", { headers }));
  expect(response.status).toBe(429);
  return Number(response.headers.get("Retry-After"));
}

const all: HttpLimit = { name: "all", key: everyone, config };
const perUser: HttpLimit = { name: "user", key: firstOf(byHeader("X-User"), sharedBucket("anonymous")), config };

/** Of a second's resolution in a thousand: that twenty waits have five or fewer values has a probability below 1e-30. */
async function differ(limits: HttpLimit[], whoIs: (i: number) => Who): Promise<boolean> {
  const waits = [];
  for (let i = 0; i < 20; i++) waits.push(await waitOf(limits, whoIs(i)));
  return new Set(waits).size > 5;
}
const same = async (limits: HttpLimit[], whoIs: (i: number) => Who) =>
  (await waitOf(limits, whoIs(0))) === (await waitOf(limits, whoIs(1)));

describe("callers are told apart", () => {
  it("by the key of a later limit where the first one is of a tenant with many callers", async () => {
    const tenant: HttpLimit = {
      name: "tenant",
      key: firstOf(
        byValue("tenant", () => "acme"),
        deny,
      ),
      config,
    };
    expect(await differ([tenant, perUser], (i) => ({ user: `user-${i}`, address: "198.51.100.1" }))).toBe(true);
    expect(await same([tenant, perUser], (i) => ({ user: "ada", address: `198.51.100.${i}` }))).toBe(true);
  });

  it("by the keys that are their own, of whichever limit, before their address", async () => {
    expect(await differ([all, perUser], (i) => ({ user: `user-${i}`, address: "198.51.100.1" }))).toBe(true);
    expect(await same([all, perUser], (i) => ({ user: "ada", address: `198.51.100.${i}` }))).toBe(true);
  });

  it("by their address where they have no key, or share one", async () => {
    for (const limits of [[all], [perUser], [all, perUser]]) {
      expect(await differ(limits, (i) => ({ address: `198.51.100.${i}` }))).toBe(true);
      expect(await same(limits, () => ({ address: "198.51.100.1" }))).toBe(true);
    }
  });

  it("by the address that the platform knows where no proxy tells one", async () => {
    expect(await differ([all], (i) => ({ ip: `198.51.100.${i}` }))).toBe(true);
    expect(await same([all], () => ({ ip: "198.51.100.1" }))).toBe(true);
  });

  it("by chance where nothing is known of them", async () => {
    expect(await differ([all], () => ({ ip: null }))).toBe(true);
    expect(await differ([all], () => ({}))).toBe(true);
  });
});

it("nobody is told an earlier moment than the truth, or one beyond the jitter", async () => {
  for (let i = 0; i < 50; i++) {
    const wait = await waitOf([all], { user: `user-${i}` });
    expect(wait).toBeGreaterThanOrEqual(1000);
    expect(wait).toBeLessThanOrEqual(2000);
  }
});
