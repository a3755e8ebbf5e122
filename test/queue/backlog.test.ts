/** What a worker's run counts as waiting, without counting all of it, and what callers read of it. */
import { expect, it, vi } from "vitest";
import { countBacklog, reportOf } from "../../src/queue/backlog.js";
import { countJobs } from "../../src/queue/rows.js";
import { useQueues } from "../support/queues.js";

const NOW = 1_800_000_000_000;
const RUN = { state: "running", at: NOW };
const nothing = { now: NOW, maxQueued: 100, run: {}, arrived: 0, left: 0, isDrained: false };

it("a count reads no more jobs than it was asked for, and leaves out settlements and paid jobs", async () => {
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
  const count = (most: number, since?: bigint) => t.query((ctx) => countJobs(ctx, bucket, { ...range, since, most }));
  expect(await count(9)).toMatchObject({ count: 3, isCut: false });
  const { last } = await count(2);
  expect(await count(9, last)).toMatchObject({ count: 1 });
  function* endless() {
    for (;;) yield { at: 0n, args: {} };
  }
  const db = { query: () => ({ withIndex: endless }) };
  expect(await countJobs({ db } as never, bucket, { ...range, most: 3 })).toMatchObject({ count: 3, isCut: false });
});

/** Counts what a run has found, and whether it counted all jobs for that. */
async function counted(found: Partial<Parameters<typeof countBacklog>[0]>, all = { count: 0, isCut: false }) {
  const countAll = vi.fn().mockResolvedValue(all);
  const count = await countBacklog({ ...nothing, ...found }, countAll);
  return { count, isRecount: countAll.mock.calls.length > 0 };
}

it("the first count of a start is not taken again at once", async () => {
  const count = { queued: 200, countedAt: NOW };
  expect(await counted({ arrived: 200 })).toEqual({ count, isRecount: false });
});

it.each([
  ["more by those that arrived, fewer by those that left", { arrived: 5, left: 8 }, 7],
  ["none, if more left than were counted", { left: 11 }, 0],
  ["none, if all that the run saw have left", { arrived: 5, left: 8, isDrained: true }, 0],
])("ten jobs that waited become %s", async (_what, found, queued) => {
  // A queue that is not full is not counted anew.
  const expected = { count: { queued, countedAt: 0 }, isRecount: false };
  expect(await counted({ run: { queued: 10, countedAt: 0 }, ...found })).toEqual(expected);
});

// A clock may have stepped back.
it.each([9999, 10_000, -10_000])("a full queue is counted anew after ten seconds: after %i ms", async (agoMs) => {
  const { isRecount } = await counted({ run: { queued: 155, countedAt: NOW - agoMs } });
  expect(isRecount).toBe(Math.abs(agoMs) >= 10_000);
});

it.each([
  [{ count: 130, isCut: false }, 130, 0],
  [{ count: 130, isCut: true }, 150, 0],
  [{ count: 170, isCut: true }, 170, 0],
  [{ count: 90, isCut: false }, 90, 10_000],
])("a new count of 150 jobs that finds %j", async (all, queued, agoMs) => {
  const { count } = await counted({ run: { queued: 150, countedAt: NOW - 10_000 } }, all);
  expect(count).toEqual({ queued, countedAt: NOW - agoMs });
});

it.each([
  ["full and has said so", 100, RUN, { fullUntil: NOW + 700 }, { fullUntil: NOW + 700 }],
  ["full and must say so again", 100, RUN, { fullUntil: NOW + 699 }, { fullUntil: NOW + 1000 }],
  ["full for longer than said", 100, RUN, { fullUntil: NOW + 700 }, { fullUntil: NOW + 4400 }, 4000],
  [
    "full until its worker wakes",
    100,
    { state: "waiting", at: NOW + 5000 },
    { fullUntil: NOW + 1000 },
    { queued: 100, fullUntil: NOW + 5400 },
  ],
  [
    "too full to have room when its worker wakes",
    100,
    { state: "waiting", at: NOW + 5000 },
    {},
    { queued: 100, fullUntil: NOW + 9400 },
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
  const { recountAt, ...report } = reportOf({ queued, countedAt: 0 }, known);
  expect(report).toStrictEqual({ queued: undefined, ...expected });
  expect(recountAt).toBe(pace.state === "waiting" ? 10_000 : Infinity);
  expect(whenLeft.mock.calls).toEqual(queued < 100 ? [] : [[1]]);
});
