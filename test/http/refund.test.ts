/** What was taken for a request that should not have counted goes back, in one more call. */
import { SECOND } from "convex-rate-limits";
import {
  type Consume,
  everyone,
  fixed,
  fromQuery,
  type HttpCtx,
  type HttpLimit,
  inComponent,
  type LimitHttpOptions,
} from "convex-rate-limits/http";
import { describe, expect, it, vi } from "vitest";
import { component } from "../support/places.js";
import { consumeIn, serve, useClock } from "./backend.js";

useClock();

const three: HttpLimit = {
  name: "three",
  key: everyone,
  config: { kind: "token bucket", rate: 3, period: 60 * SECOND },
};
const days: HttpLimit = {
  name: "days",
  key: everyone,
  config: { kind: "fixed window", rate: 50, period: 60 * SECOND, start: 0 },
  cost: fromQuery("days", { default: 10 }),
};

const byPath = (_ctx: unknown, request: Request) => {
  const status = Number(new URL(request.url).pathname.slice(1));
  return status === 0 ? Promise.reject(new Error("bug")) : Promise.resolve(new Response(null, { status }));
};

describe.each<[string, Consume]>([
  ["your tables", consumeIn("tables")],
  ["the component", inComponent(component)],
])("in %s", (_, consume) => {
  const open = (refund: LimitHttpOptions["refund"]) => serve({ limits: [three, days], consume, refund }, byPath);
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

describe.each<[string, Consume]>([
  ["your tables", consumeIn("tables")],
  ["the component", inComponent(component)],
])("in %s", (_, consume) => {
  it("the tokens of all limits come back in one call, also where two of them are of one bucket", async () => {
    const calls: string[] = [];
    const counted = (ctx: HttpCtx): HttpCtx => ({
      ...ctx,
      runMutation: (...call) => {
        calls.push("mutation");
        return ctx.runMutation(...call);
      },
    });
    const giveBack: Consume["giveBack"] = async (ctx, requests) =>
      (await consume.giveBack?.(counted(ctx), [...requests, ...requests])) ?? { statuses: [] };
    const withCount = Object.assign(consume.bind(undefined), { giveBack }) as Consume;
    const send = serve({ limits: [three, days], consume: withCount, refund: "failed" }, byPath);
    const left = async (path: string) =>
      (await send(path)).headers
        .get("RateLimit")
        ?.match(/"\w+";r=\d+/g)
        ?.sort();
    expect(await left("/200?days=20")).toEqual(['"days";r=30', '"three";r=2']);
    // Each status is that of its own refund; both together gave back what two requests had taken.
    expect(await left("/500?days=10")).toEqual(['"days";r=30', '"three";r=2']);
    expect(calls).toEqual(["mutation"]);
    expect(await left("/200?days=1")).toEqual(['"days";r=39', '"three";r=2']);
  });
});

describe.each<[string, Consume]>([
  ["your tables", consumeIn("tables")],
  ["the component", inComponent(component)],
])("in %s", (_, consume) => {
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
    const send = serve({ limits: { name: "five", key: everyone, config }, consume, refund: each.refund }, slowly);
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
  const giveBack = vi.fn();
  const consume = Object.assign(consumeIn("tables").bind(undefined), { giveBack }) as Consume;
  const send = serve({ limits: { ...three, cost: fixed(0) }, consume, refund: () => true });
  expect((await send()).status).toBe(200);
  expect(giveBack).not.toHaveBeenCalled();
});

it("a refund that fails, or a rule that throws, is reported; the request has been served", async () => {
  const report = vi.fn();
  const failing = () => Promise.reject(new Error("no refund"));
  const consume = Object.assign(consumeIn("tables").bind(undefined), { giveBack: failing }) as Consume;
  const response = await serve({ limits: three, consume, refund: "successful", report })();
  expect([response.status, response.headers.get("RateLimit")]).toEqual([200, '"three";r=2;t=40']);
  expect(report).toHaveBeenLastCalledWith(new Error("no refund"), expect.any(Request));
  await serve({ limits: three, refund: () => failing(), report })();
  expect(report).toHaveBeenCalledTimes(2);
});
