/** What a worker's run counts as waiting, without counting all of it, and what callers read of it. */
import { expect, it } from "vitest";
import { backlogOf } from "../../src/queue/backlog.js";
import type { WorkerCtx } from "../../src/queue/batch.js";
import { countJobs } from "../../src/queue/rows.js";

type Look = Parameters<typeof backlogOf>[1];

const NOW = 1_800_000_000_000;
const RUN = { kind: "run", at: NOW };
const queue = { terms: { maxQueued: 100, fair: false } };
const backlog = async (look: object, ctx: object = {}) => {
  const nothing = { queue, run: {}, row: {}, pace: RUN, arrived: 0, taken: 0, isDrained: false };
  return await backlogOf({ now: NOW, ...ctx } as WorkerCtx, { ...nothing, ...look } as Look);
};

it("a count reads no more jobs than it was asked for, and leaves out settlements", async () => {
  function* endless() {
    for (let arrivedAt = 1n; ; arrivedAt++) yield { at: 0n, arrivedAt, args: {}, priority: arrivedAt === 2n ? -1 : 0 };
  }
  const db = {
    query: () => ({ withIndex: endless }),
  };
  const counted = await countJobs({ db } as never, { name: "llm", key: undefined }, { most: 3 });
  expect(counted).toEqual({ count: 3, last: 4n, isCut: false });
});

it("the first count of a start is not taken again at once", async () => {
  const first = { run: { queued: 200, countedAt: NOW }, row: { fullUntil: NOW + 1000 } };
  expect(await backlog({ arrived: 200 })).toEqual(first);
});

it.each<[what: string, found: Partial<Look>, queued: number]>([
  ["more by those that arrived, fewer by those that were taken", { arrived: 5, taken: 8 }, 7],
  ["none, if more were taken than were counted", { taken: 11 }, 0],
  ["none, if all that the run saw were taken", { arrived: 5, taken: 8, isDrained: true }, 0],
])("ten jobs that waited become %s", async (_what, found, queued) => {
  // A queue that is not full is not counted anew.
  expect((await backlog({ run: { queued: 10, countedAt: 0 }, ...found })).run).toEqual({ queued, countedAt: 0 });
});

it.each([
  [9999, 130, 150, 9999],
  [10_000, 130, 130, 0],
  [10_000, 90, 90, 10_000],
  // A clock that has stepped back.
  [-10_000, 130, 130, 0],
])("a full queue is counted anew after ten seconds: after %i ms, %i", async (agoMs, waiting, queued, nextAgoMs) => {
  const rows = Array.from({ length: waiting }, () => ({ at: 1n, priority: 0, args: {} }));
  const ctx = { meta: { getSnapshotTs: () => 7n }, db: { query: () => ({ withIndex: () => rows }) } };
  const { run } = await backlog({ run: { queued: 155, countedAt: NOW - agoMs }, taken: 5 }, ctx);
  expect(run).toEqual({ queued, countedAt: NOW - nextAgoMs });
});

it.each([
  ["full and has said so", 100, RUN, { fullUntil: NOW + 700 }, {}],
  ["full and must say so again", 100, RUN, { fullUntil: NOW + 699 }, { fullUntil: NOW + 1000 }],
  [
    "full until its worker wakes",
    100,
    { kind: "wait", at: NOW + 5000 },
    { fullUntil: NOW + 1000 },
    { queued: 100, fullUntil: NOW + 5400 },
  ],
  ["full again", 100, RUN, { queued: 101 }, { queued: undefined, fullUntil: NOW + 1000 }],
  ["full no more, which shows soon", 99, RUN, { state: "running", fullUntil: NOW + 1000 }, {}],
  ["full no more, and must say so", 99, RUN, { state: "running", fullUntil: NOW + 1001 }, { fullUntil: NOW }],
  ["full no more, as its worker slept", 99, RUN, { state: "waiting", fullUntil: NOW + 1 }, { fullUntil: NOW }],
  ["full no more, as said", 99, RUN, { state: "waiting", fullUntil: NOW }, {}],
])("the row of a queue that is %s", async (_what, queued, pace, row, expected) => {
  expect((await backlog({ run: { queued, countedAt: NOW }, row, pace })).row).toStrictEqual(expected);
});
