// @vitest-environment edge-runtime
/** Limits that are overridden at a key: the wrapper keeps to what holds there, and tells clients of it. */
import { httpActionGeneric, httpRouter } from "convex/server";
import { DAY, MINUTE, type RateLimitConfig } from "convex-rate-limits";
import {
  type HttpDenial,
  httpKey,
  type HttpLimit,
  type LimitedBy,
  rateLimitHeaders,
  tooManyRequests,
} from "convex-rate-limits/http";
import { describe, expect, it, vi } from "vitest";
import { defineIn, type PlaceName, placeNames } from "../support/places.js";
import { byUser, type Handler, openHttpBackend, pass, START, useClock, type Way, wrap } from "./backend.js";

useClock();

const api = {
  kind: "token bucket",
  rate: 60,
  period: MINUTE,
  capacity: 10,
  keyed: true,
  overrides: true,
} as const;
type How = { block: true; until?: number } | { unlimited: true } | { config: RateLimitConfig; until?: number };
const slow: How = { config: { kind: "token bucket", rate: 6, period: MINUTE } };
const fast: How = { config: { kind: "token bucket", rate: 600, period: MINUTE } };

/** An app whose limits are defined by name, as docs/admin.md says. */
function open(place: PlaceName, rest: Partial<Way> = {}) {
  const definitions = { api };
  const handler = vi.fn<Handler>((_ctx, request) =>
    Promise.resolve(new Response("served", { status: new URL(request.url).pathname === "/fail" ? 500 : 200 })),
  );
  const router = httpRouter();
  const action = wrap({ limits: { limit: "api", by: byUser, without: "deny" }, place, definitions, ...rest }, handler);
  router.route({ pathPrefix: "/", method: "GET", handler: httpActionGeneric(action) });
  const t = openHttpBackend(router, definitions);
  const limits = defineIn(place, definitions);
  return {
    handler,
    send: async (user: string, path = "/") => await t.fetch(path, { headers: { "X-User": user } }),
    override: async (user: string, how: How) => {
      const key = await httpKey("user", user);
      await t.mutation(async (ctx) => {
        await limits.overrideRateLimit(ctx, { name: "api", key, ...how });
      });
    },
  };
}

const fieldsOf = ({ headers }: Response) => [headers.get("RateLimit-Policy"), headers.get("RateLimit")];

describe.each(placeNames)("with the limits in the %s", (place) => {
  it("a sliding window that overrides another kind says when its tokens come back, and while it holds", async () => {
    const { send, override } = open(place);
    const config: RateLimitConfig = { kind: "sliding window", rate: 50, period: 20_000 };
    await override("ana", { config: { ...config, rate: 5 } });
    expect(fieldsOf(await send("ana"))).toEqual(['"api";q=5;w=20', '"api";r=4;t=20']);
    pass(12_000);
    await send("ana");
    pass(5000);
    expect(fieldsOf(await send("ana"))).toEqual(['"api";q=5;w=20', '"api";r=2;t=8']);
    // What is told outlasts the override, under which alone so much is held.
    await override("ben", { config, until: Date.now() + 5000 });
    expect(fieldsOf(await send("ben"))).toEqual(['"api";q=50;w=20', '"api";r=49;t=20']);
  });

  it("a blocked caller is denied until the block ends, and nobody else", async () => {
    const { send, override } = open(place);
    await override("ada", { block: true, until: START + DAY });
    const denied = await send("ada");
    expect([denied.status, denied.headers.get("Retry-After")]).toEqual([429, "86400"]);
    expect((await send("grace")).status).toBe(200);
    pass(DAY);
    expect((await send("ada")).status).toBe(200);
  });

  it("a block without an end is 403 and names no wait: no client could keep to it", async () => {
    const onDenied = vi.fn<(denial: HttpDenial) => void>();
    const { send, override, handler } = open(place, { onDenied, formats: ["draft-11", "x"], jitter: 1 });
    await override("ada", { block: true });
    const { status, headers, ...response } = await send("ada").then(async (got) => ({
      status: got.status,
      headers: got.headers,
      body: (await got.json()) as unknown,
    }));
    expect([status, headers.get("Retry-After"), headers.get("RateLimit")]).toEqual([403, null, null]);
    expect([headers.get("X-RateLimit-Limit"), headers.get("X-RateLimit-Reset")]).toEqual(["10", null]);
    expect(response.body).toMatchObject({
      title: "Not permitted",
      detail: "No wait helps: the quota is closed to this caller.",
      "violated-policies": ["api"],
    });
    expect(handler).not.toHaveBeenCalled();
    const [told] = onDenied.mock.lastCall as [HttpDenial];
    expect([told.retryAt, told.retryAfter, told.limits.map(({ name }) => name)]).toEqual([
      undefined,
      undefined,
      ["api"],
    ]);
  });

  it("a block without an end can be worded like a denial, and stays 403", async () => {
    const body = ({ retryAfter }: HttpDenial) => ({ error: retryAfter === undefined ? "blocked" : "busy" });
    const { send, override } = open(place, { denial: { body, status: 429, headers: { "X-Own": "1" } } });
    await override("ada", { block: true });
    const blocked = await send("ada");
    expect([blocked.status, blocked.headers.get("X-Own"), await blocked.json()]).toEqual([
      403,
      "1",
      { error: "blocked" },
    ]);
  });

  it("an unlimited caller is served, and told nothing that it would have to keep to", async () => {
    const { send, override } = open(place);
    await override("ada", { unlimited: true });
    for (let i = 0; i < 25; i++) {
      const response = await send("ada");
      expect([response.status, ...fieldsOf(response)]).toEqual([200, null, null]);
    }
  });

  it("another config is the one that clients are told of, and the handler", async () => {
    const { send, override, handler } = open(place, { refund: "failed" });
    await override("ada", fast);
    await override("grace", slow);
    expect(fieldsOf(await send("ada"))).toEqual(['"api";q=600;w=60', '"api";r=599;t=59']);
    expect(handler.mock.lastCall?.[2][0]?.config.rate).toBe(600);
    expect(fieldsOf(await send("ada", "/fail"))).toEqual(['"api";q=600;w=60', '"api";r=599;t=59']);
    expect(fieldsOf(await send("bob"))).toEqual(['"api";q=10;w=10', '"api";r=9;t=9']);
    // Who keeps to it is not denied: under the limit's own config, t would be too short.
    expect(fieldsOf(await send("grace"))).toEqual(['"api";q=6;w=60', '"api";r=5;t=50']);
    for (let i = 0; i < 4; i++) await send("grace");
    expect(fieldsOf(await send("grace"))).toEqual(['"api";q=6;w=60', '"api";r=0;t=10']);
    pass(10_000);
    expect((await send("grace")).status).toBe(200);
    const denied = await send("grace");
    expect([denied.status, denied.headers.get("Retry-After")]).toEqual([429, "10"]);
  });

  it("one limit that is closed for good outweighs another that only waits", async () => {
    const by = { by: byUser, without: "deny" } as const;
    const hourly: HttpLimit = {
      limit: "hourly",
      ...by,
      config: { kind: "token bucket", rate: 1, period: 60 * MINUTE },
    };
    const { send, override } = open(place, { limits: [hourly, { limit: "api", ...by }] });
    expect((await send("ada")).status).toBe(200);
    await override("ada", { block: true });
    const closed = await send("ada");
    expect([closed.status, closed.headers.get("Retry-After")]).toEqual([403, null]);
  });
});

it("tooManyRequests says so, too, and one that is closed for good outweighs a wait", async () => {
  const config = { kind: "token bucket", rate: 1, period: MINUTE } as const;
  const blocked: LimitedBy = { name: "blocked", config, status: { ok: false, retryAt: 8.64e15, remaining: 0 } };
  const waiting: LimitedBy = { name: "waiting", config, status: { ok: false, retryAt: START + MINUTE } };
  const options = { now: START };
  const response = tooManyRequests([waiting, blocked], options);
  expect([response.status, response.headers.get("Retry-After")]).toEqual([403, null]);
  expect(await response.json()).toMatchObject({ "violated-policies": ["blocked"] });
  expect(rateLimitHeaders(waiting, options)["Retry-After"]).toBe("60");
});
