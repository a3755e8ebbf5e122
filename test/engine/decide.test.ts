/** One bucket, one row of the table per question: the state, the moment, the demand, and the whole answer. */
import { describe, expect, it } from "vitest";
import { parseDemand } from "../../src/engine/request.js";
import { parseLimit } from "../../src/engine/limit.js";
import { type Stored, toStored } from "../../src/engine/stored.js";
import type { Limit } from "../../src/engine/types.js";
import { decideWhole, fromStored, fullBucket } from "./whole.js";

const NOW = 1_000_000;
const bucket = parseLimit("bucket", { kind: "token bucket", rate: 10, period: 1000, maxReserved: 5 });
const window = parseLimit("window", {
  kind: "fixed window",
  rate: 10,
  period: 1000,
  capacity: 15,
  start: 0,
  maxReserved: 5,
});
const spaced = parseLimit("spaced", { kind: "token bucket", rate: 10, period: 1000, capacity: 0 });

interface Row {
  limit: Limit;
  state: Stored | "none";
  now?: number;
  demand?: { count?: number; reserve?: boolean };
  status: object;
  next: Stored | "unchanged";
}

const rows: [string, Row][] = [
  [
    "no row is a full bucket",
    {
      limit: bucket,
      state: "none",
      status: { ok: true, remaining: 9, resetAt: NOW + 100 },
      next: { value: 9, ts: NOW },
    },
  ],
  [
    "tokens arrive with time",
    {
      limit: bucket,
      state: { value: 0, ts: NOW - 250 },
      status: { ok: true, remaining: 1, resetAt: NOW + 850 },
      next: { value: 1.5, ts: NOW },
    },
  ],
  [
    "tokens beyond the capacity are lost",
    {
      limit: bucket,
      state: { value: 9, ts: NOW - 9000 },
      demand: { count: 10 },
      status: { ok: true, remaining: 0, resetAt: NOW + 1000 },
      next: { value: 0, ts: NOW },
    },
  ],
  [
    "a denial says when",
    {
      limit: bucket,
      state: { value: 0.5, ts: NOW },
      status: { ok: false, retryAt: NOW + 50, remaining: 0, resetAt: NOW + 950 },
      next: "unchanged",
    },
  ],
  [
    "a denial leaves the row's moment as it was",
    {
      limit: bucket,
      state: { value: 0, ts: NOW - 150 },
      demand: { count: 2 },
      status: { ok: false, retryAt: NOW + 50, remaining: 1, resetAt: NOW + 850 },
      next: "unchanged",
    },
  ],
  [
    "a clock that stepped back gives nothing and takes nothing",
    {
      limit: bucket,
      state: { value: 3, ts: NOW + 500 },
      status: { ok: true, remaining: 2, resetAt: NOW + 1300 },
      next: { value: 2, ts: NOW + 500 },
    },
  ],
  [
    "a count of 0 changes nothing",
    {
      limit: bucket,
      state: { value: 3, ts: NOW },
      demand: { count: 0 },
      status: { ok: true, remaining: 3, resetAt: NOW + 700 },
      next: "unchanged",
    },
  ],
  [
    "a count of 0 is denied while tokens are owed",
    {
      limit: bucket,
      state: { value: -1, ts: NOW },
      demand: { count: 0 },
      status: { ok: false, retryAt: NOW + 100, remaining: 0, resetAt: NOW + 1100 },
      next: "unchanged",
    },
  ],
  [
    "a reservation takes from the future",
    {
      limit: bucket,
      state: { value: 1, ts: NOW },
      demand: { count: 3, reserve: true },
      status: { ok: true, retryAt: NOW + 200, remaining: 0, resetAt: NOW + 1200 },
      next: { value: -2, ts: NOW },
    },
  ],
  [
    "a reservation that is covered may go at once",
    {
      limit: bucket,
      state: { value: 3, ts: NOW },
      demand: { count: 3, reserve: true },
      status: { ok: true, remaining: 0, resetAt: NOW + 1000 },
      next: { value: 0, ts: NOW },
    },
  ],
  [
    "a reservation may owe as much as maxReserved",
    {
      limit: bucket,
      state: { value: -4, ts: NOW },
      demand: { reserve: true },
      status: { ok: true, retryAt: NOW + 500, remaining: 0, resetAt: NOW + 1500 },
      next: { value: -5, ts: NOW },
    },
  ],
  [
    "and no more",
    {
      limit: bucket,
      state: { value: -4.5, ts: NOW },
      demand: { reserve: true },
      status: { ok: false, retryAt: NOW + 50, remaining: 0, resetAt: NOW + 1450 },
      next: "unchanged",
    },
  ],
  [
    "capacity 0 spaces reservations evenly",
    {
      limit: spaced,
      state: { value: -1, ts: NOW },
      demand: { reserve: true },
      status: { ok: true, retryAt: NOW + 200, remaining: 0, resetAt: NOW + 200 },
      next: { value: -2, ts: NOW },
    },
  ],
  [
    "a new window brings its rate",
    {
      limit: window,
      state: { value: 0, ts: NOW - 1 },
      status: { ok: true, remaining: 9, resetAt: NOW + 1000 },
      next: { value: 9, ts: NOW },
    },
  ],
  [
    "what was left is carried over, up to the capacity",
    {
      limit: window,
      state: { value: 9, ts: NOW - 1 },
      demand: { count: 15 },
      status: { ok: true, remaining: 0, resetAt: NOW + 1000 },
      next: { value: 0, ts: NOW },
    },
  ],
  [
    "within a window nothing arrives",
    {
      limit: window,
      state: { value: 0, ts: NOW },
      now: NOW + 999,
      status: { ok: false, retryAt: NOW + 1000, remaining: 0, resetAt: NOW + 1000 },
      next: "unchanged",
    },
  ],
  [
    "more than a window brings takes more windows",
    {
      limit: window,
      state: { value: 0, ts: NOW },
      demand: { count: 11 },
      status: { ok: false, retryAt: NOW + 2000, remaining: 0, resetAt: NOW + 1000 },
      next: "unchanged",
    },
  ],
  [
    "a window's reservation waits for the next",
    {
      limit: window,
      state: { value: 0, ts: NOW },
      now: NOW + 400,
      demand: { count: 5, reserve: true },
      status: { ok: true, retryAt: NOW + 1000, remaining: 0, resetAt: NOW + 1000 },
      next: { value: -5, ts: NOW + 400 },
    },
  ],
  [
    "a clock that stepped back over a boundary gets no window twice",
    {
      limit: window,
      state: { value: 0, ts: NOW },
      now: NOW - 1,
      status: { ok: false, retryAt: NOW + 1000, remaining: 0, resetAt: NOW + 1000 },
      next: "unchanged",
    },
  ],
];

describe("decide", () => {
  it.each(rows)("%s", (_what, { limit, state, now = NOW, demand = {}, status, next }) => {
    const before = state === "none" ? fullBucket(limit) : fromStored(limit, state);
    const decision = decideWhole(limit, before, now, parseDemand(limit, demand));
    expect(decision.status).toEqual(status);
    expect(decision.next ? toStored(limit, decision.next) : "unchanged").toEqual(next);
  });
});
