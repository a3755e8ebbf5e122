// @vitest-environment jsdom
/** The place of a queued job, by the server's clock. */
import { act, cleanup, renderHook } from "@testing-library/react";
import { MINUTE, SECOND } from "convex-rate-limits";
import type { RateLimitQueuePosition } from "convex-rate-limits/queue";
import { type QueuePlaceQuery, useQueuePlace, type UseQueuePlaceOptions } from "convex-rate-limits/react";
import { makeFunctionReference } from "convex/server";
import { afterEach, expect, expectTypeOf, it, vi } from "vitest";
import { useClock } from "../support/clock.js";
import { FakeClient, type getServerTime } from "./fakeClient.js";

const NOW = 1_800_000_000_000;
const getQueued: QueuePlaceQuery = makeFunctionReference("limits:getQueued");
const third: RateLimitQueuePosition = { ahead: 2, isExact: true, runAt: NOW + 2500 };

useClock(NOW);
afterEach(cleanup);

function render(client: FakeClient, job?: string, options?: () => UseQueuePlaceOptions) {
  const places: unknown[] = [];
  const hook = renderHook(
    (id: string | undefined) => {
      const place = useQueuePlace(getQueued, id, options?.());
      places.push(place);
      return place;
    },
    { initialProps: job, wrapper: client.wrapper },
  );
  return { ...hook, places };
}

const pass = async (ms: number) => {
  await act(async () => await vi.advanceTimersByTimeAsync(ms));
};

it("useQueuePlace is undefined while loading, then the place with the seconds until the job starts, and null when it has started", async () => {
  const client = new FakeClient();
  const { result, places } = render(client, "a");
  expect(result.current).toBeUndefined();
  await act(async () => {
    client.answerQuery({ job: "a" }, third);
    await Promise.resolve();
  });
  expect(result.current).toEqual({ ...third, seconds: 3 });
  places.length = 0;
  await pass(500);
  await pass(1000);
  await pass(1000);
  await pass(MINUTE);
  expect(places).toMatchObject([{ seconds: 2 }, { seconds: 1 }, { seconds: 0 }]);
  await act(async () => {
    client.answerQuery({ job: "a" }, null);
    await Promise.resolve();
  });
  expect(result.current).toBeNull();
  expect(vi.getTimerCount()).toBe(0);
});

it("useQueuePlace follows the server's clock, even if the browser's is wrong, and is undefined until that is known", async () => {
  vi.setSystemTime(NOW - 5 * MINUTE);
  const client = new FakeClient();
  client.answerQuery({ job: "a" }, third);
  // `api` also gives references as a new object each time.
  const { result } = render(client, "a", () => ({
    getServerTime: makeFunctionReference<"mutation">("limits:getServerTime") as typeof getServerTime,
  }));
  expect(result.current).toBeUndefined();
  for (let sample = 0; sample < 3; sample++) {
    client.answer(NOW);
    await pass(0);
  }
  expect(result.current).toEqual({ ...third, seconds: 3 });
  await pass(SECOND);
  expect(result.current).toEqual({ ...third, seconds: 2 });
  expect(client.asked).toBe(3);
});

it("useQueuePlace makes no query without a job, and follows a change of the job", () => {
  const client = new FakeClient();
  client.answerQuery({ job: "b" }, { ...third, ahead: 7 });
  const { result, rerender } = render(client);
  expect(result.current).toBeUndefined();
  expect(client.watchers).toBe(0);
  rerender("b");
  expect(result.current).toMatchObject({ ahead: 7 });
});

it("useQueuePlace takes the query that exposeQueue exports", () => {
  expectTypeOf<NonNullable<QueuePlaceQuery["_returnType"]>>().toEqualTypeOf<RateLimitQueuePosition>();
  expectTypeOf<QueuePlaceQuery["_args"]>().toEqualTypeOf<{ job: string }>();
});
