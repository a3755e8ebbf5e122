/** What a worker's run counts as waiting, without counting all of it. */
import { expect, it, vi } from "vitest";
import { backlogOf } from "../../src/queue/backlog.js";
import type { WorkerCtx } from "../../src/queue/batch.js";
import type { Queue } from "../../src/queue/terms.js";

type Look = Parameters<typeof backlogOf>[1];

const NOW = 1_800_000_000_000;
const queue = { terms: { maxQueued: 100, exact: false, fair: false } } as Queue;

it("the first count of a start is not taken again at once", async () => {
  const look = { queue, run: {}, row: {}, pace: { kind: "run", at: NOW }, arrived: 200, taken: 0, retried: 0 };
  const { run, row } = await backlogOf({ now: NOW } as WorkerCtx, { ...look, isDrained: false } as unknown as Look);
  expect({ run, row }).toEqual({ run: { queued: 200, countedAt: NOW }, row: { fullUntil: NOW + 1000 } });
});

it.each<[what: string, found: Partial<Look>, queued: number]>([
  ["more by those that arrived, fewer by those that were taken", { arrived: 5, taken: 8 }, 7],
  ["no fewer by jobs that ran before, which nobody counted", { arrived: 5, taken: 8, retried: 3 }, 10],
  ["none, if more were taken than were counted", { taken: 11 }, 0],
  ["none, if all that the run saw were taken", { arrived: 5, taken: 8, isDrained: true }, 0],
])("ten jobs that waited become %s", async (_what, found, queued) => {
  // One that is not full is not counted anew.
  const run = { queued: 10, countedAt: 0 } as Look["run"];
  const pace = { kind: "run", at: NOW };
  const look = { queue, run, row: {}, pace, arrived: 0, taken: 0, retried: 0, isDrained: false };
  const { run: next } = await backlogOf({ now: NOW } as WorkerCtx, { ...look, ...found } as Look);
  expect(next).toEqual({ queued, countedAt: 0 });
});

it.each<[agoMs: number, waiting: object, queued: number, isCounted: boolean]>([
  [9999, { count: 130, isCut: false }, 150, false],
  [10_000, { count: 130, isCut: false }, 125, true],
  [10_000, { count: 130, isCut: true }, 150, true],
  [10_000, { count: 170, isCut: true }, 165, true],
])("a full queue is counted anew after ten seconds: after %i ms, %j", async (agoMs, waiting, queued, isCounted) => {
  const countedAt = NOW - agoMs;
  const runQuery = vi.fn().mockResolvedValue({ waiting });
  const look = {
    queue,
    run: { queued: 155, countedAt },
    row: {},
    pace: { kind: "run", at: NOW },
    arrived: 0,
    taken: 5,
  };
  const found = { ...look, retried: 0, isDrained: false } as unknown as Look;
  const { run: next } = await backlogOf({ now: NOW, runQuery } as unknown as WorkerCtx, found);
  expect(next).toEqual({ queued, countedAt: isCounted ? NOW : countedAt });
  const asked = { most: 1, mostCounted: 0, mostWaiting: 20_000 };
  if (isCounted)
    expect(runQuery).toHaveBeenCalledWith(expect.anything(), expect.objectContaining(asked), expect.anything());
});

const RUN = { kind: "run", at: NOW };
it.each([
  ["full and has said so", 100, RUN, { fullUntil: NOW + 700 }, {}],
  ["full and must say so again", 100, RUN, { fullUntil: NOW + 699 }, { fullUntil: NOW + 1000 }],
  [
    "full until its worker has woken",
    100,
    { kind: "wait", at: NOW + 5000 },
    { fullUntil: NOW + 1000 },
    { fullUntil: NOW + 5400 },
  ],
  ["full for a minute", 100, { kind: "wait", at: NOW + 90_000 }, {}, { fullUntil: NOW + 60_400 }],
  ["full no more, which shows soon", 99, RUN, { state: "running", fullUntil: NOW + 1000 }, {}],
  ["full no more, and must say so", 99, RUN, { state: "running", fullUntil: NOW + 1001 }, { fullUntil: NOW }],
  ["full no more, as its worker slept", 99, RUN, { state: "waiting", fullUntil: NOW + 1 }, { fullUntil: NOW }],
  ["full no more, as said", 99, RUN, { state: "waiting", fullUntil: NOW }, {}],
])("the row of a queue that is %s", async (_what, queued, pace, row, expected) => {
  const look = {
    queue,
    run: { queued, countedAt: NOW },
    row,
    pace,
    arrived: 0,
    taken: 0,
    retried: 0,
    isDrained: false,
  };
  expect((await backlogOf({ now: NOW } as WorkerCtx, look as unknown as Look)).row).toStrictEqual(expected);
});

it.each([
  [{ queued: 2 }, 0, {}],
  [{ queued: 2 }, 3, { queued: 0 }],
  [{}, 3, {}],
])(
  "the worker of an exact queue subtracts what it took, if it knows of how many: %j, %i",
  async (row, taken, expected) => {
    const look = {
      queue: { terms: { maxQueued: 100, exact: true } },
      row,
      run: {},
      pace: RUN,
      taken,
    } as unknown as Look;
    expect(await backlogOf({ now: NOW } as WorkerCtx, look)).toEqual({ run: {}, row: expected });
  },
);
