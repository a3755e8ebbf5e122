/** The decision on one bucket. Each row of the table has the state, the time, the demand, and the whole answer. */
import { expect, it } from "vitest";
import { decide } from "../../src/engine/decide.js";
import { demandOf } from "../../src/engine/request.js";
import type { DemandArgs } from "../../src/wire/answers.js";
import { fullState, type Limit } from "../../src/engine/kinds/kind.js";
import { parseLimit } from "../../src/engine/kinds/limit.js";
import { END_OF_TIME } from "../../src/engine/time.js";
import { fromStored, MAX_UNITS, toStored } from "../../src/engine/units.js";
import type { StoredState } from "../../src/wire/snapshots.js";

const NOW = 1_000_000;
const bucket = parseLimit("bucket", { kind: "token bucket", rate: 10, period: 1000, maxReserved: 5 });
const saving = { kind: "fixed window", rate: 10, period: 1000, capacity: 15, start: 0, maxReserved: 5 } as const;
const window = parseLimit("window", saving);
const sliding = parseLimit("sliding", { kind: "sliding window", rate: 10, period: 1000, maxReserved: 5 });
const spaced = parseLimit("spaced", { kind: "token bucket", rate: 10, period: 1000, capacity: 0 });
const third = parseLimit("third", { kind: "token bucket", rate: 1 / 3, period: 1000, capacity: 1, maxReserved: 1 / 3 });
const slow = parseLimit("slow", { kind: "token bucket", rate: 7.77, period: 1e15, capacity: 100, maxReserved: 20 });

const DAY = 86_400_000;
const vast = parseLimit("vast", { kind: "token bucket", rate: 1e12, period: DAY });
/** The ms in which the largest debt of `vast` is paid, and a day more, in which it is full again. */
const PAID = 97_364_151_952;
/** The ms from NOW after which a reservation of `slow` starts within a day. */
const SLOW_MS = 128_700_042_310_072;
const month = parseLimit("month", { kind: "fixed window", rate: 5, period: "month" });
const day = parseLimit("day", { kind: "fixed window", rate: 5, period: "day", timeZone: "Europe/Berlin" });

/** The state of a row that was written `ms` after NOW. */
const held = (value: number, ms = 0): StoredState => ({ value, ts: NOW + ms });
/** The row of a sliding window of ten with these takes, each `ms` after NOW. Its last write was the last take, or NOW if that is earlier. */
function log(...taken: [ms: number, count: number][]): StoredState {
  const recent = taken.map(([ms, count]) => ({ at: NOW + ms, count }));
  const value = 10 - recent.reduce((sum, { count }) => sum + count, 0);
  return { value, ts: NOW + Math.min(0, taken.at(-1)?.[0] ?? 0), recent };
}
const both: [number, number][] = [
  [-700, 4],
  [-300, 6],
];
/** The row of a fixed window that was written one millisecond before the next window begins. */
const used = (used: number): StoredState => ({ ...held(15 - used, -1), window: { since: NOW - 1000, used } });
const ok = (remaining: number, resetMs: number, waitMs?: number) => {
  const wait = waitMs !== undefined && { retryAt: NOW + waitMs };
  return { ok: true, remaining, resetAt: NOW + resetMs, ...wait };
};
const denied = (waitMs: number, remaining: number, resetMs: number) => {
  return { ...ok(remaining, resetMs, waitMs), ok: false };
};
const until = (...date: [number, number, ...number[]]) => Date.UTC(...date) - NOW;
const reserve = true;
/** A reservation of five in a window, 400 ms after it began. */
const five = { ms: 400, count: 5, reserve };
const within = (ms: number) => ({ reserve: { within: ms } });
const inMonth = { ms: until(2026, 2, 5), count: 15, ...within(29 * DAY) };
const nothing = { count: 0, refundable: true };
const dated = { ...ok(2, 1300), takenAt: NOW + 500 };
const returnable = { ...held(2, 500), headroom: [{ at: NOW + 500, count: 0 }] };
const tooLarge = (remaining: number, resetMs: number) => {
  return { ...denied(END_OF_TIME - NOW, remaining, resetMs), reason: "too large" };
};
/** During a pause that ends in 500 ms. */
const paused = { pauseMs: 500 };

/** A bucket without a row has no `state`. The demand is made at NOW unless it has `ms`. Without `next` nothing is written. */
type Row = [
  what: string,
  limit: Limit,
  state: StoredState | null,
  asked: DemandArgs & { ms?: number; pauseMs?: number },
  status: { ok: boolean; retryAt?: number; takenAt?: number },
  next?: StoredState,
];

const rows: Row[] = [
  ["a bucket without a row is full", bucket, null, {}, ok(9, 100), held(9)],
  ["tokens arrive with time", bucket, held(0, -250), {}, ok(1, 850), held(1.5)],
  ["tokens beyond the capacity are lost", bucket, held(9, -9000), { count: 10 }, ok(0, 1000), held(0)],
  ["a denial has a retryAt", bucket, held(0.5), {}, denied(50, 0, 950)],
  ["a denial does not change the row's time", bucket, held(0, -150), { count: 2 }, denied(50, 1, 850)],
  ["a clock that stepped back neither adds nor removes tokens", bucket, held(3, 500), {}, ok(2, 1300), held(2, 500)],
  ["a take is dated by the last write if that is later", bucket, held(3, 500), { refundable: true }, dated, returnable],
  ["a take of nothing is dated by now", bucket, held(3, -100), nothing, { ...ok(4, 600), takenAt: NOW }],
  ["or by the last write if that is later", bucket, held(3, 500), nothing, { ...ok(3, 1200), takenAt: NOW + 500 }],
  ["a full bucket needs no reset", bucket, null, { count: 0 }, ok(10, 0)],
  ["a count of 0 changes nothing", bucket, held(3), { count: 0 }, ok(3, 700)],
  ["a count of 0 is denied while tokens are owed", bucket, held(-1), { count: 0 }, denied(100, 0, 1100)],
  ["a count of 0 may wait until a debt is paid", bucket, held(-1), { count: 0, reserve }, ok(0, 1100, 100)],
  ["a count of 0 does not wait longer than within", bucket, held(-1), { count: 0, ...within(30) }, denied(70, 0, 1100)],
  ["a count of 0 ignores maxReserved", bucket, held(-8), { count: 0, ...within(600) }, denied(200, 0, 1800)],
  ["a count of 0 ignores it in a debt of 20", bucket, held(-20), { count: 0, ...within(1900) }, denied(100, 0, 3000)],
  ["a reservation takes future tokens", bucket, held(1), { count: 3, reserve }, ok(0, 1200, 200), held(-2)],
  ["a reservation starts at once if it is covered", bucket, held(3), { count: 3, reserve }, ok(0, 1000), held(0)],
  ["a reservation may owe up to maxReserved", bucket, held(-4), { reserve }, ok(0, 1500, 500), held(-5)],
  ["a reservation may not owe more", bucket, held(-4.5), { reserve }, denied(50, 0, 1450)],
  ["a reservation may wait as long as within", bucket, held(-1), within(200), ok(0, 1200, 200), held(-2)],
  ["a reservation may not wait longer than within", bucket, held(-1), within(199), denied(1, 0, 1100)],
  ["a reservation within 0 ms retries when its tokens are there", bucket, held(-1), within(0), denied(200, 0, 1100)],
  ["if both bounds deny, the later time counts", bucket, held(-4.5), within(540), denied(50, 0, 1450)],
  ["a wait that is not whole ends at a whole ms", bucket, held(-1), within(2.5), denied(198, 0, 1100)],
  // No debt has room for more, and no time may be promised twice.
  ["the largest debt is promised", vast, held(5 - MAX_UNITS), { count: 5, reserve }, ok(0, PAID, PAID - DAY), held(-MAX_UNITS)], // oxfmt-ignore
  ["and no larger one", vast, held(5 - MAX_UNITS), { count: 6, reserve }, denied(1, 0, PAID)],
  ["within counts from a clock that stepped back", bucket, held(-1, 500), within(600), denied(100, 0, 1600)],
  ["capacity 0 spaces reservations evenly", spaced, held(-1), { reserve }, ok(0, 200, 200), held(-2)],
  ["a rate of a third is rounded down, as it is stored", third, held(0), { count: 1, reserve }, denied(2001, 0, 3001)],
  ["a count above the capacity is denied for ever", bucket, held(10), { count: 10.1 }, tooLarge(10, 0)],
  ["and a reservation above capacity and reserve", bucket, held(10), { count: 15.1, reserve }, tooLarge(10, 0)],
  ["a pause denies what is there, until it ends", bucket, held(8, 500), paused, denied(500, 0, 700)],
  ["and what a clock ahead left there", bucket, held(8, 700), paused, denied(500, 0, 900)],
  ["a pause allows a count of 0", bucket, held(8, 500), { ...paused, count: 0 }, ok(0, 700)],
  ["a pause denies longer for what is not there", bucket, held(0, 500), { ...paused, count: 2 }, denied(700, 0, 1500)],
  [
    "a reservation in a pause starts when it ends, and is dated when it was made",
    bucket,
    held(3, 500),
    { ...paused, count: 2, reserve, refundable: true },
    { ...ok(0, 1400, 500), takenAt: NOW },
    { ...held(1, 500), headroom: [{ at: NOW, count: 0 }] },
  ],
  [
    "a reservation in a pause starts when it ends if it is covered, before what is promised for later",
    sliding,
    log([-300, 4], [700, 5]),
    { ...paused, ...within(500) },
    ok(0, 1700, 500),
    {
      value: 0,
      ts: NOW + 500,
      recent: [
        { at: NOW - 300, count: 4 },
        { at: NOW + 500, count: 1 },
        { at: NOW + 700, count: 5 },
      ],
    },
  ],
  ["within counts from now, not from the end", bucket, held(3, 500), { ...paused, ...within(499) }, denied(1, 0, 1200)],
  // This limit adds a unit only every few seconds.
  ["a slow reservation retries to start in time", slow, held(0), within(DAY), denied(SLOW_MS, 0, END_OF_TIME - NOW)],

  ["a new window adds its rate", window, used(15), {}, ok(9, 1000), held(9)],
  ["unused tokens are carried over, up to the capacity", window, used(6), { count: 15 }, ok(0, 1000), held(0)],
  ["nothing arrives within a window", window, held(0), { ms: 999 }, denied(1000, 0, 1000)],
  ["a count above the rate waits for more than one window", window, held(0), { count: 11 }, denied(2000, 0, 1000)],
  ["a reservation waits for a window", window, held(0), five, ok(0, 1000, 1000), held(-5, 400)],
  ["a reservation within 100 ms has a retryAt", window, held(0), { ...five, ...within(100) }, denied(900, 0, 1000)],
  ["a clock that stepped back gets no window's tokens twice", window, held(0), { ms: -1 }, denied(1000, 0, 1000)],
  // A reservation above the capacity is served shortly before the next window, or before a window that is short enough.
  ["a reservation above the capacity", window, null, { count: 20, ...within(100) }, denied(900, 15, 1000)],
  [
    "a reservation above the capacity may be near enough before a pause ends",
    window,
    held(13, 5700),
    { pauseMs: 5700, count: 18, ...within(500) },
    denied(5500, 0, 6000),
  ],
  ["a reservation above a month's capacity", month, null, inMonth, denied(until(2027, 0, 31), 5, until(2026, 3, 1))],
  [
    "a reservation above a day's capacity waits for the short day when the clocks go forward",
    day,
    null,
    { ms: until(2026, 2, 29, 12), count: 15, ...within(DAY - 1) },
    denied(until(2027, 2, 27, 22, 0, 0, 1), 5, until(2026, 2, 29, 22)),
  ],

  ["a sliding window logs its takes", sliding, log([-300, 3]), { count: 7 }, ok(0, 1000), log([-300, 3], [0, 7])],
  ["a take lasts one period", sliding, log([-1000, 4], [-999, 6]), { count: 4 }, ok(0, 1000), log([-999, 6], [0, 4])],
  ["a sliding window denies until enough has expired", sliding, log(...both), { count: 5 }, denied(700, 0, 700)],
  ["a reservation is logged", sliding, log(...both), { count: 4, reserve }, ok(0, 1300, 300), log(...both, [300, 4])],
  [
    "a count of 0 ignores it in a window",
    sliding,
    log([-500, 10], [500, 3], [1400, 9]),
    { count: 0, ...within(600) },
    denied(900, 0, 2400),
  ],
  ["a count of 0 may wait in a gap between promises", sliding, log([0, 10], [2000, 5]), { count: 0, ...within(100) }, denied(900, 0, 3000)], // oxfmt-ignore
  ["a window owes at most maxReserved", sliding, log(...both, [300, 4]), { count: 2, reserve }, denied(300, 0, 1300)],
];

it.each(rows)("%s", (_what, limit, state, { ms = 0, pauseMs, ...asked }, status, next) => {
  const before = state ? fromStored(limit, state, undefined) : fullState(limit);
  const pausedUntil = pauseMs === undefined ? 0 : NOW + pauseMs;
  const decideAt = (now: number) => decide(limit, before, { now, pausedUntil }, demandOf(limit, asked));
  const decision = decideAt(NOW + ms);
  expect(decision.status).toEqual(status);
  const { window: _, bucket, ...taken } = toStored(limit, decision.taken ?? before);
  expect(bucket).toBe(limit.bucket);
  expect(decision.taken && taken).toEqual(next);
  if (status.ok || status.retryAt === undefined || status.retryAt === END_OF_TIME) return;
  const times = [status.retryAt - 1, status.retryAt];
  expect(times.map((at) => decideAt(at).status.ok)).toEqual([false, true]);
});

it.each([
  ["a bucket", bucket, { count: 12, reserve: { within: 100 } }],
  ["a window", window, { count: 20, reserve: { within: 0 } }],
  ["a month", month, { count: 15, reserve: { within: 28 * DAY - 1 } }],
] as const)("%s denies a reservation for ever if a full bucket would start it too late", (_what, limit, demand) => {
  for (const state of [fullState(limit), { value: 0, ts: NOW }]) {
    const { status } = decide(limit, state, { now: NOW, pausedUntil: 0 }, demandOf(limit, demand));
    expect(status).toMatchObject({ ok: false, retryAt: END_OF_TIME });
  }
});
