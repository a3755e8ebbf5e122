// @vitest-environment edge-runtime
/**
 * The behaviours that the suites of express-rate-limit and hono-rate-limiter ask of their middleware, asked of this one: the
 * table in docs/comparison.md names those that an option decides, and what is refused.
 */
import { MINUTE, type RateLimitConfig, SECOND } from "convex-rate-limits";
import { address, custom, type HttpLimit, type LimitedBy, limitHttp } from "convex-rate-limits/http";
import { expect, it, vi } from "vitest";
import { noCtx, notAsked, pass, serve, served, START, useClock, type Way, wrap } from "./backend.js";
import { defineIn } from "../support/places.js";

useClock();

const pages = import.meta.glob<string>("../../docs/comparison.md", {
  query: "?raw",
  import: "default",
  eager: true,
});

/** A window as the suites use it: so many requests a minute, from the first request on. */
const window = (rate: number, period = MINUTE): Extract<RateLimitConfig, { kind: "fixed window" }> => ({
  kind: "fixed window",
  rate,
  period,
  start: START,
});
const limitOf = (rate: number, rest: object = {}): HttpLimit => ({
  limit: "api",
  by: "everyone",
  config: window(rate),
  ...rest,
});
const query = custom("query", (_ctx, request) => new URL(request.url).searchParams.get("key") ?? undefined);
const byQuery = { by: query, without: "deny" } as const;

async function statuses(send: (path: string) => Promise<Response>, ...paths: string[]): Promise<number[]> {
  const all = [];
  for (const path of paths) all.push((await send(path)).status);
  return all;
}

/** The second answer where one request passes. */
async function denialWith(denial: Way["denial"], onDenied?: Way["onDenied"]): Promise<Response> {
  const send = serve({ limits: limitOf(1), ...(denial && { denial }), ...(onDenied && { onDenied }) });
  expect((await send()).status).toBe(200);
  return await send();
}

const byStatus = (_ctx: unknown, request: Request) => {
  const path = new URL(request.url).pathname;
  if (path === "/crash") return Promise.reject(new Error("crash"));
  return Promise.resolve(new Response(null, { status: path === "/error" ? 400 : 200 }));
};

const behaviours: Record<string, () => Promise<void>> = {
  "The options object is not changed": async () => {
    const options = Object.freeze(limitOf(5));
    const before = Object.entries(options);
    limitHttp(defineIn("component", {}), options as never, served);
    expect(Object.entries(options)).toEqual(before);
    await Promise.resolve();
  },
  "Requests within the limit pass, the next is denied": async () => {
    expect(await statuses(serve({ limits: limitOf(2) }), "/", "/", "/")).toEqual([200, 200, 429]);
  },
  "A denied caller is served after the window, again and again": async () => {
    const send = serve({ limits: limitOf(2, { config: window(2, 50) }) });
    for (let i = 0; i < 3; i++) {
      expect(await statuses(send, "/", "/", "/")).toEqual([200, 200, 429]);
      pass(50);
    }
  },
  "A limit of 0 serves nobody": async () => {
    const closed = limitOf(1, { config: { ...window(1), capacity: 0 } });
    expect(await statuses(serve({ limits: closed }), "/", "/")).toEqual([403, 403]);
  },
  "A denial's body: text, JSON, a function, an asynchronous function": async () => {
    const text = "Enhance your calm";
    const json = { error: { code: "too-many-requests" } };
    expect(await (await denialWith({ body: text })).text()).toBe(text);
    expect(await (await denialWith({ body: json })).json()).toEqual(json);
    expect(await (await denialWith({ body: () => text })).text()).toBe(text);
    expect(await (await denialWith({ body: () => Promise.resolve(json) })).json()).toEqual(json);
  },
  "A denial's status": async () => {
    expect((await denialWith({ status: 420 })).status).toBe(420);
  },
  "A handler of denials": async () => {
    const response = await denialWith(undefined, () => new Response("Enhance your calm", { status: 420 }));
    expect([response.status, await response.text()]).toEqual([420, "Enhance your calm"]);
  },
  "A key from a function of the request": async () => {
    const send = serve({ limits: limitOf(2, byQuery) });
    expect(await statuses(send, "/?key=1", "/?key=1", "/?key=2", "/?key=1", "/?key=2", "/?key=2")).toEqual([
      200, 200, 200, 429, 200, 429,
    ]);
  },
  "Skipping by a function, also an asynchronous one": async () => {
    for (const skip of [() => true, () => Promise.resolve(true)]) {
      expect(await statuses(serve({ limits: limitOf(1), skip }), "/", "/", "/")).toEqual([200, 200, 200]);
    }
  },
  "A limit from a function of the request, also an asynchronous one": async () => {
    for (const config of [() => window(2), () => Promise.resolve(window(2))]) {
      expect(await statuses(serve({ limits: limitOf(1, { config }) }), "/", "/", "/")).toEqual([200, 200, 429]);
    }
  },
  "What remains counts down, without `Retry-After`": async () => {
    const send = serve({ limits: limitOf(3), formats: ["x"] });
    for (const remaining of ["2", "1", "0"]) {
      const { headers } = await send();
      expect(headers.get("X-RateLimit-Limit")).toBe("3");
      expect(headers.get("X-RateLimit-Remaining")).toBe(remaining);
      expect(headers.has("Retry-After")).toBe(false);
    }
  },
  "`X-RateLimit-*`, with the reset since the epoch": async () => {
    const { headers } = await serve({ limits: limitOf(5), formats: ["x"] })();
    expect(headers.get("X-RateLimit-Reset")).toBe(String(START / 1000 + 60));
  },
  "Draft 6, with its policy": async () => {
    const { headers } = await serve({ limits: limitOf(5), formats: ["draft-6"] })();
    const fields = ["RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"];
    expect(fields.map((field) => headers.get(field))).toEqual(["5;w=60", "5", "4", "60"]);
  },
  "Draft 7, combined": async () => {
    const { headers } = await serve({ limits: limitOf(5), formats: ["draft-7"] })();
    expect(headers.get("RateLimit-Policy")).toBe("5;w=60");
    expect(headers.get("RateLimit")).toBe("limit=5, remaining=4, reset=60");
  },
  "Later drafts: named policies, a partition key, several limits in one field": async () => {
    const partitionKey = () => "foo";
    const limits = [limitOf(1, { limit: "1-in-1min", partitionKey }), limitOf(5, { config: window(5, 7200 * SECOND) })];
    const { headers } = await serve({ limits })();
    expect(headers.get("RateLimit-Policy")).toBe('"1-in-1min";q=1;w=60;pk=:Zm9v:, "api";q=5;w=7200');
    expect(headers.get("RateLimit")).toBe('"1-in-1min";r=0;t=60;pk=:Zm9v:, "api";r=4;t=7200');
  },
  "`Retry-After` once the limit is reached": async () => {
    expect((await denialWith(undefined)).headers.get("Retry-After")).toBe("60");
  },
  "Successful requests do not count": async () => {
    const send = serve({ limits: limitOf(2), refund: "successful" }, byStatus);
    expect(await statuses(send, "/", "/", "/", "/error", "/error", "/")).toEqual([200, 200, 200, 400, 400, 429]);
  },
  "Failed requests do not count, nor do those whose handler throws": async () => {
    const send = serve({ limits: limitOf(2), refund: "failed" }, byStatus);
    for (let i = 0; i < 3; i++) await expect(send("/crash")).rejects.toThrow("crash");
    expect(await statuses(send, "/error", "/error", "/", "/", "/")).toEqual([400, 400, 200, 200, 429]);
  },
  "A function says which requests do not count, also an asynchronous one": async () => {
    const refund = (_response: Response | undefined, request: Request) =>
      Promise.resolve(new URL(request.url).searchParams.get("success") === "1");
    const send = serve({ limits: limitOf(1), refund });
    expect(await statuses(send, "/?success=1", "/?success=1", "/?success=0", "/?success=1")).toEqual([
      200, 200, 200, 429,
    ]);
  },
  "The handler is told the limit and what remains": async () => {
    const told: (number | undefined)[][] = [];
    const send = serve({ limits: limitOf(5) }, (_ctx, _request, limits: readonly LimitedBy[]) => {
      told.push(limits.map(({ config }) => config.rate).concat(limits.map(({ status }) => status.remaining ?? NaN)));
      return Promise.resolve(new Response());
    });
    await statuses(send, "/", "/");
    expect(told).toEqual([
      [5, 4],
      [5, 3],
    ]);
  },
  "An error of `onDenied` is reported, and the default answer sent; one of `skip` is answered with 500": async () => {
    const broken = () => {
      throw new Error("Enhance your calm");
    };
    const report = vi.fn();
    const send = serve({ limits: limitOf(1), onDenied: broken, report });
    await send();
    expect([(await send()).status, report.mock.calls.length]).toEqual([429, 1]);
    expect((await serve({ limits: limitOf(1), skip: broken, report })()).status).toBe(500);
    expect(report).toHaveBeenCalledTimes(2);
  },
  "An IPv6 address counts by its subnet, configurable or off; IPv4 in IPv6 is IPv4": async () => {
    const denials = async (ipv6Prefix: number | false, ...addresses: string[]) => {
      const send = serve({ limits: limitOf(1, { by: address({ trustedProxies: 1, ipv6Prefix }), without: "deny" }) });
      const all = [];
      for (const from of addresses) all.push((await send("/", { headers: { "X-Forwarded-For": from } })).status);
      return all;
    };
    expect(await denials(56, "2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:0:100::1")).toEqual([200, 429, 200]);
    expect(await denials(64, "2001:db8:0:1::1", "2001:db8:0:2::1")).toEqual([200, 200]);
    expect(await denials(false, "2001:db8::1", "2001:db8::2", "2001:db8::1")).toEqual([200, 200, 429]);
    expect(await denials(56, "1.2.3.4", "::ffff:1.2.3.4")).toEqual([200, 429]);
  },
  "A store that fails stops requests, or lets them pass by choice": async () => {
    const runMutation = () => Promise.reject(new Error("down"));
    const report = () => undefined;
    expect((await serve({ limits: limitOf(1), runMutation, report })()).status).toBe(503);
    expect((await serve({ limits: limitOf(1), runMutation, report, onError: "open" })()).status).toBe(200);
  },
  "Misconfiguration is found before the first request": async () => {
    expect(() => serve({ limits: limitOf(-1) })).toThrow("rate must be");
    await Promise.resolve();
  },
  "A preflight passes uncounted": async () => {
    const send = serve({ limits: limitOf(1) });
    for (let i = 0; i < 10; i++) expect((await send("/", { method: "OPTIONS" })).status).toBe(200);
    expect(await statuses(send, "/", "/")).toEqual([200, 429]);
  },
  "A request costs several tokens, also known afterwards": async () => {
    const send = serve({ limits: limitOf(5, { cost: 4 }), refund: () => 3 });
    expect(await statuses(send, "/", "/", "/")).toEqual([200, 200, 429]);
  },
  "Of two nested limiters the client reads both": async () => {
    const within = wrap({ limits: limitOf(5, { limit: "inner" }) });
    const { headers } = await serve({ limits: limitOf(2, { limit: "outer" }) }, (ctx, request) =>
      within(ctx, request),
    )();
    expect(headers.get("RateLimit")).toBe('"inner";r=4;t=60, "outer";r=1;t=60');
  },
  "An unknown draft is ignored": async () => {
    expect(() => serve({ limits: limitOf(1), formats: ["draft-8" as "draft-7"] })).toThrow("formats must be a list of");
    await Promise.resolve();
  },
  "Without any header fields there is no `Retry-After` either": async () => {
    const send = serve({ limits: limitOf(1), formats: [] });
    expect([...(await send()).headers.keys()]).toEqual(["content-type"]);
    expect((await send()).headers.get("Retry-After")).toBe("60");
  },
  "A denied request is given back where failed ones do not count": async () => {
    const calls = vi.fn((call: () => Promise<unknown>) => call());
    const send = serve({ limits: limitOf(1), refund: "failed", runMutation: calls });
    expect(await statuses(send, "/", "/", "/")).toEqual([200, 429, 429]);
    expect(calls).toHaveBeenCalledTimes(3);
  },
  "Two limiters in a row: the first is charged though the second denies": async () => {
    const own = limitOf(3, { limit: "own", ...byQuery });
    const send = serve({ limits: [own, limitOf(2)], formats: ["draft-11"] });
    expect(await statuses(send, "/?key=1", "/?key=2", "/?key=1", "/?key=1")).toEqual([200, 200, 429, 429]);
    pass(MINUTE);
    const { headers } = await send("/?key=1");
    expect(headers.get("RateLimit")).toBe('"api";r=1;t=60, "own";r=2;t=60');
  },
  "A caller without an address is counted under `undefined`, with a warning": async () => {
    const by = address({ trustedProxies: 1 });
    expect((await serve({ limits: limitOf(5, { by, without: "deny" }) })()).status).toBe(403);
    // @ts-expect-error: there has to be a decision.
    const open: HttpLimit = { limit: "api", by, config: window(5) };
    expect(() => serve({ limits: open })).toThrow('without must be "deny", "share" or');
  },
  "A policy's name from a function of the request": async () => {
    expect(() => serve({ limits: limitOf(1, { limit: () => "api" }) })).toThrow("limit must be the name of a limit");
    await Promise.resolve();
  },
  "An empty key is a key": async () => {
    const send = serve({ limits: limitOf(5, byQuery) });
    expect(await statuses(send, "/?key=", "/?key=a")).toEqual([403, 200]);
  },
};

it.each(Object.entries(behaviours))("%s", async (_, holds) => {
  await holds();
});

it("has a test for each row of the page that is held or refused", () => {
  const rows = [
    ...Object.values(pages)
      .join()
      .matchAll(/^\| ([^|]+?) +\| (held|refused)[^|]*\|$/gm),
  ];
  expect(rows.length).toBeGreaterThan(15);
  expect(Object.keys(behaviours)).toEqual(expect.arrayContaining(rows.map(([, behaviour]) => behaviour)));
});

it("asks nobody without a backend", async () => {
  const action = wrap({ limits: limitOf(1), runMutation: notAsked, skip: () => true }, served);
  expect((await action(noCtx, new Request("https://api.example/"))).status).toBe(200);
});
