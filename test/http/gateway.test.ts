// @vitest-environment edge-runtime
/** The example's small API, as its callers see it. */
import { expect, it } from "vitest";
import { openBackend } from "../support/places.js";
import { pass, useClock } from "./backend.js";

useClock();

function open() {
  const t = openBackend({
    "./http.ts": async () => await import("../../example/convex/http.js"),
    "./gateway.ts": async () => await import("../../example/convex/gateway.js"),
  });
  return async (path: string, { from, key }: { from?: string; key?: string }) =>
    await t.fetch(path, { headers: { ...(from && { "X-Forwarded-For": from }), ...(key && { "X-Api-Key": key }) } });
}

async function passing(send: () => Promise<Response>): Promise<number> {
  let count = 0;
  while ((await send()).status === 200) count++;
  return count;
}

it("each plan has its burst", async () => {
  const send = open();
  const hello = (from: string, key = "") => passing(() => send("/api/hello", { from, key }));
  expect(await hello("198.51.100.1")).toBe(3);
  expect(await hello("198.51.100.2", "demo-free")).toBe(10);
  // The limit per address allows 40 requests from one address. The rest of the plan's 100 come from other addresses.
  expect(await hello("198.51.100.3", "demo-pro")).toBe(40);
  expect(await hello("198.51.100.4", "demo-pro")).toBe(40);
  expect(await hello("198.51.100.5", "demo-pro")).toBe(20);
});

it("invented keys and forged addresses do not buy a fresh bucket", async () => {
  const send = open();
  let i = 0;
  const guess = () => send("/api/hello", { from: `203.0.113.${++i}, 198.51.100.1`, key: `guess-${i}` });
  expect(await passing(guess)).toBe(3);
});

it("a report costs its days, a denied report costs nothing, and a report beyond the plan is refused for good", async () => {
  const send = open();
  const refused = await send("/api/reports?days=30", { from: "198.51.100.1" });
  expect([refused.status, refused.headers.get("Retry-After")]).toEqual([403, null]);
  expect(refused.headers.get("Access-Control-Allow-Origin")).toBe("*");
  const ada = { from: "198.51.100.1", key: "demo-free" };
  expect((await send("/api/reports?days=40", ada)).headers.get("RateLimit")).toContain('"report-days";r=22;');
  const denied = await send("/api/reports?days=30", ada);
  expect(denied.status).toBe(429);
  expect(await denied.json()).toMatchObject({ "violated-policies": ["report-days"] });
  // One of the ten requests is taken: by the report that was served.
  expect((await send("/api/hello", ada)).headers.get("RateLimit")).toContain('"requests";r=8;');
  pass(Number(denied.headers.get("Retry-After")) * 1000);
  expect((await send("/api/reports?days=30", ada)).status).toBe(200);
});

it("without a proxy, as on a laptop, the API answers, and all callers share a bucket", async () => {
  const send = open();
  expect(await passing(async () => await send("/api/hello", {}))).toBe(3);
  expect((await send("/api/hello", { from: "198.51.100.1" })).status).toBe(200);
});
