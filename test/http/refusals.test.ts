// @vitest-environment edge-runtime
/** What fails because of a request, or because of the app's own functions, is no outage of the limiter: it never opens a gate. */
import { httpActionGeneric, httpRouter } from "convex/server";
import { SECOND } from "convex-rate-limits";
import { custom, fromQuery, type HttpLimit } from "convex-rate-limits/http";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { placeNames } from "../support/places.js";
import { noCtx, notAsked, openHttpBackend, served, useClock, type Way, wrap } from "./backend.js";

useClock();

const five: HttpLimit = {
  limit: "five",
  by: "everyone",
  config: { kind: "token bucket", rate: 5, period: 10 * SECOND },
};
const report = vi.fn();
const handler = vi.fn(served);
beforeEach(() => {
  report.mockReset();
  handler.mockClear();
});

const open = { onError: "open", report } as const;

async function answerTo(limits: object, rest: Partial<Way> = {}): Promise<Response> {
  const action = wrap({ limits, runMutation: notAsked, ...open, ...rest }, handler);
  return await action(noCtx, new Request("https://api.example/?size=9"));
}

describe("a cost that is no number of at least 0 is refused with 400", () => {
  it.each([NaN, -1, -Infinity, Infinity, "3", null, undefined, {}, 3n])("%s", async (cost) => {
    const response = await answerTo({ ...five, cost: () => cost as number });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      status: 400,
      title: "Bad request",
      detail: "The cost of this request is not a number of at least 0.",
    });
    expect(handler).not.toHaveBeenCalled();
    // The client's fault: nobody is woken up.
    expect(report).not.toHaveBeenCalled();
  });
});

it("a key that is not well-formed text is refused with 400", async () => {
  const by = custom("name", () => "a\ud800");
  const response = await answerTo({ ...five, by, without: "deny" });
  expect([response.status, handler.mock.calls.length, report.mock.calls.length]).toEqual([400, 0, 0]);
});

it("a cost that only rounding lifts above the capacity is refused for good, and is no outage", async () => {
  const third: HttpLimit = {
    ...five,
    config: { kind: "token bucket", rate: 1, period: SECOND, capacity: 1 / 3 },
  };
  const cost = fromQuery("size", { default: 0.1, min: 0 });
  const action = wrap({ limits: { ...third, cost }, ...open }, handler);
  const router = httpRouter();
  router.route({ path: "/", method: "GET", handler: httpActionGeneric(action) });
  const t = openHttpBackend(router);
  for (const size of ["0.33333", "0.3333333333333333", "0.33331"]) {
    expect([200, 403, 429]).toContain((await t.fetch(`/?size=${size}`)).status);
  }
  expect(report).not.toHaveBeenCalled();
  // The bucket holds one of them.
  expect(handler.mock.calls.length).toBeLessThanOrEqual(1);
});

describe("what a function of the app throws is answered with 500 and reported, even with onError: open", () => {
  const broken = () => {
    throw new Error("bug");
  };
  it.each<[string, object, Partial<Way>]>([
    ["cost", { cost: broken }, {}],
    ["by", { by: { keyOf: broken }, without: "deny" }, {}],
    ["config", { config: broken }, {}],
    ["config, when it is no config", { config: () => ({ kind: "token bucket", rate: -1, period: 1 }) }, {}],
    ["identify", { by: undefined, config: undefined, identify: broken }, {}],
    ["when", { when: broken }, {}],
    ["partitionKey", { partitionKey: broken }, {}],
    ["skip", {}, { skip: broken }],
  ])("%s", async (_, limit, options) => {
    const response = await answerTo({ ...five, ...limit }, options);
    expect([response.status, response.headers.get("Retry-After")]).toEqual([500, null]);
    expect(await response.text()).not.toContain("bug");
    expect(handler).not.toHaveBeenCalled();
    expect(report).toHaveBeenCalledExactlyOnceWith(expect.any(Error), expect.any(Request));
  });
});

it.each(placeNames)("no request gets past a bucket of five in the %s by its cost or key", async (place) => {
  const cost = (request: Request) => Number(new URL(request.url).searchParams.get("size") ?? 1);
  const by = custom("text", (_ctx, request) => JSON.parse(request.headers.get("X-Text") ?? '"ada"') as string);
  const limits = { ...five, cost, by, without: "deny" };
  const action = wrap({ limits, place, ...open }, handler);
  const router = httpRouter();
  router.route({ path: "/", method: "GET", handler: httpActionGeneric(action) });
  const t = openHttpBackend(router);
  for (const size of ["NaN", "-1", "x", "Infinity", "-Infinity", "1e400"]) {
    for (let i = 0; i < 10; i++) expect((await t.fetch(`/?size=${size}`)).status).toBe(400);
  }
  for (const text of ["{", '"\\ud800"']) {
    expect([400, 500]).toContain((await t.fetch("/", { headers: { "X-Text": text } })).status);
  }
  expect(handler).not.toHaveBeenCalled();
  const statuses = [];
  for (let i = 0; i < 6; i++) statuses.push((await t.fetch("/")).status);
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
});

it.each<[string, unknown]>([
  ["nothing", undefined],
  ["null", null],
  ["no list", {}],
  ["too few statuses", []],
  ["too many statuses", [{ ok: true }, { ok: true }]],
  ["a status that is none", [undefined]],
  ["a status without an answer", [{ remaining: 5 }]],
  ["a status of another form", [{ ok: "yes" }]],
  ["a denial without its moment", [{ ok: false, retryAt: NaN }]],
])("a via that answers %s lets nobody through", async (_, answer) => {
  const response = await answerTo(five, { onError: "closed", runMutation: () => Promise.resolve(answer) });
  expect([response.status, handler.mock.calls.length]).toEqual([503, 0]);
  expect(String(report.mock.lastCall?.[0])).toContain("The limits must answer with a list of 1 statuses, got");
});

it.each<[string, () => unknown, string]>([
  ["nothing", () => undefined, "identify's key must be a non-empty string"],
  ["no config", () => ({ key: "ada" }), "is not one of your limits (none is defined); give its config to use it"],
  ["no key", () => ({ config: five.config }), "identify's key must be a non-empty string, or left out with"],
  ["an id that is a number", () => ({ key: 7, config: five.config }), "identify's key must be a non-empty string"],
])("identify that finds %s is told so", async (_, identify, message) => {
  const limit = { limit: "five", identify } as unknown as object;
  expect((await answerTo(limit)).status).toBe(500);
  expect(String(report.mock.lastCall?.[0])).toContain(message);
});

it("a source of the app's own gives text, or nothing", async () => {
  const from = (value: unknown) =>
    answerTo({
      ...five,
      by: custom("own", () => value as string),
      without: "deny",
    });
  for (const nobody of [undefined, null, ""]) expect((await from(nobody)).status).toBe(403);
  expect(report).not.toHaveBeenCalled();
  for (const wrong of [7, {}, true]) {
    expect((await from(wrong)).status).toBe(500);
    expect(String(report.mock.lastCall?.[0])).toContain('The key source "own.own" must give text, got');
  }
});

describe("what the handler or cors throws", () => {
  it("is the handler's error: said once, and no outage", async () => {
    const bug = vi.fn(() => Promise.reject(new Error("bug")));
    const runMutation = () => Promise.resolve([{ ok: true as const, remaining: 4, resetAt: Date.now() + SECOND }]);
    const action = wrap({ limits: five, runMutation, ...open }, bug);
    await expect(action(noCtx, new Request("https://api.example/"))).rejects.toThrow("bug");
    expect([bug.mock.calls.length, report.mock.calls.length]).toEqual([1, 0]);
  });

  it.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("cors bug");
      },
    ],
    ["returns undefined", () => undefined],
    ["returns what is no header", () => ({ "a b": "1" })],
  ])("a cors that %s costs the answer its fields, and is reported", async (_, cors) => {
    const response = await answerTo({ ...five, cost: () => NaN }, { cors: cors as never });
    expect([response.status, report.mock.calls.length, handler.mock.calls.length]).toEqual([400, 1, 0]);
  });

  it("a handler that returns no response is told so", async () => {
    const runMutation = () => Promise.resolve([{ ok: true as const, remaining: 4, resetAt: Date.now() + SECOND }]);
    for (const [answer, got] of [
      [undefined, "undefined"],
      [null, "null"],
      ["text", '"text"'],
    ]) {
      const action = wrap({ limits: five, runMutation }, () => Promise.resolve(answer as unknown as Response));
      await expect(action(noCtx, new Request("https://api.example/"))).rejects.toThrow(
        `The handler of limitHttp must return a Response, got ${got ?? ""}.`,
      );
    }
  });
});
