/** Queues whose jobs also take from other limits: a job starts when all of them can pay, and takes from all or from none. */
import { describe, expect, it, vi } from "vitest";
import { HOUR, MINUTE, type RateLimitDefinitions, SECOND } from "convex-rate-limits";
import { parseQueue } from "../../src/queue/terms.js";
import { NOW, useClock } from "../support/clock.js";
import { changeIn, placeNames } from "../support/places.js";
import { firstOf } from "../support/random.js";
import { useQueues } from "../support/queues.js";

useClock();

/** The first run: time passes in steps of 10 ms. */
const FIRST = NOW + 10;

/** 10 tokens a second, and 2 requests a minute. */
const llm = {
  kind: "token bucket",
  rate: 10,
  period: SECOND,
  capacity: 100,
  queue: { with: { requests: 1 } },
} as const;
const requests = { kind: "token bucket", rate: 2, period: MINUTE, capacity: 2 } as const;
const both: RateLimitDefinitions = { llm, requests };

it("terms from the wire in which a job could never be paid are refused", () => {
  const { queue: _, ...config } = llm;
  const terms = { name: "llm", queue: {}, configs: [{ config }] };
  const second = { name: "requests", count: 3, isShared: false, configs: [{ config: requests }] };
  const parse = () => parseQueue({ ...terms, with: [second] }, {});
  expect(parse).toThrow('Rate limit "llm": queue.with.requests must be a number above 0 and at most 2, got 3.');
});

describe.each(firstOf(1, placeNames))("in the %s", (place) => {
  const open = (limits: RateLimitDefinitions = both, joining: object = {}) => useQueues(place, limits, joining);

  it("a job starts when the last of its limits can pay, and takes from all of them then", async () => {
    const { enqueueAll, until, seconds, snapshot } = open();
    await enqueueAll(["1", "2", "3", "4"], { count: 40 });
    await until(10 * MINUTE);
    // The tokens of the third are there after 2 s, its request after 30 s.
    expect(seconds()).toEqual(["1 0", "2 0", "3 30", "4 60"]);
    expect(await snapshot()).toMatchObject({ value: 60, ts: NOW + MINUTE });
    expect(await snapshot({ name: "requests" })).toMatchObject({ value: 0, ts: NOW + MINUTE });
  });

  it("the tokens of a job that waits for another limit stay for plain calls", async () => {
    const { enqueueAll, pass, take, until, seconds } = open();
    await enqueueAll(["1", "2", "3"], { count: 1 });
    await pass(MINUTE / 4);
    expect(await take({ name: "llm", count: 100 })).toMatchObject({ ok: true });
    await until(10 * MINUTE);
    expect(seconds()).toEqual(["1 0", "2 0", "3 30"]);
  });

  it("a job pays nothing ahead, so plain calls of its second limit may take before it", async () => {
    const { enqueueAll, pass, take, until, seconds } = open();
    await enqueueAll(["1", "2", "3"]);
    await pass(30 * SECOND - 100);
    // The worker sleeps, and has promised nothing: the request that comes next goes to whoever takes it first.
    expect(await take({ name: "requests", reserve: true })).toMatchObject({ ok: true, retryAt: FIRST + 30 * SECOND });
    await until(10 * MINUTE);
    expect(seconds()).toEqual(["1 0", "2 0", "3 60"]);
  });

  it("a full queue says when the last of the limits lets a job go", async () => {
    const { enqueueAll, pass, enqueue } = open({ requests, llm: { ...llm, queue: { ...llm.queue, maxQueued: 1 } } });
    await enqueueAll(["1", "2"]);
    await pass(500);
    await enqueueAll(["3"]);
    await pass(500);
    // A report ends a second after there is room.
    expect(await enqueue("4")).toEqual({ ok: false, retryAt: FIRST + 31 * SECOND });
  });

  const slow = { kind: "token bucket", rate: 6, period: MINUTE, capacity: 1 } as const;
  const window = { kind: "fixed window", rate: 10, period: MINUTE, start: NOW } as const;
  it.each<[what: string, first: object, second: RateLimitDefinitions[string], count: number, inMs: number]>([
    ["have in each window what a job cannot use", { ...slow, capacity: 9 }, window, 6, 8 * MINUTE],
    ["lose what comes in while jobs wait for the other", slow, { ...window, rate: 3 }, 1, 2 * MINUTE + 20_000],
  ])("by retryAt there is room in a full queue whose limits %s", async (_what, first, second, count, inMs) => {
    const llm = { ...first, queue: { maxQueued: 1, with: { requests: count } } };
    const { enqueueAtOnce, enqueue, pass } = open({ llm, requests: second } as never);
    await enqueueAtOnce(9, "x");
    await pass(1000);
    const { retryAt = NaN } = (await enqueue("late")) as { retryAt?: number };
    expect(retryAt).toBeGreaterThan(NOW + inMs);
    expect(retryAt).toBeLessThan(NOW + inMs + 2000);
    await pass(retryAt - Date.now());
    expect(await enqueue("again")).toMatchObject({ ok: true });
  });

  it("by retryAt there is room in a full queue although an override of its second limit ends before the first pays", async () => {
    const llm = { ...slow, rate: 1, queue: { maxQueued: 1, with: { requests: 1 } } };
    const { enqueueAtOnce, enqueue, override, pass, take } = open({
      llm,
      requests: { ...requests, rate: 1, period: HOUR },
    });
    await take({ name: "llm" });
    await take({ name: "requests", count: 2 });
    await override({ name: "requests", config: requests, until: NOW + MINUTE - 1000 });
    await enqueueAtOnce(1, "x");
    await pass(1000);
    const { retryAt = NaN } = (await enqueue("late")) as { retryAt?: number };
    expect(retryAt).toBeGreaterThan(NOW + HOUR);
    await pass(retryAt - Date.now());
    expect(await enqueue("again")).toMatchObject({ ok: true });
  });

  it("a place is that of the limit that brings its tokens last", async () => {
    const { enqueueAll, jobOf, pass, position, override } = open();
    await enqueueAll(["1", "2", "3"]);
    const fourth = await jobOf("4");
    const large = await jobOf("5", { count: 100 });
    await pass(500);
    expect(await position(fourth)).toEqual({ ahead: 1, startsAt: FIRST + MINUTE });
    expect(await position(large)).toEqual({ ahead: 2, startsAt: FIRST + 90 * SECOND });
    await override({ name: "requests", block: true });
    expect(await position(fourth)).toEqual({ ahead: 1 });
  });

  const refund = { name: "requests", count: -2 } as const;
  it.each<[string, (queue: ReturnType<typeof open>) => Promise<unknown>, string]>([
    ["a refund", ({ adjust }) => adjust(refund), "3 10"],
    ["a reset", ({ reset }) => reset({ name: "requests" }), "3 10"],
    // From then on tokens come every 164 s.
    ["more", ({ override }) => override({ name: "requests", more: 20 }), "3 163"],
    ["no bound", ({ override }) => override({ name: "requests", unlimited: true }), "3 10"],
  ])("%s of the second limit wakes the queue at once", async (_how, act, expected) => {
    const queue = open({ llm, requests: { ...requests, period: HOUR } });
    await queue.enqueueAll(["1", "2", "3"]);
    await queue.pass(10 * SECOND);
    await act(queue);
    await queue.pass(3 * MINUTE);
    expect(queue.seconds()).toEqual(["1 0", "2 0", expected]);
  });

  it.each<[string, (queue: ReturnType<typeof open>) => Promise<unknown>, string]>([
    ["a pause", ({ pauseFor }) => pauseFor(5 * MINUTE, { name: "requests" }), "1 330"],
    ["a block", ({ override }) => override({ name: "requests", block: true, until: NOW + 5 * MINUTE }), "1 300"],
  ])("%s of the second limit holds the jobs until it ends", async (_how, act, expected) => {
    const queue = open();
    await act(queue);
    await queue.enqueueAll(["1"]);
    await queue.until(HOUR);
    expect(queue.seconds()).toEqual([expected]);
  });

  it("an override that ends before a job could pay under it holds no job longer", async () => {
    const queue = open();
    await queue.enqueueAll(["1", "2"]);
    await queue.pass(SECOND);
    await queue.override({ name: "requests", config: { ...requests, period: 24 * HOUR }, until: NOW + 2 * MINUTE });
    await queue.enqueueAll(["3"]);
    await queue.until(HOUR);
    expect(queue.seconds()).toEqual(["1 0", "2 0", "3 120"]);
  });

  it("each key pays by its own second limit, or all by one", async () => {
    const keyed = { ...llm, keyed: true } as const;
    const own = open({ llm: keyed, requests: { ...requests, keyed: true } });
    for (const key of ["a", "b"]) await own.enqueueAll([`${key}1`, `${key}2`, `${key}3`], { key });
    await own.until(HOUR);
    expect(own.seconds().sort()).toEqual(["a1 0", "a2 0", "a3 30", "b1 0", "b2 0", "b3 30"]);
  });

  it("keys that share the second limit start no more than it permits, and notice a refund within a minute", async () => {
    const shared = open({ llm: { ...llm, keyed: true }, requests: { ...requests, period: HOUR, keyed: false } });
    for (const key of ["a", "b", "c"]) await shared.enqueueAll([key], { key });
    await shared.pass(SECOND);
    expect(shared.order()).toHaveLength(2);
    await shared.adjust(refund);
    await shared.pass(MINUTE);
    expect(shared.order().sort()).toEqual(["a", "b", "c"]);
  });

  it.each([
    ["both limits", { atLeast: 4 }, { atLeast: 4 }],
    ["its own limit", "auto", undefined],
    ["the second limit", undefined, 8],
  ] as const)(
    "%s may be on several rows, and no more starts than one row of each would start",
    async (_on, own, other) => {
      const eight = { ...requests, rate: 8, capacity: 8 };
      const queue = open({
        llm: { ...llm, ...(own && { shards: own }) },
        requests: { ...eight, ...(other && { shards: other }) },
      });
      const labels = Array.from({ length: 14 }, (_, i) => String(i));
      await queue.enqueueAll(labels);
      await queue.until(10 * MINUTE);
      expect(queue.order()).toHaveLength(labels.length);
      const late = queue.starts.map(({ at }, i) => at - FIRST - Math.max(0, i - 7) * 7500);
      // Several rows of a slow limit hold their share each: a job may wait for the row that its run reads.
      expect(Math.min(...late)).toBeGreaterThanOrEqual(-10);
      expect(Math.max(...late)).toBeLessThan(other ? 60_000 : 50);
    },
  );

  it("a limit with plans pays by the plan of the job", async () => {
    const free = { rate: 1, capacity: 1 };
    const planned = open({
      llm: { ...llm, rate: undefined, capacity: undefined, plans: { free: { rate: 10 }, pro: { rate: 100 } } } as never,
      requests: { kind: "token bucket", period: MINUTE, plans: { pro: { rate: 60 }, free } },
    });
    await planned.enqueueAll(["1", "2"], { plan: "free" });
    await planned.until(10 * MINUTE);
    await planned.enqueueAll(["3", "4"], { plan: "pro" });
    await planned.until(20 * MINUTE);
    expect(planned.seconds()).toEqual(["1 0", "2 60", "3 600", "4 600"]);
  });

  it("a deploy that adds, changes or removes a second limit holds from the next run on", async () => {
    const { queue: _, ...plain } = llm;
    const queue = open({ llm: { ...plain, queue: {} }, requests });
    await queue.enqueueAll(["1", "2", "3"]);
    await queue.pass(SECOND);
    expect(queue.order()).toEqual(["1", "2", "3"]);
    queue.deploy(both);
    await queue.enqueueAll(["4", "5", "6", "7", "8"]);
    await queue.pass(SECOND);
    expect(queue.order()).toHaveLength(5);
    queue.deploy({ llm, requests: { ...requests, rate: 20 } });
    await queue.enqueueAll(["9"]);
    await queue.pass(3 * SECOND + 500);
    expect(queue.order()).toHaveLength(6);
    queue.deploy({ llm: { ...plain, queue: {} }, requests });
    await queue.enqueueAll(["10"]);
    await queue.pass(SECOND);
    expect(queue.order()).toHaveLength(10);
  });

  it("a job that is larger than its bucket is too large, also where a reservation would be served", async () => {
    const { enqueue } = open();
    expect(await enqueue("1", { count: 101 })).toMatchObject({ ok: false, reason: "too large" });
    expect(await enqueue("1", { count: 100 })).toMatchObject({ ok: true });
  });

  it("a job that has become too large starts when both are full, and owes the rest", async () => {
    const queue = open();
    await queue.enqueueAll(["1"], { count: 100 });
    await queue.enqueueAll(["2"], { count: 100 });
    await queue.pass(100);
    queue.deploy({ llm: { ...llm, capacity: 50 }, requests });
    await queue.enqueueAll(["3"], { count: 10 });
    await queue.until(10 * MINUTE);
    expect(queue.seconds()).toEqual(["1 0", "2 5", "3 30"]);
  });

  it("settling and running again adjust the queue's own limit only", async () => {
    const limits = { llm: { ...llm, queue: { ...llm.queue, attempts: 2 } }, requests };
    const queue = open(limits, { settles: "mutation" });
    await queue.jobOf("1", { count: 50 }, { returns: [{ used: 0, again: true }, { used: 80 }] });
    await queue.until(10 * SECOND);
    expect(queue.order()).toEqual(["1", "1"]);
    expect(await queue.snapshot()).toMatchObject({ value: 20 });
    expect(await queue.value({ name: "requests" })).toBeCloseTo(0, 2);
  });

  it("a damaged second bucket lets nothing start until it is reset", async () => {
    const queue = open();
    await queue.enqueueAll(["1", "2"]);
    await queue.pass(100);
    const log = vi.spyOn(console, "error").mockReturnValue();
    await changeIn(place, queue.t, "rateLimits", { value: NaN }, { name: "requests" });
    await queue.enqueueAll(["3"]);
    await queue.pass(MINUTE);
    expect(String(log.mock.calls[0])).toContain('Rate limit "requests": the stored state is unusable');
    log.mockRestore();
    expect(queue.order()).toEqual(["1", "2"]);
    await queue.reset({ name: "requests" });
    await queue.until(5 * MINUTE);
    expect(queue.seconds()).toEqual(["1 0", "2 0", "3 60"]);
  });
});
