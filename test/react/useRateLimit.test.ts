// @vitest-environment jsdom
/** The hook on the store. test/browser tests which answers the store shows, and when. */
import { act, cleanup, render as renderPage, renderHook } from "@testing-library/react";
import { MINUTE } from "convex-rate-limits";
import { projectRateLimit } from "convex-rate-limits/client";
import { type RateLimitQuery, useRateLimit, type UseRateLimitOptions, useServerNow } from "convex-rate-limits/react";
import { anyApi, makeFunctionReference } from "convex/server";
import { createElement } from "react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { useClock } from "../support/clock.js";
import { pass, render as renderNoting, say } from "./acting.js";
import { empty, FakeClient, getRateLimit, getServerTime, NOW } from "./fakeClient.js";
import { snapshotBy } from "../support/snapshots.js";

const sameQuery = (): RateLimitQuery => makeFunctionReference("limits:getRateLimit");
const otherQuery: RateLimitQuery = makeFunctionReference("limits:getOther");

useClock(NOW);
afterEach(cleanup);

type Options = UseRateLimitOptions | "skip";
const render = (client: FakeClient, options?: Options, isStrict = false) =>
  renderNoting((given: Options | undefined) => useRateLimit(getRateLimit, given), options, client, isStrict);

/** Opens a client that has this snapshot, and a hook that shows it. */
function showing(shown: Parameters<FakeClient["show"]>[0], options?: Options, isStrict = false) {
  const client = new FakeClient();
  client.show(shown);
  return { client, hook: render(client, options, isStrict) };
}

const show = (client: FakeClient, ...shown: Parameters<FakeClient["show"]>) => {
  act(() => {
    client.show(...shown);
  });
};
/** Expects that the client has no listeners, and that no timer is left. */
const expectNothingLeft = (client: FakeClient) => {
  pass(0);
  expect(client.watchers).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
};
describe("status", () => {
  it("is undefined while loading, and then the projection of the snapshot", () => {
    const client = new FakeClient();
    const hook = render(client);
    expect(hook.result.current.status).toBeUndefined();
    expect(hook.result.current.check()).toBeUndefined();
    show(client, empty);
    expect(hook.result.current.status).toEqual({ ...projectRateLimit(snapshotBy(empty), { now: NOW }), value: 0 });
    expect(hook.result.current.status).toMatchObject({ ok: false, retryAt: NOW + 100 });
  });

  it("comes with the limit in force, and the hook renders if only that changes", () => {
    const free = { ...snapshotBy(empty), plan: "free" };
    const { client, hook } = showing(free);
    show(client, { ...free, plan: "pro" });
    expect(hook.seen).toHaveLength(2);
    expect(hook.result.current.limit).toEqual({ plan: "pro", tokens: 10, config: free.config });
    const other = snapshotBy({ ...empty, config: { kind: "fixed window", rate: 5, period: MINUTE, capacity: 10 } });
    show(client, { ...free, override: { ...other, until: NOW + 50 } });
    expect(hook.result.current.limit).toEqual({ plan: undefined, tokens: 10, config: other.config });
    pass(50);
    expect(hook.result.current.limit).toMatchObject({ plan: "free" });
  });

  it("follows the snapshot and the demand, and the snapshot is kept when the demand changes", () => {
    const client = new FakeClient();
    client.isForgetful = true;
    client.show({ ...empty, value: 5 });
    const hook = render(client, { count: 5 });
    expect(hook.result.current.status).toMatchObject({ ok: true, remaining: 0 });
    hook.rerender({ count: 6, reserve: true });
    expect(hook.result.current.status).toMatchObject({ ok: true, retryAt: NOW + 100 });
    show(client, empty);
    expect(hook.result.current.status).toMatchObject({ ok: true, retryAt: NOW + 600 });
    hook.unmount();
    expectNothingLeft(client);
  });

  it("changes with the key, and is never the old one under the new key", () => {
    const client = new FakeClient();
    client.show(empty, "ann");
    const hook = render(client, { key: "ann" });
    expect(hook.result.current.status?.ok).toBe(false);
    hook.rerender({ key: "bob" });
    expect(hook.result.current.status).toBeUndefined();
    show(client, { ...empty, value: 3 }, "bob");
    expect(hook.result.current.status).toMatchObject({ ok: true, remaining: 2 });
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
    const { current: result } = hook.result;
    expect(result.status).toMatchObject({ ok: false, retryAt: NOW + 100 });
    hook.rerender(given());
    expect(hook.result.current).toBe(result);
  });

  it('is undefined for "skip", makes no query, and continues afterwards', () => {
    const { client, hook } = showing(empty, "skip");
    expect(hook.result.current.status).toBeUndefined();
    expect(hook.result.current.check()).toBeUndefined();
    expect(client.watchers).toBe(0);
    hook.rerender({ getServerTime });
    expect(hook.result.current.status).toBeUndefined();
    expect(client.watchers).toBeGreaterThan(0);
    hook.rerender("skip");
    expectNothingLeft(client);
    expect(hook.result.current.status).toBeUndefined();
  });

  it("is an error for a count below 0", () => {
    vi.spyOn(console, "error").mockReturnValue();
    expect(() => showing(empty, { count: -1 })).toThrow('"send": count must be a finite number of at least 0, got -1');
  });

  it("is the same object, as are the result and check, until something changes", () => {
    const { hook } = showing(empty, { count: 2 });
    const { current: result } = hook.result;
    pass(50);
    hook.rerender({ count: 2 });
    expect(hook.result.current).toBe(result);
    expect(hook.seen).toHaveLength(2);
    expect(result.check()).toMatchObject({ ok: false, retryAt: NOW + 200, value: 0.5 });
    expect(result.check({ reserve: true })).toMatchObject({ ok: true, retryAt: NOW + 200 });
    pass(150);
    expect(hook.result.current).not.toBe(result);
    expect(hook.result.current.check).toBe(result.check);
  });

  it("works in strict mode", () => {
    const { client, hook } = showing(empty, {}, true);
    pass(100);
    expect(hook.result.current.status).toMatchObject({ ok: true });
    hook.unmount();
    expectNothingLeft(client);
  });
});

describe("with the server's time", () => {
  it("useServerNow returns the same time, always through the same function", async () => {
    vi.setSystemTime(NOW - 5 * MINUTE);
    const client = new FakeClient();
    const { result, rerender } = renderHook(() => useServerNow(), { wrapper: client.wrapper });
    const now = result.current;
    expect(now()).toBe(NOW - 5 * MINUTE);
    client.show({ ...empty, ts: NOW - MINUTE });
    const hook = render(client, { getServerTime });
    await say(NOW, client);
    rerender();
    expect(result.current).toBe(now);
    expect(now()).toBe(NOW);
    expect(hook.result.current.check()).toMatchObject({ ok: true, value: 10 });
    const { result: alone } = renderHook(() => useServerNow());
    expect(alone.current()).toBe(Date.now());
  });

  it("the time is not requested before there is a connection", () => {
    const client = new FakeClient({ isConnected: false });
    render(client, { getServerTime });
    expect(client.asked).toBe(0);
    act(() => {
      client.reconnect();
    });
    expect(client.asked).toBe(1);
  });

  it("the hook uses the browser's clock if the server gives no time", async () => {
    const errors = vi.spyOn(console, "error").mockReturnValue();
    const { client, hook } = showing(empty, { getServerTime });
    await say(new Error("no such function"), client);
    expect(hook.result.current.status).toMatchObject({ ok: false, retryAt: NOW + 100 });
    expect(errors).toHaveBeenCalledOnce();
  });
});
