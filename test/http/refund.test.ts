// @vitest-environment edge-runtime
/** What was taken for a request that should not have counted goes back, in one more call. */
import { SECOND } from "convex-rate-limits";
import { fromQuery, type HttpLimit } from "convex-rate-limits/http";
import { describe, expect, it, vi } from "vitest";
import { type PlaceName, placeNames } from "../support/places.js";
import { serve, useClock, type Way } from "./backend.js";

useClock();

const three: HttpLimit = {
  limit: "three",
  by: "everyone",
  config: { kind: "token bucket", rate: 3, period: 60 * SECOND },
};
const days: HttpLimit = {
  limit: "days",
  by: "everyone",
  config: { kind: "fixed window", rate: 50, period: 60 * SECOND, start: 0 },
  cost: fromQuery("days", { default: 10 }),
};

const byPath = (_ctx: unknown, request: Request) => {
  const status = Number(new URL(request.url).pathname.slice(1));
  return status === 0 ? Promise.reject(new Error("bug")) : Promise.resolve(new Response(null, { status }));
};

describe.each<[string, PlaceName]>([
  ["your tables", "tables"],
  ["the component", "component"],
])("in %s", (_, place) => {
  const open = (refund: Way["refund"]) => serve({ limits: [three, days], place, refund }, byPath);
  const left = async (send: (path: string) => Promise<Response>) =>
    (await send("/302")).headers.get("RateLimit")?.match(/r=\d+/g);

  it("failed requests count for nothing, whatever they took", async () => {
    const send = open("failed");
    for (const path of ["/500?days=45", "/404", "/400", "/500?days=50"]) {
      const { status, headers } = await send(path);
      expect(status).toBe(Number(path.slice(1, 4)));
      // What is told is what is left after the refund.
      const told = headers.get("RateLimit")?.split(", ").sort();
      expect(told).toEqual(['"days";r=50;t=60', '"three";r=3;t=60']);
    }
    expect(await left(send)).toEqual(["r=2", "r=40"]);
    expect([(await send("/200")).status, (await send("/200")).status, (await send("/200")).status]).toEqual([
      200, 200, 429,
    ]);
  });

  it("a handler that throws has failed, and its error is said all the same", async () => {
    const send = open("failed");
    for (let i = 0; i < 5; i++) await expect(send("/0")).rejects.toThrow("bug");
    expect(await left(send)).toEqual(["r=2", "r=40"]);
    const counting = open(undefined);
    await expect(counting("/0")).rejects.toThrow("bug");
    expect(await left(counting)).toEqual(["r=1", "r=30"]);
  });

  it("successful requests count for nothing: only the failed ones use the limit up", async () => {
    const send = open("successful");
    for (let i = 0; i < 5; i++) expect((await send("/200")).status).toBe(200);
    for (let i = 0; i < 3; i++) expect((await send("/401")).status).toBe(401);
    expect((await send("/200")).status).toBe(429);
  });

  it("a function may decide, by the response", async () => {
    const rule = vi.fn((response: Response | undefined) => Promise.resolve(response?.status === 304));
    const send = open(rule);
    for (let i = 0; i < 5; i++) expect((await send("/304")).status).toBe(304);
    await expect(send("/0")).rejects.toThrow("bug");
    expect(rule.mock.lastCall?.[0]).toBeUndefined();
    expect(await left(send)).toEqual(["r=1", "r=30"]);
  });
});

describe.each<[string, PlaceName]>([
  ["your tables", "tables"],
  ["the component", "component"],
])("in %s", (_, place) => {
  it("the tokens of all limits come back in one call, also where two of them are of one bucket", async () => {
    const calls: string[] = [];
    const runMutation = (call: () => Promise<unknown>) => {
      calls.push("mutation");
      return call();
    };
    const send = serve({ limits: [three, days], place, runMutation, refund: "failed" }, byPath);
    const left = async (path: string) =>
      (await send(path)).headers
        .get("RateLimit")
        ?.match(/"\w+";r=\d+/g)
        ?.sort();
    expect(await left("/200?days=20")).toEqual(['"days";r=30', '"three";r=2']);
    expect(await left("/500?days=10")).toEqual(['"days";r=30', '"three";r=2']);
    expect(calls).toHaveLength(3);
  });
});

describe.each(placeNames)("a number of tokens, in the %s", (place) => {
  const limit = { ...three, config: { kind: "token bucket", rate: 100, period: 100 * SECOND }, cost: 50 };
  const leftAfter = async (back: number, send = serve({ limits: limit, place, formats: ["x"], refund: () => back })) =>
    (await send()).headers.get("X-RateLimit-Remaining");

  it("comes back, at most what was taken; a negative one is charged", async () => {
    expect([await leftAfter(30), await leftAfter(0), await leftAfter(70), await leftAfter(-20)]).toEqual([
      "80",
      "50",
      "100",
      "30",
    ]);
  });

  it("that is none is reported, and nothing comes back", async () => {
    const report = vi.fn();
    const send = serve({ limits: limit, place, formats: ["x"], report, refund: () => NaN });
    expect(await leftAfter(0, send)).toBe("50");
    expect(String(report.mock.lastCall?.[0])).toContain("refund must be a boolean or a finite number of tokens");
  });
});

describe.each(placeNames)("in the %s", (place) => {
  // Of a limit of 5 a minute 20 requests were handled in one ms, or 9 wrong passwords.
  it.each([
    { refund: "failed", back: "/500", counted: "/200", kind: "token bucket" },
    { refund: "successful", back: "/200", counted: "/401", kind: "token bucket" },
    { refund: "successful", back: "/200", counted: "/401", kind: "sliding window" },
  ] as const)("$refund requests that end when the client likes free no more than they took ($kind)", async (each) => {
    const started = Date.now();
    const config = { kind: each.kind, rate: 5, period: 60 * SECOND };
    const open: (() => void)[] = [];
    const slowly = async (ctx: unknown, request: Request) => {
      if (request.url.includes("slow")) await new Promise<void>((resolve) => open.push(resolve));
      return await byPath(ctx, new Request(new URL(new URL(request.url).pathname, request.url)));
    };
    const send = serve({ limits: { limit: "five", by: "everyone", config }, place, refund: each.refund }, slowly);
    const slow: Promise<Response>[] = [];
    for (const minute of [0, 1, 2, 3]) {
      vi.setSystemTime(started + minute * 60 * SECOND);
      for (let i = 0; i < 5; i++) slow.push(send(`${each.back}?slow`));
      await vi.waitFor(() => {
        expect(open).toHaveLength(5 * (minute + 1));
      });
    }
    vi.setSystemTime(started + 4 * 60 * SECOND);
    let handled = 0;
    const count = async () => {
      while ((await send(each.counted)).status !== 429) handled++;
    };
    await count();
    for (const [i, response] of slow.entries()) {
      open[i]?.();
      await response;
      await count();
    }
    expect(handled).toBe(5);
  });
});

it("nothing is given back where nothing was taken", async () => {
  const runMutation = vi.fn((call: () => Promise<unknown>) => call());
  expect((await serve({ limits: { ...three, cost: 0 }, runMutation, refund: () => true })()).status).toBe(200);
  expect(runMutation).toHaveBeenCalledOnce();
});

it("a refund that fails, or a rule that throws, is reported; the request has been served", async () => {
  const report = vi.fn();
  let calls = 0;
  const runMutation = (call: () => Promise<unknown>) =>
    calls++ === 0 ? call() : Promise.reject(new Error("no refund"));
  const response = await serve({ limits: three, runMutation, refund: "successful", report })();
  expect([response.status, response.headers.get("RateLimit")]).toEqual([200, '"three";r=2;t=40']);
  expect(report).toHaveBeenLastCalledWith(new Error("no refund"), expect.any(Request));
  await serve({ limits: three, refund: () => Promise.reject(new Error("bug")), report })();
  expect(report).toHaveBeenCalledTimes(2);
});

it("a rule that throws keeps no tokens of the other limits", async () => {
  const report = vi.fn();
  const bug = { ...three, limit: "bug", refund: () => Promise.reject(new Error("bug")) };
  const response = await serve({ limits: [bug, { ...three, refund: "successful" }], report })();
  expect(response.headers.get("RateLimit")?.match(/"\w+";r=\d/g)).toEqual(['"bug";r=2', '"three";r=3']);
  expect(report).toHaveBeenCalledExactlyOnceWith(new Error("bug"), expect.any(Request));
});
