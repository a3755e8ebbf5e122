/** When a worker runs next. */
import { expect, it } from "vitest";
import { paceOf } from "../../src/queue/pace.js";

const NOW = 1_700_000_000_000;
const ahead = (ms: number) => ({ dueAt: NOW + ms, isAhead: true });
const atOnce = (ms: number) => ({ dueAt: NOW + ms, isAhead: false });

it.each([
  // Columns: whether more jobs wait than were read, what the worker waits for, ms since the last arrival, and the expected state and delay.
  ["more to do: a run soon", true, undefined, 1000, "running", 20],
  ["jobs keep coming", false, undefined, 0, "running", 20],
  ["no job for 100 ms: a run less soon", false, undefined, 100, "running", 50],
  ["no job for 200 ms: no run", false, undefined, 200, "idle", 0],
  ["tokens within 200 ms: one run for all of them", false, ahead(5), 1000, "running", 200],
  ["tokens within 200 ms, and jobs that keep coming: one run for all", false, ahead(5), 0, "running", 200],
  ["tokens within 400 ms: a run at their time", false, ahead(400), 0, "running", 400],
  ["tokens after 400 ms, and no jobs: a sleep until then", false, ahead(401), 1000, "waiting", 401],
  ["a job that cannot be paid ahead: a run at its time", false, atOnce(20), 1000, "running", 20],
  ["a job that cannot be paid ahead, sooner than the gap: a run after the gap", false, atOnce(5), 1000, "running", 20],
  ["a job that cannot be paid ahead, within 400 ms: a run at its time", false, atOnce(400), 0, "running", 400],
  [
    "a job that cannot be paid ahead, after 400 ms, and jobs that keep coming: a run soon",
    false,
    atOnce(401),
    0,
    "running",
    20,
  ],
  ["tokens much later, and jobs that keep coming: a run soon", false, ahead(5000), 0, "running", 20],
  ["tokens much later, and no jobs: a sleep until then", false, ahead(5000), 1000, "waiting", 5000],
])("%s", (_what, hasMore, awaited, quietMs, state, inMs) => {
  const pace = paceOf({ now: NOW, hasMore, awaited, busyAt: NOW - quietMs });
  expect(pace).toEqual({ state, at: NOW + inMs });
});
