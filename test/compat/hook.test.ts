// @vitest-environment jsdom
/** `hookAPI`: the requests that a client may make, and the three hooks that show the answer. */
import { useRateLimit as useTheirs } from "@convex-dev/rate-limiter/react";
import { act, cleanup, renderHook } from "@testing-library/react";
import { type HookArgs, type HookValue, RateLimiter } from "convex-rate-limits/compat";
import { type GetRateLimitValueQuery, useRateLimit as useCompat } from "convex-rate-limits/compat/react";
import { useRateLimit as useOurs } from "convex-rate-limits/react";
import { makeFunctionReference } from "convex/server";
import { afterEach, describe, expect, it, vi } from "vitest";
import { useClock } from "../support/clock.js";
import { FakeClient, getServerTime, NOW } from "../react/fakeClient.js";
import { component, openBackend } from "../support/places.js";

const limiter = new RateLimiter(component, { send: { kind: "token bucket", rate: 2, period: 1000 } });

const apis = {
  own: limiter.hookAPI("send", { key: (_ctx, asked) => (asked === "nobody" ? "" : "ada") }),
  fixed: limiter.hookAPI("send", { key: "ada" }),
  open: limiter.hookAPI("send"),
  inline: limiter.hookAPI("other", { config: { kind: "token bucket", rate: 5, period: 1000 } }),
};

const modules = Object.entries(apis).map(([name, api]) => [`./${name}.ts`, () => Promise.resolve(api)] as const);
const openApp = () => openBackend(Object.fromEntries(modules));
const query = (module: keyof typeof apis) =>
  makeFunctionReference<"query", HookArgs, HookValue>(`${module}:getRateLimit`);

useClock(NOW);
afterEach(cleanup);

describe("the query", () => {
  it("shows the bucket of the key that the server chooses", async () => {
    const t = openApp();
    await t.mutation(async (ctx) => {
      await limiter.limit(ctx, "send", { key: "ada" });
      await limiter.limit(ctx, "send", { key: "bob", count: 2 });
      await limiter.limit(ctx, "other", { config: { kind: "token bucket", rate: 5, period: 1000 } });
    });
    const config = { kind: "token bucket", rate: 2, period: 1000, capacity: 2, shards: 1 };
    const ada = { name: "send", value: 1, ts: NOW, shard: 0, config };
    expect(await t.query(query("own"), {})).toMatchObject(ada);
    expect(await t.query(query("own"), { key: "bob", name: "send", sampleShards: 3 })).toMatchObject(ada);
    expect(await t.query(query("fixed"), { key: "bob" })).toMatchObject(ada);
    expect(await t.query(query("open"), {})).toMatchObject({ ...ada, value: 2, ts: 0 });
    expect(await t.query(query("inline"), {})).toMatchObject({ name: "other", value: 4, config: { rate: 5 } });
  });

  it("lets a client choose no other limit and no config, and a key only through a key function", async () => {
    const t = openApp();
    await expect(t.query(query("own"), { name: "report" })).rejects.toThrow(
      'Rate limit "send": a client cannot choose another limit; export a hookAPI for each.',
    );
    await expect(t.query(query("open"), { key: "ada" })).rejects.toThrow("only if hookAPI has a key function");
    await expect(t.query(query("own"), { key: "nobody" })).rejects.toThrow(
      "key function returns must be a non-empty string",
    );
    const withConfig = { config: { kind: "token bucket", rate: 1e6, period: 1 } } as HookArgs;
    await expect(t.query(query("own"), withConfig)).rejects.toThrow("config");
  });

  it("comes with a mutation that returns the server's time", async () => {
    const time = makeFunctionReference<"mutation", Record<string, never>, number>("own:getServerTime");
    expect(await openApp().mutation(time, {})).toBe(NOW);
  });
});

/** A query of the app's own that returns what `getValue` returns, as the official hook takes it too. */
describe("on a query of the app's own", () => {
  const config = { rate: 3, period: 1000, capacity: 4, shards: 1 };
  const states = {
    "a token bucket": { value: 0.5, ts: NOW, shard: 0, config: { kind: "token bucket", ...config } },
    "a fixed window": { value: 1, ts: NOW - 300, shard: 0, config: { kind: "fixed window", start: 0, ...config } },
    "an unused window": { value: 4, ts: 0, shard: 0, config: { kind: "fixed window", start: 200, ...config } },
  } as const;
  const own: GetRateLimitValueQuery = makeFunctionReference("app:limit");

  it.each(Object.keys(states) as (keyof typeof states)[])("both hooks show the same status: %s", (name) => {
    const shown = [useTheirs, useCompat].map((useAny) => {
      vi.setSystemTime(NOW);
      const client = new FakeClient();
      const { result } = renderHook(() => useAny(own, { count: 2 }), { wrapper: client.wrapper });
      act(() => {
        client.answerQuery({}, states[name]);
      });
      const statuses = [result.current.status];
      for (const passed of [499, 1, 199, 1]) {
        act(() => {
          vi.advanceTimersByTime(passed);
        });
        statuses.push(result.current.status);
      }
      return statuses.map((status) => (status?.ok ? true : Math.ceil(status?.retryAt ?? NaN)));
    });
    expect(shown[1]).toEqual(shown[0]);
    expect(shown[1]).toEqual(
      {
        "a token bucket": [NOW + 500, NOW + 500, true, true, true],
        "a fixed window": [NOW + 700, NOW + 700, NOW + 700, NOW + 700, true],
        "an unused window": [true, true, true, true, true],
      }[name],
    );
  });
});

/** The reference of the query. Its type suits each of the hooks. */
const reference = query("own");

describe("the hooks", () => {
  const render = {
    "the official one": (client: FakeClient) =>
      renderHook(() => useTheirs(reference, { getServerTimeMutation: getServerTime }), { wrapper: client.wrapper }),
    "convex-rate-limits/compat/react": (client: FakeClient) =>
      renderHook(() => useCompat(reference, { getServerTimeMutation: getServerTime }), { wrapper: client.wrapper }),
    "convex-rate-limits/react": (client: FakeClient) =>
      renderHook(() => useOurs(reference, { getServerTime }), { wrapper: client.wrapper }),
  };

  /** Renders a hook for an empty bucket. The server's clock is ahead of the browser's. */
  async function show(name: keyof typeof render, aheadMs = 0) {
    const t = openApp();
    await t.mutation(async (ctx) => await limiter.limit(ctx, "send", { key: "ada", count: 2 }));
    const client = new FakeClient();
    const { result } = render[name](client);
    expect(result.current.check()).toBeUndefined();
    await act(async () => {
      client.show(await t.query(query("own"), {}));
      client.answer(NOW + aheadMs);
      await vi.advanceTimersByTimeAsync(0);
    });
    return { client, result };
  }

  it.each(Object.keys(render) as (keyof typeof render)[])("%s shows a denial, and its end", async (name) => {
    const { result } = await show(name);
    expect(result.current.status).toMatchObject({ ok: false, retryAt: NOW + 500 });
    act(() => {
      vi.advanceTimersByTime(500);
    });
    expect(result.current.status).toMatchObject({ ok: true });
  });

  it("a status has the times of the corrected clock, though the server's first answer was late", async () => {
    const { client, result } = await show("convex-rate-limits/compat/react", -300);
    const seen = [result.current.status?.retryAt];
    for (const time of [NOW, NOW]) {
      await act(async () => {
        client.answer(time);
        await vi.advanceTimersByTimeAsync(0);
      });
      seen.push(result.current.status?.retryAt);
    }
    // The first answer counts until all have come.
    expect(seen).toEqual([NOW + 800, NOW + 800, NOW + 500]);
  });

  it("status and check say the same with the hook of either package, by the browser's clock", async () => {
    const shown = [];
    for (const name of ["the official one", "convex-rate-limits/compat/react"] as const) {
      const { status, check } = (await show(name, 250)).result.current as ReturnType<typeof useCompat>;
      shown.push([status?.retryAt, check(NOW, 0), check(NOW, 1), check(NOW + 1000, 3), check()?.value]);
    }
    const [theirs, compat] = shown;
    expect(compat).toEqual(theirs);
    expect(compat?.[2]).toMatchObject({ value: -0.5, ok: false, retryAt: NOW + 250, shard: 0 });
  });
});
