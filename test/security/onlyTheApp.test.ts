/** What a client can do if the app trusts it: only the app can prevent that. SECURITY.md and docs/pitfalls.md say how. */
import { makeFunctionReference } from "convex/server";
import { MINUTE } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import { NOW, useClock } from "../support/clock.js";
import { run, useJobs } from "../support/jobs.js";
import { useBackend } from "../support/limits.js";
import { placeNames } from "../support/places.js";
import { useQueues } from "../support/queues.js";

const bucket = { kind: "token bucket", rate: 6, period: MINUTE } as const;
const sliding = { kind: "sliding window", rate: 6, period: MINUTE } as const;
const slots = { kind: "concurrency", slots: 2, lease: MINUTE, keyed: true } as const;

describe.each(placeNames)("only the app can prevent, in the %s,", (place) => {
  useClock(NOW, "Date");
  const { define } = useBackend(place);
  const limits = define({ bucket, slots });

  it.each<[string, object[], boolean[]]>([
    ["a count that the client chooses: 0 takes nothing", [{ count: 6 }, { count: 0 }, {}], [true, true, false]],
    ["a key that the client chooses", [{ count: 6 }, { key: "bob", count: 6 }], [true, true]],
    [
      "a key in several spellings",
      [
        { key: "a@b.c", count: 6 },
        { key: "A@b.c", count: 6 },
      ],
      [true, true],
    ],
    ["a config that the client chooses", [{ count: 6 }, { config: { ...sliding, rate: 9 } }], [true, true]],
    ["a key that is missing, without keyed: true", [{ key: undefined, count: 6 }, { key: undefined }], [true, false]],
  ])("%s", async (_, requests, answers) => {
    const oks: boolean[] = [];
    for (const args of requests) oks.push((await limits.rateLimit({ name: "bucket", key: "ann", ...args })).ok);
    expect(oks).toEqual(answers);
  });

  it("a lease, or a count and a date, that the client makes up: they give back what others took", async () => {
    for (let i = 0; i < 2; i++) await limits.rateLimit({ name: "slots", key: "ann" });
    await limits.releaseRateLimit({ name: "slots", key: "ann", takenAt: NOW, until: NOW + MINUTE });
    expect(await limits.rateLimit({ name: "slots", key: "ann" })).toMatchObject({ ok: true });
    for (const count of [5, 1]) await limits.rateLimit({ name: "bucket", key: "ann", count, refundable: count === 1 });
    await limits.adjustRateLimit({ name: "bucket", key: "ann", count: -6, takenAt: NOW });
    expect(await limits.rateLimit({ name: "bucket", key: "ann", count: 6 })).toMatchObject({ ok: true });
  });

  it("a reservation whose retryAt nobody reads: each is ok, also with throws: true", async () => {
    const oks: boolean[] = [];
    for (let i = 0; i < 100; i++)
      oks.push((await limits.rateLimit({ name: "bucket", key: "ann", reserve: true, throws: true })).ok);
    expect(oks).toEqual(new Array<boolean>(100).fill(true));
    expect(await limits.rateLimit({ name: "bucket", key: "ann", reserve: true })).toMatchObject({
      retryAt: NOW + (95 * MINUTE) / 6,
    });
  });
});

describe.each(placeNames)("only the app can prevent, in the %s, a made-up job", (place) => {
  useClock();
  const jobs = useJobs(place);
  const limits = jobs.define({ llm: bucket });

  it("that cancels any scheduled function, whose id a client knows", async () => {
    const foreign = await jobs.mutation((ctx) => ctx.scheduler.runAfter(1000, run, { label: "foreign", tokens: 0 }));
    expect(await limits.cancelRateLimited({ name: "llm", count: 1, runAt: NOW, id: foreign })).toEqual({
      canceled: true,
    });
    await jobs.runAll();
    expect(jobs.starts).toEqual([]);
  });

  it("whose count gives back what others took", async () => {
    const { job } = await limits.scheduleRateLimited({ name: "llm" }, run, { label: "own", tokens: 1 });
    await limits.rateLimit({ name: "llm", count: 5, refundable: true });
    expect(await limits.cancelRateLimited({ ...job, count: 6 })).toEqual({ canceled: true });
    expect(await limits.rateLimit({ name: "llm", count: 6 })).toMatchObject({ ok: true });
  });

  it("of another user, in a queue without keys: its id alone shows and cancels it", async () => {
    const shared = { kind: "token bucket", rate: 1, period: 1000, capacity: 1, queue: { fair: true } } as const;
    const exposed = (_ctx: unknown, id: string) => ({ name: "llm", id });
    const { t, jobOf, cancel } = useQueues(place, { llm: shared }, {}, { exposed });
    await jobOf("ann's", { fairBy: "ann" });
    const { id } = await jobOf("bob's", { fairBy: "bob" });
    const getQueued = makeFunctionReference<"query", { job: string }>("exposed:getQueued");
    expect(await t.query(getQueued, { job: id })).toMatchObject({ ahead: 1 });
    expect(await cancel({ name: "llm", id })).toBe(true);
  });
});
