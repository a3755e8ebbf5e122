// @vitest-environment jsdom
import { act, cleanup, render as renderPage, renderHook } from "@testing-library/react";
import { DAY, MINUTE, projectRateLimit } from "convex-rate-limits";
import { type RateLimitQuery, useRateLimit, type UseRateLimitOptions, useServerNow } from "convex-rate-limits/react";
import { anyApi, makeFunctionReference } from "convex/server";
import fc from "fast-check";
import { createElement } from "react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { useClock } from "../support/clock.js";
import { changes, describe as describeStatus, empty, NOW, window } from "../browser/changes.js";
import { FakeClient, getRateLimit, getServerTime } from "./fakeClient.js";
import { snapshotBy, type StoredBucket } from "../support/snapshots.js";
import { runs } from "../support/random.js";

const sameQuery = (): RateLimitQuery => makeFunctionReference("limits:getRateLimit");
const otherQuery: RateLimitQuery = makeFunctionReference("limits:getOther");

useClock(NOW);
afterEach(cleanup);

/** Renders the hook, and records each render. */
function render(client: FakeClient, options?: UseRateLimitOptions | "skip", { strict = false } = {}) {
  const history: string[] = [];
  const hook = renderHook(
    (given: UseRateLimitOptions | "skip" | undefined) => {
      const result = useRateLimit(getRateLimit, given);
      history.push(describeStatus(result.status));
      return result;
    },
    { initialProps: options, wrapper: client.wrapper, reactStrictMode: strict },
  );
  const { rerender, unmount, result } = hook;
  return {
    rerender,
    unmount,
    /** The status of each render, as text. */
    history,
    get result() {
      return result.current;
    },
    get status() {
      return result.current.status;
    },
    check: (...demand: Parameters<typeof result.current.check>) => result.current.check(...demand),
    /** Renders since the first one. */
    get renders() {
      return history.length - 1;
    },
  };
}

/** Opens a client that has this snapshot, and a hook that shows it. */
function showing(
  shown: Parameters<FakeClient["show"]>[0],
  ...more: [options?: UseRateLimitOptions | "skip", how?: { strict: boolean }]
) {
  const client = new FakeClient();
  client.show(shown);
  return { client, hook: render(client, ...more) };
}

type Change = "show" | "reconnect";
const change = <Does extends Change>(client: FakeClient, does: Does, ...given: Parameters<FakeClient[Does]>) => {
  act(() => {
    (client[does] as (...given: unknown[]) => void)(...given);
  });
};
const pass = (ms: number) => {
  act(() => {
    vi.advanceTimersByTime(ms);
  });
};
/** Expects that the client has no listeners, and that no timer is left. */
const expectNothingLeft = (client: FakeClient) => {
  pass(0);
  expect(client.watchers).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
};
/** Answers all calls for the server's time, without delay. */
const say = async (time: number | Error, client: FakeClient) => {
  await act(async () => {
    for (let sample = 0; sample < 3; sample++) {
      client.answer(time);
      await flush();
    }
  });
};
const flush = async () => {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
};

describe("status", () => {
  it("is undefined while loading, and then the projection of the snapshot", () => {
    const client = new FakeClient();
    const hook = render(client);
    expect(hook.status).toBeUndefined();
    expect(hook.check()).toBeUndefined();
    change(client, "show", empty);
    expect(hook.status).toEqual({ ...projectRateLimit(snapshotBy(empty), { now: NOW }), value: 0 });
    expect(hook.status).toMatchObject({ ok: false, retryAt: NOW + 100 });
  });

  it("comes with the plan and the config in force, and the hook renders if only they change", () => {
    const client = new FakeClient();
    const free = { ...snapshotBy({ ...window, value: 4 }), plan: "free" };
    client.show(free);
    const hook = render(client, { count: 0 });
    expect(hook.result.limit).toEqual({ plan: "free", tokens: 10, config: free.config });
    change(client, "show", { ...free, plan: "pro" });
    expect(hook.renders).toBe(1);
    expect(hook.result.limit).toMatchObject({ plan: "pro", tokens: 10 });
    // The override ends by itself.
    const raised = { ...window, value: 14, config: { ...window.config, capacity: 20 } } as StoredBucket;
    change(client, "show", { ...free, override: { ...snapshotBy(raised), until: NOW + 200 } });
    expect(hook.result).toMatchObject({ limit: { tokens: 20, config: { capacity: 20 } }, status: { remaining: 14 } });
    pass(200);
    expect(hook.result).toMatchObject({ limit: { plan: "free", tokens: 10 }, status: { remaining: 4 } });
    const { renders } = hook;
    change(client, "show", structuredClone(free));
    expect(hook.renders).toBe(renders);
  });

  it.each(changes)("shows %s", (_when, shown, demand, ...answers) => {
    const { hook } = showing(shown, demand);
    // An act shows several renders as one at its end, so each change has its own act.
    for (const ms of answers.map((answer) => Number.parseInt(answer))) {
      pass(Math.max(0, NOW + ms - 1 - Date.now()));
      pass(NOW + ms - Date.now());
    }
    pass(DAY);
    expect(hook.history).toEqual(answers);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("follows the snapshot and the demand, and the snapshot is kept when the demand changes", () => {
    const client = new FakeClient();
    client.isForgetful = true;
    client.show({ ...empty, value: 5 });
    const hook = render(client, { count: 5 });
    expect(hook.status).toMatchObject({ ok: true, remaining: 0 });
    hook.rerender({ count: 6, reserve: true });
    expect(hook.status).toMatchObject({ ok: true, retryAt: NOW + 100 });
    change(client, "show", empty);
    expect(hook.status).toMatchObject({ ok: true, retryAt: NOW + 600 });
    hook.unmount();
    expectNothingLeft(client);
  });

  it("changes with the key, and is never the old one under the new key", () => {
    const client = new FakeClient();
    client.show(empty, "ann");
    const hook = render(client, { key: "ann" });
    expect(hook.status?.ok).toBe(false);
    hook.rerender({ key: "bob" });
    expect(hook.status).toBeUndefined();
    change(client, "show", { ...empty, value: 3 }, "bob");
    expect(hook.status).toMatchObject({ ok: true, remaining: 2 });
  });

  it("follows the query and the client, and a new object for the same query changes nothing", () => {
    const queries = [getRateLimit, sameQuery(), otherQuery];
    const client = new FakeClient();
    const asked = vi.spyOn(client, "watchQuery");
    let given = client;
    let query = getRateLimit;
    const seen: (boolean | undefined)[] = [];
    const Show = () => {
      seen.push(useRateLimit(query).status?.ok);
      return null;
    };
    const App = () => given.wrapper({ children: createElement(Show) });
    const { rerender } = renderPage(createElement(App));
    for (query of queries) rerender(createElement(App));
    expect(asked.mock.calls.map(([reference]) => reference)).toEqual([getRateLimit, otherQuery]);
    given = new FakeClient();
    given.show(empty);
    rerender(createElement(App));
    expect(seen.at(-1)).toBe(false);
    pass(0);
    expect(client.watchers).toBe(0);
  });

  it("stays the same if the references are new objects each time, as `api` gives them", async () => {
    const client = new FakeClient();
    client.show(empty);
    const api = anyApi as unknown as { limits: { getServerTime: typeof getServerTime } };
    const given = () => ({ getServerTime: api.limits.getServerTime });
    expect(given().getServerTime).not.toBe(given().getServerTime);
    const hook = render(client, given());
    await say(NOW, client);
    const { result } = hook;
    expect(result.status).toMatchObject({ ok: false, retryAt: NOW + 100 });
    hook.rerender(given());
    expect(hook.result).toBe(result);
  });

  it('is undefined for "skip", makes no query, and continues afterwards', () => {
    const { client, hook } = showing(empty, "skip");
    expect(hook.status).toBeUndefined();
    expect(hook.check()).toBeUndefined();
    expect(client.watchers).toBe(0);
    hook.rerender({ getServerTime });
    expect(hook.status).toBeUndefined();
    expect(client.watchers).toBeGreaterThan(0);
    hook.rerender("skip");
    expectNothingLeft(client);
    expect(hook.status).toBeUndefined();
  });

  it("is an error for a count below 0", () => {
    vi.spyOn(console, "error").mockReturnValue();
    const client = new FakeClient();
    client.show(empty);
    expect(() => render(client, { count: -1 })).toThrow('"send": count must be from 0 to 10, got -1');
  });

  it("works in strict mode", () => {
    const { client, hook } = showing(empty, {}, { strict: true });
    pass(100);
    expect(hook.status).toMatchObject({ ok: true });
    hook.unmount();
    expectNothingLeft(client);
  });
});

describe("identities", () => {
  it("result, status and check are the same objects until something changes", () => {
    const { hook } = showing(empty, { count: 1 });
    const { result } = hook;
    pass(50);
    hook.rerender({ count: 1 });
    expect(hook.result).toBe(result);
    expect(hook.renders).toBe(1);
    pass(50);
    expect(hook.result).not.toBe(result);
    expect(hook.result.check).toBe(result.check);
  });
});

describe("check", () => {
  it("and status agree with projectRateLimit at any time, for any limit", () => {
    const atMost = (max: number) => fc.integer({ min: 1, max });
    const sizes = { rate: atMost(50), period: atMost(100_000), capacity: atMost(50) };
    const start = fc.integer({ min: -1_000_000, max: 1_000_000 });
    const configs = fc.oneof(
      fc.record({ kind: fc.constant("token bucket" as const), ...sizes }),
      fc.record({ kind: fc.constant("fixed window" as const), ...sizes, start }),
    );
    const steps = fc.array(fc.integer({ min: 0, max: 50_000 }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(configs, fc.integer({ min: -50, max: 50 }), fc.boolean(), steps, (config, value, reserve, waits) => {
        vi.setSystemTime(NOW);
        const snapshot = { name: "any", value: Math.min(value, config.capacity), ts: NOW, config };
        const client = new FakeClient();
        client.show(snapshot);
        const hook = render(client, { reserve });
        for (const wait of waits) {
          pass(wait);
          const truth = projectRateLimit(snapshotBy(snapshot), { now: Date.now(), reserve });
          expect(hook.check()).toMatchObject(truth);
          expect(hook.status?.ok).toBe(truth.ok);
          expect(hook.status?.retryAt).toBe(truth.retryAt);
        }
        hook.unmount();
      }),
      { numRuns: runs(200) },
    );
  });
});

describe("with the server's time", () => {
  it("useServerNow returns the same time, always through the same function", async () => {
    vi.setSystemTime(NOW - 5 * MINUTE);
    const client = new FakeClient();
    const { result, rerender } = renderHook(() => useServerNow(), { wrapper: client.wrapper });
    const now = result.current;
    expect(now()).toBe(NOW - 5 * MINUTE);
    render(client, { getServerTime });
    await say(NOW, client);
    rerender();
    expect(result.current).toBe(now);
    expect(now()).toBe(NOW);
  });

  it("the clock is measured once for all hooks of a client, also for those without getServerTime", async () => {
    vi.setSystemTime(NOW - 5 * MINUTE);
    const client = new FakeClient();
    client.show(empty);
    const first = render(client, { getServerTime });
    const second = render(client, { getServerTime });
    const third = render(client);
    expect(third.status).toMatchObject({ ok: false });
    expect(client.asked).toBe(1);
    await say(NOW + 100, client);
    expect(client.asked).toBe(3);
    for (const hook of [first, second, third]) expect(hook.status).toMatchObject({ ok: true });
  });

  it("the time is not requested before there is a connection", () => {
    const client = new FakeClient({ isConnected: false });
    render(client, { getServerTime });
    expect(client.asked).toBe(0);
    change(client, "reconnect");
    expect(client.asked).toBe(1);
  });

  it("the hook uses the browser's clock if the server gives no time", async () => {
    const errors = vi.spyOn(console, "error").mockReturnValue();
    const { client, hook } = showing(empty, { getServerTime });
    await say(new Error("no such function"), client);
    expect(hook.status).toMatchObject({ ok: false, retryAt: NOW + 100 });
    expect(errors).toHaveBeenCalledOnce();
  });
});
