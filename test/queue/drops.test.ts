/** Jobs that are dropped: the app hears of each, with the job's arguments and why. */
import { internalMutationGeneric, makeFunctionReference } from "convex/server";
import { describe, expect, it, vi } from "vitest";
import { MINUTE } from "convex-rate-limits";
import { work } from "../../src/queue/run.js";
import { runAction, runMutation, scheduleJob } from "../../src/queue/start.js";
import { NOW, useClock } from "../support/clock.js";
import { documentsIn, placeNames } from "../support/places.js";
import { useQueues } from "../support/queues.js";

useClock();

/** One job of 10 tokens a second. */
const config = { kind: "token bucket", rate: 10, period: 1000, capacity: 10 } as const;
const again = { used: 0, again: true };
const onDropped = makeFunctionReference<"mutation">("drops:hear");

describe.each(placeNames)("in the %s", (place) => {
  const open = (queue: object = {}, limit: object = {}) => {
    const heard: unknown[] = [];
    const hear = internalMutationGeneric({
      handler: (_ctx, told: { args: { label: string }; reason: string }) => {
        heard.push([told.args.label, told.reason, Date.now() - NOW]);
        return Promise.resolve(null);
      },
    });
    const more = { "./drops.ts": () => Promise.resolve({ hear }) };
    const queues = useQueues(place, { llm: { ...config, ...limit, queue } }, { count: 10, onDropped }, { more });
    return { ...queues, heard };
  };

  it("a job that has run as often as it may is reported", async () => {
    const { enqueue, until, heard } = open({ attempts: 2 });
    await enqueue("stubborn", { settles: "mutation" }, { returns: [again, again] });
    await until(MINUTE);
    expect(heard).toEqual([["stubborn", "attempts", 20]]);
  });

  it("a job that fails, with a function that is there, is not reported", async () => {
    const { enqueue, until, heard } = open();
    vi.spyOn(console, "error").mockReturnValue();
    await enqueue("fails", { settles: "mutation" }, {}, makeFunctionReference<"mutation">("jobs:fail") as never);
    await until(MINUTE);
    expect(heard).toEqual([]);
  });

  it("a job that has no start time by notAfter is dropped then, wherever it waits, and takes no tokens", async () => {
    const { enqueue, enqueueAll, until, heard, log } = open();
    await enqueueAll(["1", "2", "3"]);
    await enqueue("late", { notAfter: NOW + 1500 });
    await enqueue("in time", { notAfter: NOW + 60_000 });
    await until(MINUTE);
    expect(heard).toHaveLength(1);
    const [[label, reason, at]] = heard as [[string, string, number]];
    expect([label, reason]).toEqual(["late", "expired"]);
    expect(at).toBeGreaterThanOrEqual(1500);
    expect(at).toBeLessThan(1600);
    expect(log()).toMatchObject(
      [/^1 /, /^2 /, /^3 2/, /^in time 3/].map((text) => expect.stringMatching(text) as string),
    );
  });

  it("a job expires while its worker sleeps, and its queue has room again", async () => {
    const { enqueue, enqueueAll, pass, heard, t } = open({ maxQueued: 2 }, { period: 600 * MINUTE });
    await enqueueAll(["first", "stays"]);
    await enqueue("waits", { notAfter: NOW + 3000 });
    await pass(1000);
    expect(await enqueue("full")).toMatchObject({ ok: false });
    await pass(3000);
    expect(heard).toEqual([["waits", "expired", 3010]]);
    expect(await documentsIn(place, t, "rateLimitQueue")).toHaveLength(1);
    expect(await enqueue("next")).toMatchObject({ ok: true });
    await pass(1000);
    expect(await enqueue("full")).toMatchObject({ ok: false });
  });

  it("no job starts after its deadline, though more have expired meanwhile than one run drops", async () => {
    const { enqueueAtOnce, enqueue, until, heard, order } = open({}, { rate: 1000, capacity: 1000 });
    await enqueueAtOnce(66, "late", { notAfter: NOW + 1000 });
    vi.clearAllTimers();
    vi.setSystemTime(NOW + 10 * MINUTE);
    await enqueue("next");
    await until(11 * MINUTE);
    expect([heard.length, order()]).toEqual([66, ["next"]]);
  });

  it.each([NaN, -1, "soon"])("a notAfter of %j is misuse", async (notAfter) => {
    const { enqueue } = open();
    await expect(enqueue("never", { notAfter })).rejects.toThrow("notAfter must be");
  });
});

it("jobs that expire when their queue has just got a bound were never counted, so they make no room", async () => {
  const limit = { ...config, period: 600 * MINUTE };
  const { enqueue, enqueueAll, pass, deploy } = useQueues("tables", { llm: { ...limit, queue: {} } }, { count: 10 });
  vi.spyOn(console, "error").mockReturnValue();
  await enqueueAll(["first", "1", "2", "3"]);
  await enqueueAll(["4", "5", "6"], { notAfter: NOW + 5000 });
  await pass(1000);
  deploy({ llm: { ...limit, queue: { maxQueued: 3 } } });
  await pass(5000);
  expect(await enqueue("full")).toMatchObject({ ok: false });
});

/** A backend that knows which functions there are, as Convex does: convex-test learns it when they run. */
describe("a job whose function a deploy has removed", () => {
  const open = (fn: string) => {
    const scheduler = {
      runAt: vi.fn((_at: number, scheduled: unknown) =>
        scheduled === "gone" ? Promise.reject(new Error("no such function")) : Promise.resolve("planned"),
      ),
      runAfter: vi.fn().mockResolvedValue("told"),
      cancel: vi.fn(),
    };
    const failed = () => Promise.reject(new Error("it has failed"));
    const db = { delete: vi.fn() };
    const ctx = { db, scheduler, runMutation: failed, runAction: failed, now: NOW } as never;
    const turn = { at: 1n, priority: 0, runs: 1, first: "", onDropped: "hear" };
    const told = [0, "hear", { args: { label: "lost" }, reason: "function missing" }];
    return { db, scheduler, ctx, told, run: { name: "llm", count: 0, fn, args: { label: "lost" }, turn } };
  };

  it("is reported when it is to be scheduled, and takes no tokens", async () => {
    const { db, ctx, run, told, scheduler } = open("gone");
    const job = { ...run, _id: "lost", onDropped: "hear" };
    expect(await scheduleJob(ctx, { name: "llm" } as never, job as never)).toBe(false);
    expect(db.delete.mock.calls).toEqual([["rateLimitQueue", "lost"]]);
    expect(scheduler.runAfter.mock.calls).toEqual([told]);
  });

  it("is reported by the mutation that was to run it", async () => {
    const { ctx, run, told, scheduler } = open("gone");
    await runMutation(ctx, run);
    expect(scheduler.runAfter.mock.calls).toEqual([told]);
  });

  it("gives its tokens back", async () => {
    const { ctx, run } = open("gone");
    const { t, take, value } = useQueues("tables", { llm: { ...config, period: MINUTE, queue: {} } });
    await take({ count: 10 });
    const definedTerms = () => ({ name: "llm", queue: {}, configs: [{ config }] });
    const fake = { ...(ctx as object), definedTerms, random: Math.random };
    await t.mutation(({ db }) => runMutation({ ...fake, db } as never, { ...run, count: 4 }));
    expect(await value()).toBe(4);
  });

  it("is reported after the action that was to run it has failed", async () => {
    const { ctx, run, told, scheduler } = open("gone");
    await expect(runAction(ctx, run, "limits")).rejects.toThrow("it has failed");
    expect(scheduler.runAfter.mock.calls).toEqual([[0, expect.anything(), { failed: run }]]);
    scheduler.runAfter.mockClear();
    await work(ctx, { failed: run });
    expect(scheduler.runAfter.mock.calls).toEqual([told]);
  });

  it("is not mistaken for one that has failed: the probe of a function that is there is cancelled", async () => {
    const { ctx, run, scheduler } = open("there");
    await expect(runMutation(ctx, run)).rejects.toThrow("it has failed");
    expect(scheduler.cancel).toHaveBeenCalledExactlyOnceWith("planned");
    expect(scheduler.runAfter).not.toHaveBeenCalled();
    // Nobody would hear of it.
    await expect(runMutation(ctx, { ...run, turn: { ...run.turn, onDropped: undefined } })).rejects.toThrow(
      "has failed",
    );
    expect(scheduler.runAt).toHaveBeenCalledOnce();
  });
});
