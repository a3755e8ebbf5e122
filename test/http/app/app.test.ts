// @vitest-environment node
/** The app of docs/http.md and docs/http-keys.md, run: the modules here are the pages' blocks, word for word. */
import { convexTest } from "convex-test";
import type { PublicHttpAction } from "convex/server";
import { limitHttp } from "convex-rate-limits/http";
import { register } from "convex-rate-limits/test";
import { expect, it } from "vitest";
import { pass, useClock } from "../backend.js";
import { httpAction } from "./convex/_generated/server.js";
import { limits as perCaller } from "./convex/callers.js";
import { limits as perEndpoint } from "./convex/endpoints.js";
import { internal } from "./convex/_generated/api.js";
import { limits } from "./convex/gateway.js";
import http from "./convex/http.js";
import { issue } from "./convex/keys.js";
import { login } from "./convex/login.js";
import schema from "./convex/schema.js";

useClock();

const modules = import.meta.glob("./convex/**/*.ts");
const sources = import.meta.glob<string>("./convex/*.ts", { query: "?raw", import: "default", eager: true });
const pages = import.meta.glob<string>("../../../docs/http{,-keys}.md", {
  query: "?raw",
  import: "default",
  eager: true,
});

const via = internal.gateway.askLimits;
const served = () => Promise.resolve(new Response("served"));
const route = (path: string, handler: PublicHttpAction) => {
  for (const method of ["GET", "POST"] as const) http.route({ path, method, handler });
};
route("/login", login);
route("/reports", httpAction(limitHttp(limits, { limits: perEndpoint, via }, served)));
route("/callers", httpAction(limitHttp(limits, { limits: perCaller, via }, served)));

function open() {
  const t = convexTest({ schema, modules });
  register(t);
  return async (path: string, { from, ...init }: RequestInit & { from?: string } = {}) => {
    const headers = { ...(init.headers as object | undefined), ...(from && { "X-Forwarded-For": from }) };
    return await t.fetch(path, { ...init, headers });
  };
}

async function statuses(count: number, send: () => Promise<Response>): Promise<number[]> {
  const all = [];
  for (let i = 0; i < count; i++) all.push((await send()).status);
  return all;
}

it("shows the modules that run here, word for word", () => {
  const shown = [
    ...Object.values(pages)
      .join("\n")
      .matchAll(/^```ts\n(\/\/ convex\/.*?)^```/gms),
  ].map(([, code]) => code);
  expect(shown.sort()).toEqual(Object.values(sources).sort());
  expect(shown).toHaveLength(7);
});

it("greets ten of an address at once, and those without one share a bucket", async () => {
  const send = open();
  const hello = (from?: string) => statuses(11, () => send("/hello", from === undefined ? {} : { from }));
  const tenPass = [...new Array<number>(10).fill(200), 429];
  for (const from of ["198.51.100.1", "198.51.100.2", undefined]) expect(await hello(from)).toEqual(tenPass);
  pass(1000);
  expect((await send("/hello", { from: "198.51.100.1" })).status).toBe(200);
});

it("locks after five wrong passwords, and right ones cost nothing", async () => {
  const send = open();
  const from = "198.51.100.1";
  const tryWith = (body: string) => send("/login", { method: "POST", body, from });
  expect(await statuses(20, () => tryWith("sesame"))).toEqual(new Array(20).fill(204));
  expect(await statuses(5, () => tryWith("open"))).toEqual(new Array(5).fill(401));
  const locked = await tryWith("sesame");
  expect([locked.status, await locked.json()]).toEqual([429, { error: "locked", seconds: 120 }]);
  expect((await send("/login", { method: "POST", body: "sesame" })).status).toBe(403);
});

it("counts days of reports and requests, by key and by address, in the app's tables", async () => {
  const send = open();
  const { key, hash } = await issue();
  expect([key.length, hash.length]).toEqual([36, 64]);
  const report = (headers = {}) => send("/reports?days=30", { from: "198.51.100.1", headers });
  const first = await report();
  expect(first.headers.get("RateLimit-Policy")).toBe(
    '"service";q=100000;w=60, "address";q=120;w=60, "requests";q=3;w=18, "report-days";q=366;w=3600',
  );
  // An invented key counts by address.
  expect(await statuses(3, () => report({ "X-Api-Key": key }))).toEqual([200, 200, 429]);
  expect((await send("/reports")).status).toBe(403);
});

it("asks once who calls, and refuses who is nobody", async () => {
  const send = open();
  expect((await send("/callers", { headers: { "X-Api-Key": "invented" } })).status).toBe(401);
});
