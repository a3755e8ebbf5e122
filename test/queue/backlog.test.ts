/** What a worker's run counts as waiting, without counting all of it. */
import { expect, it } from "vitest";
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
  const run = { queued: 10, countedAt: NOW } as Look["run"];
  const pace = { kind: "run", at: NOW };
  const look = { queue, run, row: {}, pace, arrived: 0, taken: 0, retried: 0, isDrained: false };
  const { run: next } = await backlogOf({ now: NOW } as WorkerCtx, { ...look, ...found } as Look);
  expect(next).toEqual({ queued, countedAt: NOW });
});
