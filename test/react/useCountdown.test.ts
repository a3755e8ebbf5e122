// @vitest-environment jsdom
import { act, cleanup, renderHook } from "@testing-library/react";
import { MINUTE, SECOND } from "convex-rate-limits";
import { useCountdown, useRateLimit } from "convex-rate-limits/react";
import { afterEach, expect, it, vi } from "vitest";
import { useClock } from "../support/clock.js";
import { FakeClient, getRateLimit, getServerTime } from "./fakeClient.js";

const NOW = 1_800_000_000_000;

useClock(NOW);
afterEach(cleanup);

function render(time: number | undefined, wrapper?: FakeClient["wrapper"]) {
  const seen: (number | undefined)[] = [];
  const hook = renderHook(
    (given: number | undefined) => {
      const seconds = useCountdown(given);
      seen.push(seconds);
      return seconds;
    },
    { initialProps: time, ...(wrapper && { wrapper }) },
  );
  return { ...hook, seen };
}

const pass = (ms: number) => {
  act(() => {
    vi.advanceTimersByTime(ms);
  });
};

it("useCountdown counts whole seconds down to 0, rounded up, so that 0 means over, and renders once for each", () => {
  const timers = vi.spyOn(globalThis, "setTimeout");
  const { result, seen } = render(NOW + 1001);
  const shown = [0, 1, 999, 1].map((ms) => {
    pass(ms);
    return result.current;
  });
  expect(shown).toEqual([2, 1, 1, 0]);
  expect(seen).toEqual([2, 1, 0]);
  expect(timers.mock.calls.map(([, ms]) => ms)).toEqual([1, 1000]);
  expect(vi.getTimerCount()).toBe(0);
});

it("useCountdown is 0 for a time that is past, and undefined without a time", () => {
  const { result, rerender } = render(NOW - 1);
  expect(result.current).toBe(0);
  rerender(undefined);
  expect(result.current).toBeUndefined();
  expect(vi.getTimerCount()).toBe(0);
  rerender(NOW + SECOND);
  expect(result.current).toBe(1);
});

it("useCountdown counts down months", () => {
  const { result, seen } = render(NOW + 100 * 24 * 60 * MINUTE);
  expect(result.current).toBe(100 * 24 * 3600);
  pass(SECOND);
  expect(result.current).toBe(100 * 24 * 3600 - 1);
  expect(seen).toHaveLength(2);
});

it("useCountdown follows the server's clock if any hook of the page has measured it", async () => {
  vi.setSystemTime(NOW - 5 * MINUTE);
  const client = new FakeClient();
  client.show({ name: "send", value: 0, ts: NOW, config: { kind: "token bucket", rate: 1, period: 10 * SECOND } });
  renderHook(() => useRateLimit(getRateLimit, { getServerTime }), { wrapper: client.wrapper });
  const { result } = render(NOW + 10 * SECOND, client.wrapper);
  await act(async () => {
    client.answer(NOW);
    await Promise.resolve();
  });
  expect(result.current).toBe(10);
  pass(10 * SECOND);
  expect(result.current).toBe(0);
});
