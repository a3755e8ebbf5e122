/** Steps of a test that make hooks render. */
import { act } from "@testing-library/react";
import { vi } from "vitest";
import type { FakeClient } from "./fakeClient.js";

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
