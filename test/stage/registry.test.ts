/** The behaviour of stage/registry, the API of a public registry. */
import { convexTest } from "convex-test";
import { defineRateLimits, hashKey, type RateLimitConfig, SECOND } from "convex-rate-limits/component";
import { rateLimitLive } from "convex-rate-limits/live";
import { register } from "convex-rate-limits/test";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { START as NOW, useClock } from "../support/clock.js";
import { components, internal } from "../../stage/registry/convex/_generated/api.js";
import crons from "../../stage/registry/convex/crons.js";
import schema from "../../stage/registry/convex/schema.js";
import { scheduleOf, servedUntilDenied } from "./backend.js";

const modules = import.meta.glob(["../../stage/registry/convex/**/*.ts", "!**/convex.config.ts"]);

const log = vi.fn<(line: string) => void>();

useClock(NOW, "Date");
beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(log);
});
afterEach(() => {
  log.mockReset();
});

async function openRegistry() {
  const t = convexTest({ schema, modules });
  register(t);
  await t.run(async (ctx) => {
    for (const role of ["publisher", "admin"] as const) {
      await ctx.db.insert("tokens", { hash: await hashKey(`${role}s-token`), role });
    }
  });
  return t;
}
type Registry = Awaited<ReturnType<typeof openRegistry>>;

const read = (t: Registry, address: string, token?: string) =>
  t.fetch("/packages/left-pad", { headers: headersOf(address, token) });
const administer = (t: Registry, token?: string) =>
  t.fetch("/admin/takedown", { method: "POST", headers: headersOf("203.0.113.1", token) });

function headersOf(address: string, token: string | undefined): Record<string, string> {
  return { "X-Forwarded-For": address, ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }) };
}

it("the registry counts strangers by address and publishers by token, and sends both header families to both", async () => {
  const t = await openRegistry();
  const { served, denied } = await servedUntilDenied(() => read(t, "198.51.100.7"));
  expect(served).toBe(200);
  expect(denied.status).toBe(429);
  expect(denied.headers.get("RateLimit-Policy")).toBe('"requests";q=200;w=20');
  expect(denied.headers.get("RateLimit")).toMatch(/^"requests";r=0;t=\d+$/);
  expect(denied.headers.get("X-RateLimit-Limit")).toBe("200");
  expect(denied.headers.get("X-RateLimit-Remaining")).toBe("0");
  expect(Number(denied.headers.get("Retry-After"))).toBeGreaterThanOrEqual(1);

  // Another address has its own bucket. A request with a token is served even if its address has used up its bucket.
  expect((await read(t, "198.51.100.8")).status).toBe(200);
  const published = await read(t, "198.51.100.7", "publishers-token");
  expect(published.status).toBe(200);
  expect(published.headers.get("X-RateLimit-Limit")).toBe("500");
  // An invented token counts as no token.
  expect((await read(t, "198.51.100.7", "invented")).status).toBe(429);
});

it("the registry serves only admins on the admin routes, sixty times a minute, and logs each denial as one line", async () => {
  const t = await openRegistry();
  expect((await administer(t)).status).toBe(401);
  expect((await administer(t, "publishers-token")).status).toBe(401);
  const { served, denied } = await servedUntilDenied(() => administer(t, "admins-token"));
  expect(served).toBe(60);
  expect(denied.headers.get("RateLimit")).toMatch(/^"admin";r=0;t=60, "requests";r=\d+;t=\d+$/);
  const key = `bearer:${await hashKey("admins-token")}`;
  const line = { event: "denied", limit: "admin", key, path: "/admin/takedown", retryAt: NOW + SECOND };
  expect(log.mock.calls.map(([text]) => JSON.parse(text) as unknown)).toEqual([line]);
});

it("the registry sweeps exactly the rows of buckets that are full again", async () => {
  const t = await openRegistry();
  const { getRateLimit } = rateLimitLive(defineRateLimits({}, { component: components.rateLimits }));
  const config: RateLimitConfig = { kind: "token bucket", rate: 60, period: 60 * SECOND };
  const key = `bearer:${await hashKey("admins-token")}`;
  const writtenAt = async () =>
    (await t.query(async (ctx) => await getRateLimit(ctx, { name: "admin", key, config }))).ts;
  await administer(t, "admins-token");
  await t.mutation(internal.limits.sweep, {});
  expect(await writtenAt()).toBe(NOW);
  vi.setSystemTime(NOW + 2 * 60 * SECOND);
  await t.mutation(internal.limits.sweep, {});
  expect(await writtenAt()).toBe(0);
});

it("the registry sweeps once a day", () => {
  expect(scheduleOf(crons)).toEqual([["limits:sweep", "daily"]]);
});
