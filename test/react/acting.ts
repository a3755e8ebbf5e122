/** How tests render hooks, and the steps that make them render again. */
import { act, renderHook } from "@testing-library/react";
import { vi } from "vitest";
import type { FakeClient } from "./fakeClient.js";

/** Renders a hook, without a client unless one is given. `seen` has what it returned, for each render. */
export function render<Given, Shown>(
  hook: (given: Given) => Shown,
  initialProps: Given,
  client?: FakeClient,
  reactStrictMode = false,
) {
  const seen: Shown[] = [];
  const noting = (given: Given) => {
    const shown = hook(given);
    seen.push(shown);
    return shown;
  };
  const wrapped = client && { wrapper: client.wrapper };
  return { ...renderHook(noting, { initialProps, reactStrictMode, ...wrapped }), seen };
}

export const pass = (ms: number) => {
  act(() => {
    vi.advanceTimersByTime(ms);
  });
};

/** Answers all calls for the server's time, without delay. */
export const say = async (time: number | Error, client: FakeClient) => {
  await act(async () => {
    for (let sample = 0; sample < 3; sample++) {
      client.answer(time);
      await vi.advanceTimersByTimeAsync(0);
    }
  });
};
