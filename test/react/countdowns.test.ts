// @vitest-environment jsdom
/** The hooks that count seconds down by the server's clock, and a page that a server has rendered. */
import { act, cleanup, render as renderPage } from "@testing-library/react";
import { MINUTE, SECOND } from "convex-rate-limits";
import type { RateLimitQueuePosition } from "convex-rate-limits/queue";
import { type QueuePlaceQuery, useCountdown, useQueuePlace, useRateLimit } from "convex-rate-limits/react";
import { makeFunctionReference } from "convex/server";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { afterEach, expect, expectTypeOf, it, vi } from "vitest";
import { useClock } from "../support/clock.js";
import { pass, render, say } from "./acting.js";
import { empty, FakeClient, getRateLimit, getServerTime, NOW } from "./fakeClient.js";

const getQueued: QueuePlaceQuery = makeFunctionReference("limits:getQueued");
const third: RateLimitQueuePosition = { ahead: 2, startsAt: NOW + 2500 };

useClock(NOW);
afterEach(cleanup);

const renderCountdown = (time: number | undefined, client?: FakeClient) => render(useCountdown, time, client);

it("useCountdown counts whole seconds down to 0, rounded up, so that 0 means over, and renders once for each", () => {
  const timers = vi.spyOn(globalThis, "setTimeout");
  const { result, seen } = renderCountdown(NOW + 1001);
  const shown = [0, 1, 999, 1].map((ms) => {
    pass(ms);
    return result.current;
  });
  expect(shown).toEqual([2, 1, 1, 0]);
  expect(seen).toEqual([2, 1, 0]);
  expect(timers.mock.calls.map(([, ms]) => ms)).toEqual([1, 1000]);
  expect(vi.getTimerCount()).toBe(0);
});

it("useCountdown is 0 for a time that is past, undefined without a time, and sets no timer for a time that never comes", () => {
  const { result, rerender } = renderCountdown(NOW - 1);
  expect(result.current).toBe(0);
  rerender(undefined);
  expect(result.current).toBeUndefined();
  // The last time of a Date: the retryAt of a block without an end.
  for (const never of [Infinity, 8.64e15]) {
    rerender(never);
    expect(result.current).toBe(Infinity);
    expect(vi.getTimerCount()).toBe(0);
  }
  rerender(NOW + SECOND);
  expect(result.current).toBe(1);
});

it("useCountdown cannot ask the server for its time without a provider", () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  expect(() => render(() => useCountdown(NOW, getServerTime), undefined)).toThrow(
    "useCountdown needs a ConvexProvider for getServerTime.",
  );
});

it("useCountdown counts down months", () => {
  const { seen } = renderCountdown(NOW + 100 * 24 * 60 * MINUTE);
  pass(SECOND);
  expect(seen).toEqual([100 * 24 * 3600, 100 * 24 * 3600 - 1]);
});

it("useCountdown follows the server's clock if any hook of the page has measured it", async () => {
  vi.setSystemTime(NOW - 5 * MINUTE);
  const client = new FakeClient();
  client.show({ name: "send", value: 0, ts: NOW, config: { kind: "token bucket", rate: 1, period: 10 * SECOND } });
  render(() => useRateLimit(getRateLimit, { getServerTime }), undefined, client);
  const { result } = renderCountdown(NOW + 10 * SECOND, client);
  await say(NOW, client);
  expect(result.current).toBe(10);
  pass(10 * SECOND);
  expect(result.current).toBe(0);
});

const renderPlace = (client: FakeClient, job?: string, options?: () => { getServerTime: typeof getServerTime }) =>
  render((id: string | undefined) => useQueuePlace(getQueued, id, options?.()), job, client);
const answer = (client: FakeClient, place: RateLimitQueuePosition | null) => {
  act(() => {
    client.answerQuery({ job: "a" }, place);
  });
};

it("useQueuePlace is undefined while loading, then the place with the seconds until the job starts, and null when it has started", () => {
  const client = new FakeClient();
  const { result, seen } = renderPlace(client, "a");
  expect(result.current).toBeUndefined();
  answer(client, third);
  expect(result.current).toEqual({ ...third, seconds: 3 });
  answer(client, { ...third, ahead: 1 });
  expect(result.current).toEqual({ ...third, ahead: 1, seconds: 3 });
  seen.length = 0;
  for (const ms of [500, 1000, 1000, MINUTE]) pass(ms);
  expect(seen).toMatchObject([{ seconds: 2 }, { seconds: 1 }, { seconds: 0 }]);
  answer(client, null);
  expect(result.current).toBeNull();
  expect(vi.getTimerCount()).toBe(0);
});

it("useQueuePlace follows the server's clock, even if the browser's is wrong, and is undefined until that is known", async () => {
  vi.setSystemTime(NOW - 5 * MINUTE);
  const client = new FakeClient();
  answer(client, third);
  const listen = vi.spyOn(client, "subscribeToConnectionState");
  // `api` also gives references as a new object each time.
  const { result } = renderPlace(client, "a", () => ({
    getServerTime: makeFunctionReference<"mutation">("limits:getServerTime") as typeof getServerTime,
  }));
  expect(result.current).toBeUndefined();
  await say(NOW, client);
  expect(result.current).toEqual({ ...third, seconds: 3 });
  pass(SECOND);
  expect(result.current).toEqual({ ...third, seconds: 2 });
  expect(client.asked).toBe(3);
  expect(listen).toHaveBeenCalledOnce();
});

it("useQueuePlace makes no query without a job, and follows a change of the job", () => {
  const client = new FakeClient();
  answer(client, { ...third, ahead: 7 });
  const { result, rerender, seen } = renderPlace(client);
  expect(result.current).toBeUndefined();
  expect(client.watchers).toBe(0);
  for (const job of ["a", "a"]) rerender(job);
  expect(result.current).toMatchObject({ ahead: 7 });
  expect(seen.at(-1)).toBe(seen.at(-2));
});

it("useQueuePlace takes the query that exposeQueue exports", () => {
  expectTypeOf<NonNullable<QueuePlaceQuery["_returnType"]>>().toEqualTypeOf<RateLimitQueuePosition>();
  expectTypeOf<QueuePlaceQuery["_args"]>().toEqualTypeOf<{ job: string }>();
});

it("a server renders no answer that depends on the time, so hydration finds no mismatch", () => {
  const errors = vi.spyOn(console, "error").mockReturnValue();
  const client = new FakeClient();
  const Limit = () => {
    const { status } = useRateLimit(getRateLimit);
    const seconds = useCountdown(NOW + 90 * SECOND);
    return createElement("p", null, status ? `ok ${status.ok}` : "loading", " ", seconds ?? "…");
  };
  const page = createElement(client.wrapper, null, createElement(Limit));
  // The worst case: both sides have the snapshot, and the browser renders a minute later.
  client.show(empty);
  const container = document.body.appendChild(document.createElement("div"));
  container.innerHTML = renderToString(page);
  expect(container.textContent).toContain("loading");
  vi.setSystemTime(NOW + MINUTE);
  const onRecoverableError = vi.fn();
  renderPage(page, { container, hydrate: true, onRecoverableError });
  expect(onRecoverableError).not.toHaveBeenCalled();
  expect(errors).not.toHaveBeenCalled();
  expect(container.textContent).toBe("ok true 30");
});
