// @vitest-environment edge-runtime
import { httpRouter } from "convex/server";
import { type RateLimitConfig, SECOND } from "convex-rate-limits";
import {
  fromQuery,
  type HttpCtx,
  type HttpLimit,
  type LimitedBy,
  type LimitHttpOptions,
} from "convex-rate-limits/http";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { placeNames } from "../support/places.js";
import {
  byUser,
  noCtx,
  openHttpBackend,
  pass,
  serve as serveAll,
  START,
  TEN_THEN_FIVE,
  useClock,
  type Way,
  wrap,
} from "./backend.js";

useClock();

const perUser: HttpLimit = { limit: "user", by: byUser, without: "deny", config: TEN_THEN_FIVE };
const twice: RateLimitConfig = { kind: "token bucket", rate: 2, period: 10 * SECOND };

const handler = vi.fn<(ctx: HttpCtx, request: Request, limits: readonly LimitedBy[]) => Promise<Response>>();
beforeEach(() => {
  handler.mockReset();
  handler.mockImplementation(async () => await Promise.resolve(new Response("served")));
});

/** Serves everything with these options. */
function serve(way: Way) {
  const send = serveAll(way, handler);
  return (user: string | undefined, path = "/", init: RequestInit = {}) =>
    send(path, { ...init, headers: user === undefined ? {} : { "X-User": user } });
}

async function statuses(count: number, send: () => Promise<Response>): Promise<number[]> {
  const answers: number[] = [];
  for (let i = 0; i < count; i++) answers.push((await send()).status);
  return answers;
}

const ok = (count: number) => new Array<number>(count).fill(200);

describe.each(placeNames)("with the limits in the %s", (place) => {
  it("ten pass at once, the eleventh is told to wait, and a second later five pass", async () => {
    const send = serve({ limits: perUser, place });
    const ada = () => send("ada");
    expect(await statuses(10, ada)).toEqual(ok(10));
    const eleventh = await ada();
    expect(eleventh.status).toBe(429);
    expect(eleventh.headers.get("Retry-After")).toBe("1");
    pass(SECOND);
    expect(await statuses(6, ada)).toEqual([...ok(5), 429]);
    expect(await statuses(1, () => send("grace"))).toEqual([200]);
    expect(handler).toHaveBeenCalledTimes(16);
  });
});

describe("every answer", () => {
  it("says what is left", async () => {
    const send = serve({ limits: perUser, formats: ["draft-11", "x"] });
    const { headers } = await send("ada");
    expect(headers.get("RateLimit-Policy")).toBe('"user";q=10;w=2');
    expect(headers.get("RateLimit")).toBe('"user";r=9;t=1');
    expect(headers.get("X-RateLimit-Remaining")).toBe("9");
    expect(headers.has("Retry-After")).toBe(false);
  });

  it("keeps what the handler made of it", async () => {
    handler.mockResolvedValue(
      new Response("made", {
        status: 201,
        statusText: "Made",
        headers: [
          ["X-Own", "1"],
          ["RateLimit-Policy", '"own";q=1'],
          ["Set-Cookie", "a=1"],
          ["Set-Cookie", "b=2"],
          ["Access-Control-Expose-Headers", "X-Own, ratelimit"],
        ],
      }),
    );
    const response = await serve({ limits: perUser })("ada");
    expect([response.status, response.statusText, await response.text()]).toEqual([201, "Made", "made"]);
    expect(response.headers.get("X-Own")).toBe("1");
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(response.headers.get("RateLimit-Policy")).toBe('"own";q=1, "user";q=10;w=2');
    expect(response.headers.get("RateLimit")).toBe('"user";r=9;t=1');
    expect(response.headers.get("Access-Control-Expose-Headers")).toBe("X-Own, ratelimit, ratelimit-policy");
  });

  it("may be one whose headers cannot be changed, or that has no body", async () => {
    handler.mockResolvedValue(Response.redirect("https://api.example/elsewhere", 302));
    const send = serve({ limits: perUser });
    const redirect = await send("ada");
    expect([redirect.status, redirect.headers.get("Location")]).toEqual([302, "https://api.example/elsewhere"]);
    expect(redirect.headers.get("RateLimit")).toBe('"user";r=9;t=1');
    handler.mockResolvedValue(new Response(null, { status: 204 }));
    expect((await send("ada")).status).toBe(204);
  });

  it("is the handler's own where it has a body, since a copy of it would lose its length on Convex", async () => {
    const action = wrap({ limits: perUser }, handler);
    const t = openHttpBackend(httpRouter());
    const send = async () => {
      const request = new Request("https://api.example/", { headers: { "X-User": "ada" } });
      return await t.action(async (ctx) => {
        const { headers } = await action(ctx, request);
        return [headers.get("X-Own"), headers.get("RateLimit")];
      });
    };
    const made = new Response("made", { headers: { "X-Own": "1" } });
    handler.mockResolvedValueOnce(made);
    expect(await send()).toEqual(["1", '"user";r=9;t=1']);
    expect(made.headers.get("RateLimit")).toBe('"user";r=9;t=1');
    // One without a body may be returned again and again: it stays as it is.
    const shared = new Response(null, { status: 204, headers: { "X-Own": "2" } });
    handler.mockResolvedValue(shared);
    expect(await send()).toEqual(["2", '"user";r=8;t=1']);
    expect(await send()).toEqual(["2", '"user";r=7;t=1']);
    expect([...shared.headers.keys()]).toEqual(["x-own"]);
  });

  it("may be one that was fetched, whose headers cannot be changed", async () => {
    const fetched = await fetch("data:text/plain,fetched");
    expect(() => {
      fetched.headers.set("X-Own", "1");
    }).toThrow("immutable");
    handler.mockResolvedValue(fetched);
    const response = await serve({ limits: perUser })("ada");
    expect([response.headers.get("RateLimit"), await response.text()]).toEqual(['"user";r=9;t=1', "fetched"]);
  });

  it("can be read by scripts of other origins, the refusals too", async () => {
    const cors = (request: Request) => ({ "Access-Control-Allow-Origin": new URL(request.url).origin, Vary: "Origin" });
    const send = serve({ limits: { ...perUser, config: twice }, cors, formats: ["draft-6"] });
    const allowed = await send("ada");
    expect(allowed.headers.get("Access-Control-Expose-Headers")).toBe(
      "ratelimit-limit, ratelimit-policy, ratelimit-remaining, ratelimit-reset",
    );
    await send("ada");
    const denied = await send("ada");
    expect(denied.status).toBe(429);
    expect(denied.headers.get("Access-Control-Allow-Origin")).toBe("https://some.convex.site");
    expect(denied.headers.get("Access-Control-Expose-Headers")).toBe(
      "ratelimit-limit, ratelimit-policy, ratelimit-remaining, ratelimit-reset, retry-after",
    );
    const unknown = await send(undefined);
    expect([unknown.status, unknown.headers.get("Vary")]).toEqual([403, "Origin"]);
  });

  it("of a denial exposes and varies by what cors says, too", async () => {
    const cors = { "access-control-expose-headers": "X-Request-Id, Retry-After", Vary: "Origin" };
    const denial = { body: "Later", headers: { Vary: "Accept" } };
    const send = serve({ limits: { ...perUser, config: { ...twice, capacity: 1 } }, cors, denial });
    await send("ada");
    const { headers } = await send("ada");
    expect(headers.get("Access-Control-Expose-Headers")).toBe("ratelimit, ratelimit-policy, retry-after, X-Request-Id");
    expect(headers.get("Vary")).toBe("Accept, Origin");
  });
});

describe("a request without a key", () => {
  it("is refused where the end is deny, and nothing is charged", async () => {
    const all: HttpLimit = { limit: "all", by: "everyone", config: twice };
    const send = serve({
      limits: [all, { ...perUser, without: { status: 401, headers: { "WWW-Authenticate": "Basic" } } }],
    });
    const refused = await send(undefined);
    expect([refused.status, refused.headers.get("WWW-Authenticate")]).toEqual([401, "Basic"]);
    expect(refused.headers.get("Content-Type")).toBe("application/problem+json");
    expect(handler).not.toHaveBeenCalled();
    expect((await send("ada")).headers.get("RateLimit")).toContain('"all";r=1');
  });

  it("shares one bucket with all others that have none", async () => {
    const send = serve({ limits: { ...perUser, without: "share", config: twice } });
    expect(await statuses(3, () => send(undefined))).toEqual([200, 200, 429]);
    expect(await statuses(1, () => send("anonymous"))).toEqual([200]);
    expect(await statuses(1, () => send("shared"))).toEqual([200]);
  });
});

describe.each(placeNames)("several limits in the %s", (place) => {
  const threeAMinute: RateLimitConfig = { kind: "token bucket", rate: 3, period: 60 * SECOND };
  const all: HttpLimit = { limit: "all", by: "everyone", config: threeAMinute };
  const each: HttpLimit = { limit: "each", by: byUser, without: "deny", config: twice };

  it("let a request pass together or charge nothing", async () => {
    const send = serve({ limits: [all, each], place });
    expect(await statuses(3, () => send("ada"))).toEqual([200, 200, 429]);
    // Were Ada's third request charged to "all", there would be nothing left for Grace.
    const last = await send("grace");
    expect(last.status).toBe(200);
    expect(last.headers.get("RateLimit")).toBe('"all";r=0;t=20, "each";r=1;t=5');
    const denied = await send("grace");
    expect(denied.status).toBe(429);
    expect(denied.headers.get("Retry-After")).toBe("20");
    expect(denied.headers.get("RateLimit")).toBe('"all";r=0;t=20');
    expect(await denied.json()).toMatchObject({ "violated-policies": ["all"] });
    expect(denied.headers.get("RateLimit-Policy")).toBe('"all";q=3;w=60, "each";q=2;w=10');
  });

  it("name the longest wait when several deny", async () => {
    const send = serve({
      limits: [{ ...all, config: { ...threeAMinute, capacity: 2 } }, each],
      place,
    });
    const [, , denied] = [await send("ada"), await send("ada"), await send("ada")];
    expect(denied.headers.get("Retry-After")).toBe("20");
    expect(await denied.json()).toMatchObject({ "violated-policies": ["all", "each"] });
  });
});

describe("plans and costs", () => {
  const reports: HttpLimit = {
    limit: "reports",
    by: byUser,
    without: "deny",
    config: ({ request, key }) => ({
      kind: "token bucket",
      rate: key === "own.user:pro" ? 100 : 10,
      period: new URL(request.url).pathname === "/slow" ? 100 * SECOND : 10 * SECOND,
    }),
    cost: fromQuery("size", { default: 2, min: 1, max: 50 }),
  };

  it("come from the request", async () => {
    const send = serve({ limits: reports });
    expect((await send("free", "/?size=4")).headers.get("RateLimit")).toBe('"reports";r=6;t=4');
    expect((await send("pro", "/?size=4")).headers.get("RateLimit")).toBe('"reports";r=96;t=9');
    expect((await send("free", "/slow?size=0")).headers.get("RateLimit-Policy")).toBe('"reports";q=10;w=100');
    expect((await send("free", "/?size=junk")).headers.get("RateLimit")).toBe('"reports";r=3;t=2');
    expect((await send("free", "/?size=9")).headers.get("Retry-After")).toBe("6");
  });

  it("that the limit can never hold are refused without a Retry-After", async () => {
    const refused = await serve({ limits: reports })("free", "/?size=11");
    expect(refused.status).toBe(403);
    expect(refused.headers.has("Retry-After")).toBe(false);
    expect(await refused.json()).toMatchObject({
      detail: "This request takes 11 of a quota of 10.",
      "violated-policies": ["reports"],
    });
  });
});

describe("skipping", () => {
  it("is for OPTIONS: a preflight passes uncounted and untouched", async () => {
    const send = serve({ limits: perUser });
    const preflight = await send(undefined, "/", { method: "OPTIONS" });
    expect(preflight.status).toBe(200);
    expect([...preflight.headers.keys()]).toEqual(["content-type"]);
    expect(handler.mock.lastCall?.[2]).toEqual([]);
  });

  it("is not for HEAD, which runs the GET handler", async () => {
    const action = wrap({ limits: { ...perUser, config: twice } }, handler);
    const t = openHttpBackend(httpRouter());
    const head = () => new Request("https://api.example/", { method: "HEAD", headers: { "X-User": "ada" } });
    const send = async () => (await t.action(async (ctx) => [(await action(ctx, head())).status]))[0];
    expect([await send(), await send(), await send()]).toEqual([200, 200, 429]);
    expect(handler).toHaveBeenCalledTimes(2);
  });

  it("can be decided by a function, for all but OPTIONS", async () => {
    const skip = vi.fn(async (request: Request) => await Promise.resolve(new URL(request.url).pathname === "/health"));
    const send = serve({ limits: { ...perUser, config: twice }, skip });
    expect(await statuses(5, () => send("ada", "/health"))).toEqual(ok(5));
    expect(await statuses(3, () => send("ada"))).toEqual([200, 200, 429]);
    expect((await send(undefined, "/", { method: "OPTIONS" })).status).toBe(200);
    expect(skip).toHaveBeenCalledTimes(8);
  });

  it("can be decided for each limit", async () => {
    const writes: HttpLimit = {
      limit: "writes",
      by: byUser,
      without: "deny",
      config: { ...twice, rate: 1 },
      when: ({ request }) => request.method === "POST",
    };
    const send = serve({ limits: [perUser, writes] });
    const post = () => send("ada", "/", { method: "POST" });
    expect((await send("ada")).headers.get("RateLimit-Policy")).toBe('"user";q=10;w=2');
    expect((await post()).headers.get("RateLimit-Policy")).toBe('"user";q=10;w=2, "writes";q=1;w=10');
    expect([(await post()).status, (await send("ada")).status]).toEqual([429, 200]);
    const none = await serve({ limits: [writes] })(undefined);
    expect([none.status, none.headers.has("RateLimit-Policy")]).toEqual([200, false]);
  });
});

describe("when the limiter fails", () => {
  const failing = vi.fn<() => Promise<never>>();
  const report = vi.fn();
  const request = () => new Request("https://api.example/", { headers: { "X-User": "ada" } });
  beforeEach(() => {
    failing.mockReset();
    failing.mockRejectedValue(new Error("OptimisticConcurrencyControlFailure"));
    report.mockReset();
  });

  it("nobody is served, and the error is reported", async () => {
    const action = wrap({ limits: perUser, runMutation: failing, report, cors: { "X-Cors": "1" } }, handler);
    const response = await action(noCtx, request());
    expect(response.status).toBe(503);
    expect(response.headers.get("Retry-After")).toBe("10");
    expect(response.headers.get("X-Cors")).toBe("1");
    expect(await response.json()).toMatchObject({ title: "Service unavailable", status: 503 });
    expect(handler).not.toHaveBeenCalled();
    expect(report).toHaveBeenCalledExactlyOnceWith(
      new Error("OptimisticConcurrencyControlFailure"),
      expect.any(Request),
    );
  });

  it("the error goes to the log when nobody wants it", async () => {
    const log = vi.spyOn(console, "error").mockReturnValue();
    const response = await wrap({ limits: perUser, runMutation: failing }, handler)(noCtx, request());
    expect(await response.json()).toMatchObject({ detail: "The rate limits of this request could not be checked." });
    expect(log).toHaveBeenCalledExactlyOnceWith(
      "The rate limits of a request could not be checked.",
      expect.any(Error),
    );
    log.mockRestore();
  });

  it("the callers' return is spread by the jitter", async () => {
    const action = wrap({ limits: perUser, runMutation: failing, report, jitter: 1 }, handler);
    const waits = new Set<number>();
    for (let i = 0; i < 100; i++) waits.add(Number((await action(noCtx, request())).headers.get("Retry-After")));
    // Of 10 equally likely seconds, 100 draws miss six or more with a probability below 1e-35.
    expect(waits.size).toBeGreaterThanOrEqual(5);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(10);
    expect(Math.max(...waits)).toBeLessThanOrEqual(20);
  });

  it("everybody is served where that is the choice, and the error is reported", async () => {
    const action = wrap({ limits: perUser, runMutation: failing, onError: "open", report }, handler);
    const response = await action(noCtx, request());
    expect([response.status, await response.text()]).toEqual([200, "served"]);
    expect(response.headers.has("RateLimit")).toBe(false);
    expect(report).toHaveBeenCalledOnce();
  });

  it("serving everybody does not compile without a report", () => {
    // @ts-expect-error: who would ever know?
    const options: LimitHttpOptions = { limits: [perUser], onError: "open" };
    expect(options.onError).toBe("open");
  });

  it("a report that fails too changes nothing", async () => {
    const log = vi.spyOn(console, "error").mockReturnValue();
    report.mockRejectedValue(new Error("no network"));
    const action = wrap({ limits: perUser, runMutation: failing, onError: "open", report }, handler);
    expect((await action(noCtx, request())).status).toBe(200);
    expect(log).toHaveBeenCalledOnce();
    log.mockRestore();
  });

  it("statuses that are too few or too many are a failure of the limiter", async () => {
    const status = { ok: true as const, remaining: 9, resetAt: START };
    for (const statuses of [[], [status, status]]) {
      const runMutation = () => Promise.resolve(statuses);
      expect((await wrap({ limits: perUser, runMutation, report }, handler)(noCtx, request())).status).toBe(503);
    }
    expect(report).toHaveBeenCalledTimes(2);
    expect(handler).not.toHaveBeenCalled();
  });
});

describe("limiters in a row", () => {
  const inner: HttpLimit = {
    ...perUser,
    limit: "inner",
    config: { kind: "token bucket", rate: 100, period: 100 * SECOND },
  };
  const outer: HttpLimit = {
    ...perUser,
    limit: "outer",
    config: { kind: "token bucket", rate: 2, period: 10 * SECOND },
  };
  const nested = (a: Way, b: Way) => {
    const within = wrap(b, handler);
    const send = serveAll(a, (ctx, request) => within(ctx, request));
    return () => send("/", { headers: { "X-User": "ada" } });
  };

  it("are both told: the fields are lists", async () => {
    const { headers } = await nested({ limits: outer }, { limits: inner })();
    expect(headers.get("RateLimit-Policy")).toBe('"inner";q=100;w=100, "outer";q=2;w=10');
    expect(headers.get("RateLimit")).toBe('"inner";r=99;t=99, "outer";r=1;t=5');
  });

  it("send the fields of the tighter one in the formats that know one state", async () => {
    for (const formats of [["x"], ["draft-6"]] as const) {
      const field = formats[0] === "x" ? "X-RateLimit-Remaining" : "RateLimit-Remaining";
      const both = [
        { limits: outer, formats },
        { limits: inner, formats },
      ] as const;
      for (const [a, b] of [both, [both[1], both[0]]] as const)
        expect((await nested(a, b)()).headers.get(field)).toBe("1");
    }
    const formats = ["draft-7"] as const;
    const { headers } = await nested({ limits: outer, formats }, { limits: inner, formats })();
    expect(headers.get("RateLimit")).toBe("limit=2, remaining=1, reset=5");
  });

  it("send the later Retry-After, in seconds or as a date", async () => {
    const limits: HttpLimit = { ...outer, config: { kind: "token bucket", rate: 1, period: 7 * SECOND } };
    const date = (ms: number) => new Date(START + ms).toUTCString();
    for (const [given, sent] of [
      ["3", "7"],
      ["9", "9"],
      [date(3000), "7"],
      [date(9000), date(9000)],
      ["soon", "7"],
    ] as const) {
      const denial = { headers: { "Retry-After": given } };
      const send = serveAll({ limits, denial });
      const init = { headers: { "X-User": "ada" } };
      await send("/", init);
      expect((await send("/", init)).headers.get("Retry-After")).toBe(sent);
    }
  });

  it("that charge one limit twice report it, once", async () => {
    const report = vi.fn();
    const send = nested({ limits: inner, report }, { limits: inner, report });
    for (let i = 0; i < 3; i++) expect((await send()).headers.get("RateLimit-Policy")).toBe('"inner";q=100;w=100');
    expect(report).toHaveBeenCalledExactlyOnceWith(
      new Error('Rate limit "inner" is charged twice for one request: two nested limitHttp have it.'),
      expect.any(Request),
    );
  });
});

it("a partition key may be of any length", async () => {
  const partitionKey = () => "p".repeat(150_000);
  const { status, headers } = await serve({ limits: { ...perUser, partitionKey } })("ada");
  expect([status, headers.get("RateLimit")?.length]).toEqual([200, '"user";r=9;t=1;pk=::'.length + 88]);
});
