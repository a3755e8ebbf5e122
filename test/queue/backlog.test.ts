/** What a worker's run counts as waiting, without counting all of it, and what callers read of it. */
import { expect, it, vi } from "vitest";
import { reportOf } from "../../src/queue/backlog.js";
import { countJobs } from "../../src/queue/rows.js";
import { useQueues } from "../support/queues.js";

const NOW = 1_800_000_000_000;
const RUN = { state: "running", at: NOW };

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
  expect(await count(9)).toMatchObject({ count: 3 });
  const { last } = await count(2);
  expect(await count(9, last)).toMatchObject({ count: 1 });
  function* endless() {
    for (;;) yield { at: 0n, args: {} };
  }
  const db = { query: () => ({ withIndex: endless }) };
  expect(await countJobs({ db } as never, bucket, { ...range, most: 3 })).toMatchObject({ count: 3 });
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
  const report = reportOf({ ...known, queued });
  expect(report).toStrictEqual({ queued: undefined, ...expected });
  expect(whenLeft.mock.calls).toEqual(queued < 100 ? [] : [[1]]);
});
