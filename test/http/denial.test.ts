// @vitest-environment edge-runtime
/** A denial in the app's own words. */
import { SECOND } from "convex-rate-limits";
import { type HttpDenial, type HttpLimit } from "convex-rate-limits/http";
import { describe, expect, it, vi } from "vitest";
import { serve, START, useClock } from "./backend.js";

useClock();

const once: HttpLimit = {
  limit: "once",
  by: "everyone",
  config: { kind: "token bucket", rate: 1, period: 7 * SECOND },
};
const roomy: HttpLimit = {
  ...once,
  limit: "roomy",
  config: { kind: "token bucket", rate: 9, period: SECOND },
};

async function denied(options: Omit<Parameters<typeof serve>[0], "limits">): Promise<Response> {
  const send = serve({ limits: [roomy, once], ...options });
  expect((await send()).status).toBe(200);
  return await send();
}

const FIELDS = { retryAfter: "7", rateLimit: '"once";r=0;t=7' };
const fieldsOf = ({ headers }: Response) => ({
  retryAfter: headers.get("Retry-After"),
  rateLimit: headers.get("RateLimit"),
});

describe("the body", () => {
  it("may be text", async () => {
    const response = await denied({ denial: { body: "Slow down." } });
    expect([response.status, await response.text()]).toEqual([429, "Slow down."]);
    expect(response.headers.get("Content-Type")).toMatch(/^text\/plain/);
    expect(fieldsOf(response)).toEqual(FIELDS);
  });

  it("may be an object, which is sent as JSON", async () => {
    const response = await denied({ denial: { body: { error: "slow_down" } } });
    expect(await response.json()).toEqual({ error: "slow_down" });
    expect(response.headers.get("Content-Type")).toBe("application/json");
    expect(fieldsOf(response)).toEqual(FIELDS);
  });

  it("may be a function of the denial", async () => {
    const body = vi.fn(
      ({ limits, retryAfter }: HttpDenial) => `${limits[0]?.name ?? ""}: wait ${String(retryAfter)} s`,
    );
    const response = await denied({ denial: { body } });
    expect(await response.text()).toBe("once: wait 7 s");
    expect(body).toHaveBeenCalledExactlyOnceWith({
      ctx: expect.any(Object) as object,
      request: expect.any(Request) as Request,
      limits: [
        expect.objectContaining({ name: "once", count: 1, status: expect.objectContaining({ ok: false }) as object }),
      ],
      retryAt: START + 7 * SECOND,
      retryAfter: 7,
    });
  });
});

describe("the rest", () => {
  it("of the default: another status, more headers, the same problem details", async () => {
    const response = await denied({ denial: { status: 503, headers: { "X-Own": "1" } } });
    expect([response.status, response.headers.get("X-Own")]).toEqual([503, "1"]);
    expect(response.headers.get("Content-Type")).toBe("application/problem+json");
    expect(await response.json()).toMatchObject({ status: 503, "violated-policies": ["once"] });
    expect(fieldsOf(response)).toEqual(FIELDS);
  });

  it("a header of one's own stays", async () => {
    const response = await denied({ denial: { body: "Later", headers: { "Retry-After": "60" } } });
    expect(fieldsOf(response)).toEqual({ ...FIELDS, retryAfter: "60" });
  });

  it("may be a whole response from onDenied, to which the fields are added", async () => {
    const onDenied = ({ retryAfter }: HttpDenial) =>
      Promise.resolve(new Response(null, { status: 302, headers: { Location: `/wait/${String(retryAfter)}` } }));
    const response = await denied({ onDenied, cors: { "X-Cors": "1" } });
    expect([response.status, response.headers.get("Location")]).toEqual([302, "/wait/7"]);
    expect(response.headers.get("X-Cors")).toBe("1");
    expect(fieldsOf(response)).toEqual(FIELDS);
  });
});

it.each<[string, unknown]>([
  ["throws", () => Promise.reject(new Error("no words"))],
  ["returns nothing that can be sent", () => undefined],
])("a body that %s is reported, and the denial stays one", async (_, body) => {
  const report = vi.fn();
  const response = await denied({ denial: { body: body as () => string, headers: { "X-Own": "1" } }, report });
  expect([response.status, response.headers.get("X-Own"), fieldsOf(response)]).toEqual([429, "1", FIELDS]);
  expect(await response.json()).toMatchObject({ title: "Too many requests", "violated-policies": ["once"] });
  expect(report).toHaveBeenCalledExactlyOnceWith(expect.any(Error), expect.any(Request));
});

describe("onDenied", () => {
  it("is told of each denial, and of nothing else", async () => {
    const onDenied = vi.fn();
    const send = serve({ limits: once, onDenied });
    await send();
    expect(onDenied).not.toHaveBeenCalled();
    await send("/a");
    expect(onDenied).toHaveBeenCalledOnce();
    const [denial] = onDenied.mock.lastCall as [HttpDenial];
    expect([new URL(denial.request.url).pathname, denial.retryAfter]).toEqual(["/a", 7]);
  });

  it("that fails is reported, and changes nothing for the client", async () => {
    const report = vi.fn();
    const response = await denied({ onDenied: () => Promise.reject(new Error("no log")), report });
    expect([response.status, fieldsOf(response)]).toEqual([429, FIELDS]);
    expect(report).toHaveBeenCalledExactlyOnceWith(new Error("no log"), expect.any(Request));
  });
});
