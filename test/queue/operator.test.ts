/** Jobs that wait obey what an operator decides about their key: before they are enqueued, and while their worker sleeps. */
import { describe, expect, it } from "vitest";
import { MINUTE } from "convex-rate-limits";
import type { RateLimitOverride } from "convex-rate-limits/admin";
import { NOW, useClock } from "../support/clock.js";
import { placeNames } from "../support/places.js";
import { firstOf } from "../support/random.js";
import { useQueues } from "../support/queues.js";

useClock();

/** One job of 10 tokens a minute. */
const config = { kind: "token bucket", rate: 10, period: MINUTE, capacity: 10 } as const;
const slow = { ...config, keyed: true, queue: {} };
const until = NOW + 10 * MINUTE;

describe.each(firstOf(1, placeNames))("in the %s", (place) => {
  const open = () => {
    const bucket = { key: "a" };
    const queues = useQueues(place, { llm: slow }, { count: 10, ...bucket });
    return {
      ...queues,
      override: (args: RateLimitOverride) => queues.override({ ...bucket, ...args }),
      clear: () => queues.write((ctx, own) => own.clearRateLimitOverride(ctx, { name: "llm", ...bucket })),
      pause: () => queues.pauseFor(until - Date.now(), bucket),
    };
  };

  it.each<[how: string, override: RateLimitOverride, seconds: readonly string[]]>([
    ["a block until it ends", { block: true, until }, ["1 600", "2 660", "3 720"]],
    ["more", { more: 10 }, ["1 0", "2 0", "3 30"]],
    ["unlimited", { unlimited: true }, ["1 0", "2 0", "3 0"]],
    [
      "a lower config until it ends",
      { config: { ...config, rate: 1 }, until: NOW + 2 * MINUTE },
      ["1 0", "2 120", "3 180"],
    ],
    ["a lower config", { config: { ...config, rate: 1 } }, ["1 0", "2 600", "3 1200"]],
  ])("jobs that are enqueued then obey %s", async (_how, override, expected) => {
    const { enqueueAll, ...queue } = open();
    await queue.override(override);
    await enqueueAll(["1", "2", "3"]);
    await queue.until(60 * MINUTE);
    expect(queue.seconds()).toEqual(expected);
  });

  it("a block stops jobs that wait, also those of a second from then, and its end is when their turn comes", async () => {
    const { enqueueAll, jobOf, pass, position, ...queue } = open();
    await enqueueAll(["1", "2"]);
    const third = await jobOf("3");
    await pass(1000);
    await queue.override({ block: true, until });
    await pass(2 * MINUTE);
    // Nobody knows when an operator lets it start.
    expect(await position(third)).toEqual({ ahead: 1 });
    expect(queue.order()).toEqual(["1"]);
    await queue.until(30 * MINUTE);
    expect(queue.seconds()).toEqual(["1 0", "2 600", "3 660"]);
  });

  it.each<[how: string, act: "clear" | "more" | "unlimited", seconds: readonly string[]]>([
    ["a block that is cleared", "clear", ["1 300", "2 360"]],
    ["a block that more replaces", "more", ["1 300", "2 300"]],
    ["a block that unlimited replaces", "unlimited", ["1 300", "2 300"]],
  ])("%s lets jobs start at once", async (_how, act, expected) => {
    const { enqueueAll, pass, ...queue } = open();
    await queue.override({ block: true });
    await enqueueAll(["1", "2"]);
    await pass(5 * MINUTE);
    expect(queue.order()).toEqual([]);
    if (act === "clear") await queue.clear();
    else await queue.override(act === "more" ? { more: 10 } : { unlimited: true });
    await pass(5 * MINUTE);
    expect(queue.seconds()).toEqual(expected);
  });

  it("a pause stops jobs that wait until it ends, whatever their limit is then", async () => {
    const { enqueueAll, pass, ...queue } = open();
    await enqueueAll(["1", "2"]);
    await pass(1000);
    await queue.pause();
    await queue.override({ unlimited: true });
    await enqueueAll(["3"]);
    await queue.until(30 * MINUTE);
    expect(queue.seconds()).toEqual(["1 0", "2 600", "3 600"]);
  });

  it("a pause that is set before the first job leaves nothing to start with at its end", async () => {
    const { enqueueAll, ...queue } = open();
    await queue.pause();
    await enqueueAll(["1", "2"]);
    await queue.until(30 * MINUTE);
    expect(queue.seconds()).toEqual(["1 660", "2 720"]);
  });
});
