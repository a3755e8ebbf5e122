/** When a worker looks again. */
import { expect, it } from "vitest";
import { paceOf } from "../../src/queue/pace.js";

const NOW = 1_700_000_000_000;
const ahead = (ms: number) => ({ dueAt: NOW + ms, isAhead: true });
const atOnce = (ms: number) => ({ dueAt: NOW + ms, isAhead: false });

it.each([
  // Of each: whether more waits than was looked at; what is waited for; how long no job has come; what follows.
  ["more to do: the next run comes soon", true, undefined, 0, "run", 20],
  ["jobs keep coming", false, undefined, 0, "run", 20],
  ["no job for 100 ms: less often", false, undefined, 100, "run", 50],
  ["no job for 200 ms: no run", false, undefined, 200, "stop", undefined],
  ["tokens that come soon: a run for all that come in 200 ms", false, ahead(5), 1000, "run", 200],
  ["also while jobs keep coming", false, ahead(5), 0, "run", 200],
  ["tokens that come a little later: a run at their time", false, ahead(400), 0, "run", 400],
  ["tokens that come later than that, and no jobs: a run then", false, ahead(401), 1000, "wait", 401],
  ["what cannot be paid ahead: a run at its time", false, atOnce(20), 1000, "run", 20],
  ["but no sooner than the gap", false, atOnce(5), 1000, "run", 20],
  ["tokens that come later, and jobs that keep coming", false, ahead(5000), 0, "run", 20],
  ["tokens that come later, and no jobs: a run at their time", false, ahead(5000), 1000, "wait", 5000],
])("%s", (_what, hasMore, awaited, quietMs, kind, inMs) => {
  const pace = paceOf({ now: NOW, hasMore, awaited, busyAt: NOW - quietMs });
  expect(pace).toEqual(inMs === undefined ? { kind } : { kind, at: NOW + inMs });
});
