/** Runs the servers in front of Convex of docs/http-recipes.md. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { FunctionReference } from "convex/server";
import { convexTest } from "convex-test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import modules from "docs:http-recipes";
import { api } from "docs:http-recipes/convex/_generated/api";
import schema from "docs:http-recipes/convex/schema";
import { pass, useClock } from "../http/backend.js";

useClock();

/** The backend that runs the mutations of the servers, without a network between them. */
type Mutate = (mutation: FunctionReference<"mutation">, args: Record<string, string>) => Promise<unknown>;
const backend = vi.hoisted(() => ({ mutation: vi.fn<Mutate>() }));
vi.mock("convex/browser", () => ({
  ConvexHttpClient: class {
    mutation = backend.mutation;
  },
}));

beforeEach(() => {
  backend.mutation.mockReset();
  vi.stubEnv("GATE_SECRET", "sesame");
  const t = convexTest({ schema, modules });
  backend.mutation.mockImplementation(async (mutation, args) => (await t.mutation(mutation, args)) as unknown);
});

type Send = (key: string, method?: string) => Promise<Response>;

const servers: Record<string, () => Promise<{ send: Send; close?: () => void }>> = {
  Hono: async () => {
    const { app } = await import("docs:http-recipes/src/hono");
    return {
      send: async (key, method = "GET") => await app.request("/hello", { method, headers: { "X-Api-Key": key } }),
    };
  },
  Express: async () => {
    const { app } = await import("docs:http-recipes/src/express");
    const server = app.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hello`;
    return {
      send: async (key, method = "GET") => await fetch(url, { method, headers: { "X-Api-Key": key } }),
      close: () => {
        server.closeAllConnections();
        server.close();
      },
    };
  },
  "a Next.js route handler": async () => {
    const { GET } = await import("docs:http-recipes/src/app/api/hello/route");
    const url = "https://app.example/api/hello";
    return { send: async (key) => await GET(new Request(url, { headers: { "X-Api-Key": key } })) };
  },
};

describe.each(Object.entries(servers))("%s", (_, open) => {
  let server: Awaited<ReturnType<typeof open>>;
  beforeEach(async () => {
    server = await open();
  });
  afterEach(() => server.close?.());

  it("sends the fields of Convex's limit, and its 429", async () => {
    const { send } = server;
    for (let left = 9; left >= 0; left--) {
      const response = await send("ada");
      expect([response.status, await response.text()]).toEqual([200, "Hello"]);
      expect(response.headers.get("RateLimit-Policy")).toBe('"api";q=10;w=10');
      expect(response.headers.get("RateLimit")).toBe(`"api";r=${left};t=${10 - left}`);
    }
    const denied = await send("ada");
    expect([denied.status, denied.headers.get("Retry-After")]).toEqual([429, "1"]);
    expect(denied.headers.get("Content-Type")).toMatch(/^application\/problem\+json/);
    expect(await denied.json()).toMatchObject({ status: 429, detail: "Try again in 1 second." });
    expect((await send("grace")).status).toBe(200);
    pass(1000);
    expect((await send("ada")).status).toBe(200);
  });

  it("answers 503 with Retry-After if Convex is unreachable, and logs the reason", async () => {
    const log = vi.spyOn(console, "error").mockReturnValue();
    backend.mutation.mockRejectedValue(new TypeError("fetch failed"));
    const response = await server.send("ada");
    expect([response.status, response.headers.get("Retry-After")]).toEqual([503, "10"]);
    expect(log).toHaveBeenCalledExactlyOnceWith("The rate limit could not be asked.", new TypeError("fetch failed"));
  });
});

// Next.js itself answers OPTIONS requests to a route handler.
const others = Object.entries(servers).filter(([name]) => !name.includes("Next.js"));
it.each(others)("%s passes preflights uncounted", async (_, open) => {
  const { send, close } = await open();
  try {
    for (let i = 0; i < 11; i++) expect((await send("ada", "OPTIONS")).status).not.toBe(429);
    expect(backend.mutation).not.toHaveBeenCalled();
    expect((await send("ada")).headers.get("RateLimit")).toBe('"api";r=9;t=1');
  } finally {
    close?.();
  }
});

describe("Next.js", () => {
  const request = (method = "GET") =>
    new Request("https://app.example/api/users", { method, headers: { "X-Api-Key": "ada" } });

  beforeEach(() => vi.stubGlobal("currentUser", () => Promise.resolve("ada")));

  it("a server action returns the wait, and the proxy answers in place of the page", async () => {
    const { subscribe } = await import("docs:http-recipes/src/app/actions");
    const { proxy } = await import("docs:http-recipes/src/proxy");
    for (let i = 0; i < 5; i++) {
      expect(await subscribe()).toEqual({ ok: true });
      expect(await proxy(request())).toBeUndefined();
      expect(await proxy(request("OPTIONS"))).toBeUndefined();
    }
    expect(await subscribe()).toEqual({ ok: false, retryAt: Date.now() + 1000 });
    expect((await proxy(request()))?.status).toBe(429);
  });

  it("neither the action nor the proxy serves a request if Convex is unreachable", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    backend.mutation.mockRejectedValue(new TypeError("fetch failed"));
    const { subscribe } = await import("docs:http-recipes/src/app/actions");
    const { proxy } = await import("docs:http-recipes/src/proxy");
    const answer = await proxy(request());
    expect([answer?.status, answer?.headers.get("Retry-After")]).toEqual([503, "10"]);
    expect(await subscribe()).toEqual({ ok: false, retryAt: Date.now() + 10_000 });
  });

  it("the proxy skips the path whose route handler consumes, so a request counts once", async () => {
    const { config } = await import("docs:http-recipes/src/proxy");
    const isProxied = (path: string) => new RegExp(`^${config.matcher}$`).test(path);
    const paths = ["/api/users", "/api/hello/world", "/api/hello", "/hello"];
    expect(paths.filter(isProxied)).toEqual(paths.slice(0, 2));
  });
});

it("a caller without the secret cannot use another caller's tokens", async () => {
  const enter = (secret: string) => backend.mutation(api.gate.enter, { secret, key: "ada" });
  for (const secret of ["", "guess"]) await expect(enter(secret)).rejects.toThrow("Only our own server may ask.");
  vi.stubEnv("GATE_SECRET", undefined);
  await expect(enter("")).rejects.toThrow("Only our own server may ask.");
});
