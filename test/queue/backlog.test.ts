/** What a worker's run counts as waiting, without counting all of it, and what callers read of it. */
import { expect, it } from "vitest";
import { countOf, isOld, recounted, reportOf } from "../../src/queue/backlog.js";
import { countJobs } from "../../src/queue/rows.js";

const NOW = 1_800_000_000_000;
const RUN = { kind: "run", at: NOW };
const nothing = { now: NOW, maxQueued: 100, run: {}, arrived: 0, left: 0, isDrained: false };

it("a count reads no more jobs than it was asked for, and leaves out settlements and paid jobs", async () => {
  function* endless() {
    for (let arrivedAt = 1n; ; arrivedAt++) {
      yield { at: 0n, arrivedAt, args: {}, priority: arrivedAt === 2n ? -1 : arrivedAt === 3n ? -2 : 0 };
    }
  }
  const db = { query: () => ({ withIndex: endless }) };
  const counted = await countJobs({ db } as never, { name: "llm", key: undefined }, { most: 3 });
  expect(counted).toEqual({ count: 3, last: 5n, isCut: false });
});

it("the first count of a start is not taken again at once", () => {
  const count = countOf({ ...nothing, arrived: 200 });
  expect(count).toEqual({ queued: 200, countedAt: NOW });
  expect(isOld(count, 100, NOW)).toBe(false);
});

it.each([
  ["more by those that arrived, fewer by those that left", { arrived: 5, left: 8 }, 7],
  ["none, if more left than were counted", { left: 11 }, 0],
  ["none, if all that the run saw have left", { arrived: 5, left: 8, isDrained: true }, 0],
])("ten jobs that waited become %s", (_what, found, queued) => {
  const count = countOf({ ...nothing, run: { queued: 10, countedAt: 0 }, ...found });
  expect(count).toEqual({ queued, countedAt: 0 });
  // A queue that is not full is not counted anew.
  expect(isOld(count, 100, NOW)).toBe(false);
});

// A clock may have stepped back.
it.each([9999, 10_000, -10_000])("a full queue is counted anew after ten seconds: after %i ms", (agoMs) => {
  expect(isOld({ queued: 155, countedAt: NOW - agoMs }, 100, NOW)).toBe(Math.abs(agoMs) >= 10_000);
});

it.each([
  [{ count: 130, isCut: false }, 130, 0],
  [{ count: 130, isCut: true }, 150, 0],
  [{ count: 170, isCut: true }, 170, 0],
  [{ count: 90, isCut: false }, 90, 10_000],
])("a new count of 150 jobs that finds %j", (found, queued, agoMs) => {
  const old = { queued: 150, countedAt: NOW - 10_000 };
  expect(recounted(old, found, 100, NOW)).toEqual({ queued, countedAt: NOW - agoMs });
});

it.each([
  ["full and has said so", 100, RUN, { fullUntil: NOW + 700 }, {}],
  ["full and must say so again", 100, RUN, { fullUntil: NOW + 699 }, { fullUntil: NOW + 1000 }],
  ["full for longer than said", 100, RUN, { fullUntil: NOW + 700 }, { fullUntil: NOW + 4400 }, 4000],
  [
    "full until its worker wakes",
    100,
    { kind: "wait", at: NOW + 5000 },
    { fullUntil: NOW + 1000 },
    { queued: 100, fullUntil: NOW + 5400 },
  ],
  [
    "too full to have room when its worker wakes",
    100,
    { kind: "wait", at: NOW + 5000 },
    {},
    { queued: 100, fullUntil: NOW + 9400 },
    9000,
  ],
  ["full again", 100, RUN, { queued: 101 }, { queued: undefined, fullUntil: NOW + 1000 }],
  ["full no more, which shows soon", 99, RUN, { state: "running", fullUntil: NOW + 1000 }, {}],
  ["full no more, and must say so", 99, RUN, { state: "running", fullUntil: NOW + 1001 }, { fullUntil: NOW }],
  ["full no more, as its worker slept", 99, RUN, { state: "waiting", fullUntil: NOW + 1 }, { fullUntil: NOW }],
  ["full no more, as said", 99, RUN, { state: "waiting", fullUntil: NOW }, {}],
])("the row of a queue that is %s", (_what, queued, pace, row, expected, roomInMs = 0) => {
  const known = { now: NOW, row: row as never, pace: pace as never, maxQueued: 100, roomAt: NOW + roomInMs };
  expect(reportOf({ queued, countedAt: 0 }, known).row).toStrictEqual(expected);
});
