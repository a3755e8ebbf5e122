/** What a worker's run counts as waiting, without counting all of it, and what callers read of it. */
import { expect, it, vi } from "vitest";
import { reportOf } from "../../src/queue/backlog.js";
import { countJobs, isCounted } from "../../src/queue/rows.js";
import { NOW, useClock } from "../support/clock.js";
import { changeIn } from "../support/places.js";
import { useQueues } from "../support/queues.js";

useClock();

const RUN = { state: "running", at: NOW };

it("a count reads no more jobs than it was asked for, nor 4 MiB of them, and leaves out settlements and paid jobs", async () => {
  const { t } = useQueues("tables", { llm: { kind: "token bucket", rate: 1, period: 1000, queue: {} } });
  const job = { name: "llm", count: 1, fn: "", args: {} };
  for (const priority of [-2, -1, 0, 0, 0]) {
    await t.mutation(async ({ db }) => {
      const at = db.vars.commitTs;
      await db.insert("rateLimitQueue", { ...job, priority, at, ...(priority >= 0 && { arrivedAt: at }) });
    });
  }
  const bucket = { name: "llm", key: undefined };
  const range = { upTo: 2n ** 62n };
  const count = (most: number, after: object = {}) =>
    t.query((ctx) => countJobs(ctx, bucket, { ...range, ...after, most }));
  expect(await count(9)).toEqual({ count: 3, seenTo: range.upTo });
  const { count: two, ...seen } = await count(2);
  expect(two).toBe(2);
  expect(await count(9, seen)).toEqual({ count: 1, seenTo: range.upTo });
  function* endless() {
    for (;;) yield { at: 0n, args: "x".repeat(2 ** 20) };
  }
  const db = { query: () => ({ withIndex: endless }) };
  for (const most of [3, 5]) {
    expect(await countJobs({ db } as never, bucket, { ...range, most })).toMatchObject({ count: Math.min(most, 4) });
  }
});

it("of a commit that was counted in part, the jobs up to the last one that was count as counted", () => {
  const isSeen = (_creationTime: number) =>
    isCounted({ arrivedAt: 5n, _creationTime } as never, { seenTo: 5n, createdTo: 7 });
  expect([6, 7, 8].map(isSeen)).toEqual([true, true, false]);
});

it.each([
  ["full and has said so", 100, RUN, { fullUntil: NOW + 700 }, { fullUntil: NOW + 700 }],
  ["full and must say so again", 100, RUN, { fullUntil: NOW + 699 }, { fullUntil: NOW + 1000 }],
  ["full for longer than said", 100, RUN, { fullUntil: NOW + 700 }, { fullUntil: NOW + 5000 }, 4000],
  [
    "full until its worker wakes",
    100,
    { state: "waiting", at: NOW + 5000 },
    { fullUntil: NOW + 1000 },
    { queued: 100, fullUntil: NOW + 6000 },
  ],
  [
    "too full to have room when its worker wakes",
    100,
    { state: "waiting", at: NOW + 5000 },
    {},
    { queued: 100, fullUntil: NOW + 10_000 },
    9000,
  ],
  ["full again", 100, RUN, { queued: 101 }, { fullUntil: NOW + 1000 }],
  ["full no more, which shows soon", 99, RUN, { state: "running", fullUntil: NOW + 1000 }, { fullUntil: NOW + 1000 }],
  ["full no more, and must say so", 99, RUN, { state: "running", fullUntil: NOW + 1001 }, { fullUntil: NOW }],
  ["full no more, as its worker slept", 99, RUN, { state: "waiting", fullUntil: NOW + 1 }, { fullUntil: NOW }],
  ["full no more, as said", 99, RUN, { state: "waiting", fullUntil: NOW }, { fullUntil: NOW }],
])("the row of a queue that is %s", (_what, queued, pace, row, expected, roomInMs = 0) => {
  const whenLeft = vi.fn().mockReturnValue(NOW + roomInMs);
  const known = { now: NOW, row: row as never, pace: pace as never, maxQueued: 100, whenLeft };
  const report = reportOf({ ...known, queued });
  expect(report).toStrictEqual({ queued: undefined, ...expected });
  expect(whenLeft.mock.calls).toEqual(queued < 100 ? [] : [[1]]);
});

/** A few jobs at once, and hardly any later. */
const slow = { kind: "token bucket", rate: 1, period: 1e9, capacity: 4, maxReserved: 0 } as const;
/** A run counts about 520 jobs with so long a text. */
const text = "x".repeat(8000);

it("of jobs that come in one commit all are counted, also if one run cannot read them", async () => {
  const { enqueueAtOnce, enqueue, pass } = useQueues("tables", { llm: { ...slow, queue: { maxQueued: 590 } } });
  await enqueueAtOnce(600, text);
  await pass(1000);
  expect(await enqueue("full")).toMatchObject({ ok: false });
});

it("a job that is paid before it is counted makes no room", async () => {
  const limitsWith = (queue: object) => ({ llm: { ...slow, queue: { priorities: 2, ...queue } } });
  const { enqueueAtOnce, enqueue, pass, override, deploy } = useQueues("tables", limitsWith({}));
  await override({ block: true, until: NOW + 2000 });
  // Each run counts whole commits, or else this would be about the others of one.
  for (let commit = 0; commit < 150; commit++) await enqueueAtOnce(4, text);
  await enqueueAtOnce(4, "goes first", { priority: 1 });
  await pass(1000);
  deploy(limitsWith({ maxQueued: 600 }));
  await pass(2000);
  expect(await enqueue("full")).toMatchObject({ ok: false });
});

it("a run that puts the row of its worker back counts anew, since another may have taken jobs meanwhile", async () => {
  const { t, enqueueAll, enqueue, jobOf, cancel, pass, until } = useQueues("tables", {
    llm: { ...slow, capacity: 1, period: 20_000, queue: { maxQueued: 5 } },
  });
  await enqueueAll(["now", "1", "2", "3"]);
  const job = await jobOf("4");
  await pass(1000);
  await changeIn("tables", t, "rateLimitWorkers", null);
  await enqueueAll(["5"]);
  await cancel(job);
  await pass(1000);
  await changeIn("tables", t, "rateLimitWorkers", null);
  await pass(19_000);
  expect(await enqueue("6")).toMatchObject({ ok: true });
  await pass(100);
  expect(await enqueue("7")).toMatchObject({ ok: true });
  await until(200_000);
});
