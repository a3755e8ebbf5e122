/** Runs the app of docs/http-recipes.md, docs/http-keys.md and docs/http.md. */
import { readFileSync } from "node:fs";
import { convexTest } from "convex-test";
import type { PublicHttpAction } from "convex/server";
import { limitHttp } from "convex-rate-limits/http";
import { register } from "convex-rate-limits/test";
import { describe, expect, it, vi } from "vitest";
import modules from "docs:http-recipes,http-keys,http";
import { httpAction } from "docs:http-recipes,http-keys,http/convex/_generated/server";
import { strict } from "docs:http-recipes,http-keys,http/convex/blocked";
import { limits as perEndpoint } from "docs:http-recipes,http-keys,http/convex/endpoints";
import { forwarded } from "docs:http-recipes,http-keys,http/convex/forwarded";
import { internal } from "docs:http-recipes,http-keys,http/convex/_generated/api";
import { limits } from "docs:http-recipes,http-keys,http/convex/gateway";
import http from "docs:http-recipes,http-keys,http/convex/http";
import { issue } from "docs:http-recipes,http-keys,http/convex/keys";
import { chat } from "docs:http-recipes,http-keys,http/convex/llm";
import { limits as metered } from "docs:http-recipes,http-keys,http/convex/limits";
import { login } from "docs:http-recipes,http-keys,http/convex/login";
import { partners } from "docs:http-recipes,http-keys,http/convex/partners";
import schema from "docs:http-recipes,http-keys,http/convex/schema";
import { stream } from "docs:http-recipes,http-keys,http/convex/stream";
import { pass, useClock } from "../http/backend.js";

useClock();

const via = internal.gateway.askLimits;
const served = () => Promise.resolve(new Response("served"));
const route = (path: string, handler: PublicHttpAction) => {
  for (const method of ["GET", "POST"] as const) http.route({ path, method, handler });
};
for (const [path, handler] of Object.entries({ login, strict, partners, chat, stream, forwarded })) {
  route(`/${path}`, handler);
}
route("/reports", httpAction(limitHttp(limits, { limits: perEndpoint, via }, served)));

/** @param router - the module that is used as convex/http.ts. */
function open(router = "http") {
  const routed = { ...modules, "./convex/http.ts": modules[`./convex/${router}.ts`] } as never;
  const t = convexTest({ schema, modules: routed });
  register(t);
  const send = async (path: string, { from, ...init }: RequestInit & { from?: string } = {}) => {
    const headers = { ...(init.headers as object | undefined), ...(from && { "X-Forwarded-For": from }) };
    return await t.fetch(path, { ...init, headers });
  };
  return { t, send };
}

async function statuses(count: number, send: () => Promise<Response>): Promise<number[]> {
  const all = [];
  for (let i = 0; i < count; i++) all.push((await send()).status);
  return all;
}

it("a first limit needs four names of this package", () => {
  const [firstBlock = ""] = /^```ts[^]*?^```/m.exec(readFileSync("docs/http.md", "utf8")) ?? [];
  const imports = [...firstBlock.matchAll(/^import \{ (.*) \} from "convex-rate-limits/gm)];
  const names = imports.flatMap(([, names]) => names?.split(", "));
  expect(names).toEqual(["defineRateLimits", "MINUTE", "address", "limitHttp"]);
});

it("greets ten callers of one address at once, and callers without an address share a bucket", async () => {
  const { send } = open();
  const hello = (from?: string) => statuses(11, () => send("/hello", from === undefined ? {} : { from }));
  const tenPass = [...new Array<number>(10).fill(200), 429];
  for (const from of ["198.51.100.1", "198.51.100.2", undefined]) expect(await hello(from)).toEqual(tenPass);
  pass(1000);
  expect((await send("/hello", { from: "198.51.100.1" })).status).toBe(200);
});

it("locks after five wrong passwords, and right ones use no tokens", async () => {
  const { send } = open();
  const from = "198.51.100.1";
  const tryWith = (body: string) => send("/login", { method: "POST", body, from });
  expect(await statuses(20, () => tryWith("sesame"))).toEqual(new Array(20).fill(204));
  expect(await statuses(5, () => tryWith("open"))).toEqual(new Array(5).fill(401));
  // The clock of the mutations is 1 ms ahead of the HTTP action's, since they had one time.
  pass(1);
  const locked = await tryWith("sesame");
  expect([locked.status, await locked.json()]).toEqual([429, { error: "locked", seconds: 120 }]);
  expect((await send("/login", { method: "POST", body: "sesame" })).status).toBe(403);
});

it("counts reports per day and requests, by key and by address, in the app's tables", async () => {
  const { send } = open();
  const { key, hash } = await issue();
  expect([key.length, hash.length]).toEqual([36, 64]);
  const report = (headers = {}) => send("/reports?days=30", { from: "198.51.100.1", headers });
  const first = await report();
  expect(first.headers.get("RateLimit-Policy")).toBe(
    '"service";q=100000;w=60, "address";q=120;w=60, "requests";q=3;w=18, "reportDays";q=366;w=3600',
  );
  // An invented key counts by address.
  expect(await statuses(3, () => report({ "X-Api-Key": key }))).toEqual([200, 200, 429]);
  expect((await send("/reports")).status).toBe(403);
});

it("shows in one request which addresses the proxies added", async () => {
  const { send } = open();
  expect(await (await send("/forwarded", { from: "192.0.2.1, 198.51.100.7" })).text()).toBe("192.0.2.1, 198.51.100.7");
});

describe("recipes", () => {
  const tenMinutes = 10 * 60_000;

  it("Hono within Convex is limited, and returns the tokens left", async () => {
    const { send } = open("hono");
    const hello = () => send("/api/hello", { from: "198.51.100.1" });
    const first = await hello();
    expect([await first.text(), first.headers.get("RateLimit")]).toEqual(["Hello", '"api";r=2;t=1']);
    expect(await statuses(3, hello)).toEqual([200, 200, 429]);
    expect((await send("/api/hello", { from: "198.51.100.2" })).status).toBe(200);
    expect((await send("/api/hello", { from: "198.51.100.1", method: "OPTIONS" })).status).toBe(204);
  });

  it("a denial blocks for an hour, however often the caller retries", async () => {
    const { send } = open();
    const strict = (from = "198.51.100.1") => send("/strict", { from });
    expect(await statuses(4, strict)).toEqual([200, 200, 200, 429]);
    pass(tenMinutes);
    const blocked = await strict();
    expect([blocked.status, blocked.headers.get("Retry-After")]).toEqual([429, String(50 * 60)]);
    expect((await strict("198.51.100.2")).status).toBe(200);
    pass(5 * tenMinutes);
    expect((await strict()).status).toBe(200);
  });

  it("requests from addresses on an allow list pass uncounted, by the address that proxies saw", async () => {
    const { send } = open();
    const partners = (from: string) => send("/partners", { from });
    for (const from of ["198.51.100.7", "2001:db8:1::1", "2001:db8:1:00ff::1"]) {
      expect(await statuses(9, () => partners(from))).toEqual(new Array(9).fill(200));
    }
    expect(await statuses(4, () => partners("198.51.100.7, 198.51.100.8"))).toEqual([200, 200, 200, 429]);
  });

  it("a preflight has a route of its own, and is not counted", async () => {
    const { send } = open("preflight");
    const ask = (method: string) => send("/api/hello", { from: "198.51.100.1", method });
    expect(await statuses(20, () => ask("OPTIONS"))).toEqual(new Array(20).fill(204));
    const all = [await ask("OPTIONS"), await ask("POST"), await ask("POST"), await ask("POST"), await ask("POST")];
    expect(all.map(({ status }) => status)).toEqual([204, 200, 200, 200, 429]);
    expect(new Set(all.map(({ headers }) => headers.get("Access-Control-Allow-Origin")))).toEqual(new Set(["*"]));
  });

  const post = { from: "198.51.100.1", method: "POST", body: "prompt" };
  const openMeter = () => {
    const { t, send } = open();
    const bucket = { name: "llmTokens", key: "address:198.51.100.1", count: 0 } as const;
    return { send, left: () => t.action(async (ctx) => (await metered.checkRateLimit(ctx, bucket)).remaining) };
  };

  it("an LLM proxy settles at the true cost: less, more, or nothing if it failed", async () => {
    const { send, left } = openMeter();
    const answers = [1500, 5000].map((used) => Response.json({ usage: { total_tokens: used } }));
    vi.stubGlobal("fetch", () => Promise.resolve(answers.shift() ?? new Response("overloaded", { status: 529 })));
    expect(await (await send("/chat", post)).json()).toEqual({ usage: { total_tokens: 1500 } });
    expect(await left()).toBe(8500);
    await send("/chat", post);
    expect(await left()).toBe(3500);
    // The bucket must hold the estimate, even if the request will cost less.
    expect((await send("/chat", post)).status).toBe(429);
    pass(3 * 60_000);
    expect([(await send("/chat", post)).status, await left()]).toEqual([529, 8500]);
  });

  it("a stream holds its estimate until it ends, and then refunds the unused tokens", async () => {
    const { send, left } = openMeter();
    vi.stubGlobal("fetch", () => Promise.resolve(new Response("x".repeat(4000))));
    const first = await send("/stream", post);
    expect(await left()).toBe(6000);
    expect(await first.text()).toHaveLength(4000);
    expect(await left()).toBe(9000);
    // The second stream is not read, so its estimate stays charged.
    await (await send("/stream", post)).body?.cancel();
    expect(await left()).toBe(5000);
    const overloaded = new Response("overloaded", { status: 529, headers: { "Retry-After": "30" } });
    vi.stubGlobal("fetch", () => Promise.resolve(overloaded));
    const failed = await send("/stream", post);
    expect([failed.status, failed.headers.get("Retry-After"), await left()]).toEqual([529, "30", 5000]);
  });
});
