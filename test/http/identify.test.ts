// @vitest-environment edge-runtime
/** Who calls and what that caller is allowed: one look-up, also for several limits; and what the handler is told. */
import { MINUTE, type RateLimitConfig } from "convex-rate-limits";
import { type Caller, type HttpLimit, type LimitedBy } from "convex-rate-limits/http";
import { expect, it, vi } from "vitest";
import { serve, useClock } from "./backend.js";

useClock();

const perMinute = (rate: number): RateLimitConfig => ({ kind: "token bucket", rate, period: MINUTE });

/** Users are in the header; "pro-…" pays. */
const identify = vi.fn((_ctx: unknown, request: Request): Promise<Caller> => {
  const user = request.headers.get("X-User");
  if (user === null) return Promise.resolve({ without: { status: 401 }, config: perMinute(1) });
  const scale = user.startsWith("pro-") ? 10 : 1;
  return Promise.resolve({ key: user, config: (name) => perMinute(scale * (name === "reads" ? 20 : 2)) });
});
const limits: HttpLimit[] = [
  { limit: "reads", identify },
  { limit: "writes", identify, when: ({ request }) => request.method === "POST" },
];
const as = (user: string, method = "GET") => ({ method, headers: { "X-User": user } });

it("is made once per request, and gives each limit its key and its config", async () => {
  const send = serve({ limits });
  identify.mockClear();
  const policy = async (init: RequestInit) => (await send("/", init)).headers.get("RateLimit-Policy");
  expect(await policy(as("ada", "POST"))).toBe('"reads";q=20;w=60, "writes";q=2;w=60');
  expect(identify).toHaveBeenCalledTimes(1);
  expect(await policy(as("pro-bob"))).toBe('"reads";q=200;w=60');
  expect(identify).toHaveBeenCalledTimes(2);
});

it("keeps callers apart, long and odd names too", async () => {
  const send = serve({ limits });
  for (const user of ["ada", "bob", "a".repeat(300), `${"a".repeat(300)}b`, "gr\u00fc\u00dfe", "shared:ada"]) {
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push((await send("/", as(user, "POST"))).status);
    expect(answers).toEqual([200, 200, 429]);
  }
});

it("may end in a refusal, or in a bucket that all unknown callers share", async () => {
  expect((await serve({ limits })()).status).toBe(401);
  const unknown = (): Caller => ({ without: "share", config: perMinute(1) });
  const send = serve({ limits: { limit: "all", identify: unknown } });
  expect([(await send()).status, (await send()).status]).toEqual([200, 429]);
});

it("must name a caller", async () => {
  const report = vi.fn();
  const nobody = (): Caller => ({ key: "", config: perMinute(1) });
  expect((await serve({ limits: { limit: "all", identify: nobody }, report })()).status).toBe(500);
  expect(String(report.mock.lastCall?.[0])).toContain(
    `identify's key must be a non-empty string, or left out with without: "deny"`,
  );
});

it("the handler is told what was taken and what is left", async () => {
  const handler = vi.fn((_ctx: unknown, _request: Request, told: readonly LimitedBy[]) =>
    Promise.resolve(Response.json(told.map(({ name, count, status }) => [name, count, status.remaining]))),
  );
  const send = serve({ limits: { limit: "reads", identify, cost: () => 3 } }, handler);
  expect(await (await send("/", as("ada"))).json()).toEqual([["reads", 3, 17]]);
  expect(await (await send("/", as("ada"))).json()).toEqual([["reads", 3, 14]]);
});

it("a partition key tells the client which of its quotas was used, and no secret", async () => {
  const partitionKey = vi.fn(({ key }: { key: string | undefined }) => Promise.resolve(key?.slice(0, 10)));
  const { headers } = await serve({ limits: { limit: "reads", identify, partitionKey } })("/", as("ada-secret"));
  expect(headers.get("RateLimit-Policy")).toBe(`"reads";q=20;w=60;pk=:${btoa("caller:ada")}:`);
  expect(headers.get("RateLimit")).toBe(`"reads";r=19;t=57;pk=:${btoa("caller:ada")}:`);
});

it("the config of a look-up stands in place of the definition's", async () => {
  const config: RateLimitConfig = { kind: "token bucket", rate: 77, period: MINUTE };
  const identify = (_ctx: unknown, request: Request): Caller => ({
    key: "caller",
    ...(request.method === "POST" && { config }),
  });
  const calls: RateLimitConfig = { ...config, rate: 2 };
  const send = serve({ definitions: { calls }, limits: { limit: "calls", identify } });
  expect((await send()).headers.get("RateLimit-Policy")).toBe('"calls";q=2;w=60');
  expect((await send("/", { method: "POST" })).headers.get("RateLimit-Policy")).toBe('"calls";q=77;w=60');
});
