/** One bucket, one row of the table per question: the state, the moment, the demand, and the whole answer. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide, outlook, renewsAt } from "../../src/engine/decide.js";
import { type DemandArgs, parseDemand } from "../../src/engine/request.js";
import { fullState, type Limit } from "../../src/engine/kinds/kind.js";
import { parseLimit } from "../../src/engine/limit.js";
import { END_OF_TIME } from "../../src/engine/time.js";
import { fromStored, type StoredState, toStored } from "../../src/engine/units.js";

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
const sliding = parseLimit("sliding", { kind: "sliding window", rate: 10, period: 1000, maxReserved: 5 });
const spaced = parseLimit("spaced", { kind: "token bucket", rate: 10, period: 1000, capacity: 0 });
const third = parseLimit("third", { kind: "token bucket", rate: 1 / 3, period: 1000, capacity: 1, maxReserved: 1 / 3 });
const slow = parseLimit("slow", { kind: "token bucket", rate: 7.77, period: 1e15, capacity: 100, maxReserved: 20 });

const DAY = 86_400_000;
const month = parseLimit("month", { kind: "fixed window", rate: 5, period: "month" });
const day = parseLimit("day", { kind: "fixed window", rate: 5, period: "day", timeZone: "Europe/Berlin" });

interface Row {
  what: string;
  limit: Limit;
  state: StoredState | "none";
  now?: number;
  demand?: DemandArgs;
  status: object;
  next: StoredState | "unchanged";
}

const entries = (...list: [at: number, count: number][]) => list.map(([at, count]) => ({ at, count }));

const rows: Row[] = [
  {
    what: "no row is a full bucket",
    limit: bucket,
    state: "none",
    status: { ok: true, remaining: 9, resetAt: NOW + 100 },
    next: { value: 9, ts: NOW },
  },
  {
    what: "tokens arrive with time",
    limit: bucket,
    state: { value: 0, ts: NOW - 250 },
    status: { ok: true, remaining: 1, resetAt: NOW + 850 },
    next: { value: 1.5, ts: NOW },
  },
  {
    what: "tokens beyond the capacity are lost",
    limit: bucket,
    state: { value: 9, ts: NOW - 9000 },
    demand: { count: 10 },
    status: { ok: true, remaining: 0, resetAt: NOW + 1000 },
    next: { value: 0, ts: NOW },
  },
  {
    what: "a denial says when",
    limit: bucket,
    state: { value: 0.5, ts: NOW },
    status: { ok: false, retryAt: NOW + 50, remaining: 0, resetAt: NOW + 950 },
    next: "unchanged",
  },
  {
    what: "a denial leaves the row's moment as it was",
    limit: bucket,
    state: { value: 0, ts: NOW - 150 },
    demand: { count: 2 },
    status: { ok: false, retryAt: NOW + 50, remaining: 1, resetAt: NOW + 850 },
    next: "unchanged",
  },
  {
    what: "a clock that stepped back gives nothing and takes nothing",
    limit: bucket,
    state: { value: 3, ts: NOW + 500 },
    status: { ok: true, remaining: 2, resetAt: NOW + 1300 },
    next: { value: 2, ts: NOW + 500 },
  },
  {
    what: "a count of 0 changes nothing",
    limit: bucket,
    state: { value: 3, ts: NOW },
    demand: { count: 0 },
    status: { ok: true, remaining: 3, resetAt: NOW + 700 },
    next: "unchanged",
  },
  {
    what: "a count of 0 is denied while tokens are owed",
    limit: bucket,
    state: { value: -1, ts: NOW },
    demand: { count: 0 },
    status: { ok: false, retryAt: NOW + 100, remaining: 0, resetAt: NOW + 1100 },
    next: "unchanged",
  },
  {
    what: "a count of 0 that may wait waits for the debt of others, and writes nothing",
    limit: bucket,
    state: { value: -1, ts: NOW },
    demand: { count: 0, reserve: true },
    status: { ok: true, retryAt: NOW + 100, remaining: 0, resetAt: NOW + 1100 },
    next: "unchanged",
  },
  {
    what: "a count of 0 that may wait, but not for so long, is denied",
    limit: bucket,
    state: { value: -1, ts: NOW },
    demand: { count: 0, reserve: { within: 30 } },
    status: { ok: false, retryAt: NOW + 70, remaining: 0, resetAt: NOW + 1100 },
    next: "unchanged",
  },
  {
    what: "a reservation takes from the future",
    limit: bucket,
    state: { value: 1, ts: NOW },
    demand: { count: 3, reserve: true },
    status: { ok: true, retryAt: NOW + 200, remaining: 0, resetAt: NOW + 1200 },
    next: { value: -2, ts: NOW },
  },
  {
    what: "a reservation that is covered may go at once",
    limit: bucket,
    state: { value: 3, ts: NOW },
    demand: { count: 3, reserve: true },
    status: { ok: true, remaining: 0, resetAt: NOW + 1000 },
    next: { value: 0, ts: NOW },
  },
  {
    what: "a reservation may owe as much as maxReserved",
    limit: bucket,
    state: { value: -4, ts: NOW },
    demand: { reserve: true },
    status: { ok: true, retryAt: NOW + 500, remaining: 0, resetAt: NOW + 1500 },
    next: { value: -5, ts: NOW },
  },
  {
    what: "and no more",
    limit: bucket,
    state: { value: -4.5, ts: NOW },
    demand: { reserve: true },
    status: { ok: false, retryAt: NOW + 50, remaining: 0, resetAt: NOW + 1450 },
    next: "unchanged",
  },
  {
    what: "a reservation may wait as long as it says",
    limit: bucket,
    state: { value: -1, ts: NOW },
    demand: { reserve: { within: 200 } },
    status: { ok: true, retryAt: NOW + 200, remaining: 0, resetAt: NOW + 1200 },
    next: { value: -2, ts: NOW },
  },
  {
    what: "and no longer",
    limit: bucket,
    state: { value: -1, ts: NOW },
    demand: { reserve: { within: 199 } },
    status: { ok: false, retryAt: NOW + 1, remaining: 0, resetAt: NOW + 1100 },
    next: "unchanged",
  },
  {
    what: "a reservation that may not wait comes back when the tokens are there",
    limit: bucket,
    state: { value: -1, ts: NOW },
    demand: { reserve: { within: 0 } },
    status: { ok: false, retryAt: NOW + 200, remaining: 0, resetAt: NOW + 1100 },
    next: "unchanged",
  },
  {
    what: "of both bounds of a reservation the later one says when",
    limit: bucket,
    state: { value: -4.5, ts: NOW },
    demand: { reserve: { within: 540 } },
    status: { ok: false, retryAt: NOW + 50, remaining: 0, resetAt: NOW + 1450 },
    next: "unchanged",
  },
  {
    what: "nothing, asked for after a debt of more than may be owed, need not wait until that is less",
    limit: bucket,
    state: { value: -8, ts: NOW },
    demand: { count: 0, reserve: { within: 600 } },
    status: { ok: false, retryAt: NOW + 200, remaining: 0, resetAt: NOW + 1800 },
    next: "unchanged",
  },
  {
    what: "capacity 0 spaces reservations evenly",
    limit: spaced,
    state: { value: -1, ts: NOW },
    demand: { reserve: true },
    status: { ok: true, retryAt: NOW + 200, remaining: 0, resetAt: NOW + 200 },
    next: { value: -2, ts: NOW },
  },
  {
    what: "a new window brings its rate",
    limit: window,
    state: { value: 0, ts: NOW - 1, window: { since: NOW - 1000, used: 15 } },
    status: { ok: true, remaining: 9, resetAt: NOW + 1000 },
    next: { value: 9, ts: NOW },
  },
  {
    what: "what was left is carried over, up to the capacity",
    limit: window,
    state: { value: 9, ts: NOW - 1, window: { since: NOW - 1000, used: 6 } },
    demand: { count: 15 },
    status: { ok: true, remaining: 0, resetAt: NOW + 1000 },
    next: { value: 0, ts: NOW },
  },
  {
    what: "within a window nothing arrives",
    limit: window,
    state: { value: 0, ts: NOW },
    now: NOW + 999,
    status: { ok: false, retryAt: NOW + 1000, remaining: 0, resetAt: NOW + 1000 },
    next: "unchanged",
  },
  {
    what: "more than a window brings takes more windows",
    limit: window,
    state: { value: 0, ts: NOW },
    demand: { count: 11 },
    status: { ok: false, retryAt: NOW + 2000, remaining: 0, resetAt: NOW + 1000 },
    next: "unchanged",
  },
  {
    what: "a window's reservation waits for the next",
    limit: window,
    state: { value: 0, ts: NOW },
    now: NOW + 400,
    demand: { count: 5, reserve: true },
    status: { ok: true, retryAt: NOW + 1000, remaining: 0, resetAt: NOW + 1000 },
    next: { value: -5, ts: NOW + 400 },
  },
  {
    what: "a window's reservation that may not wait so long comes back later",
    limit: window,
    state: { value: 0, ts: NOW },
    now: NOW + 400,
    demand: { count: 5, reserve: { within: 100 } },
    status: { ok: false, retryAt: NOW + 900, remaining: 0, resetAt: NOW + 1000 },
    next: "unchanged",
  },
  {
    what: "a clock that stepped back over a boundary gets no window twice",
    limit: window,
    state: { value: 0, ts: NOW },
    now: NOW - 1,
    status: { ok: false, retryAt: NOW + 1000, remaining: 0, resetAt: NOW + 1000 },
    next: "unchanged",
  },
  {
    what: "a sliding window remembers what was taken and when",
    limit: sliding,
    state: { value: 7, ts: NOW - 300, recent: entries([NOW - 300, 3]) },
    demand: { count: 7 },
    status: { ok: true, remaining: 0, resetAt: NOW + 1000 },
    next: { value: 0, ts: NOW, recent: entries([NOW - 300, 3], [NOW, 7]) },
  },
  {
    what: "what has left a sliding window is forgotten, to the millisecond",
    limit: sliding,
    state: { value: 0, ts: NOW - 999, recent: entries([NOW - 1000, 4], [NOW - 999, 6]) },
    demand: { count: 4 },
    status: { ok: true, remaining: 0, resetAt: NOW + 1000 },
    next: { value: 0, ts: NOW, recent: entries([NOW - 999, 6], [NOW, 4]) },
  },
  {
    what: "a sliding window denies until enough has left it",
    limit: sliding,
    state: { value: 0, ts: NOW - 300, recent: entries([NOW - 700, 4], [NOW - 300, 6]) },
    demand: { count: 5 },
    status: { ok: false, retryAt: NOW + 700, remaining: 0, resetAt: NOW + 700 },
    next: "unchanged",
  },
  {
    what: "a sliding window's reservation is an entry of its own moment",
    limit: sliding,
    state: { value: 0, ts: NOW - 300, recent: entries([NOW - 700, 4], [NOW - 300, 6]) },
    demand: { count: 4, reserve: true },
    status: { ok: true, retryAt: NOW + 300, remaining: 0, resetAt: NOW + 1300 },
    next: { value: -4, ts: NOW, recent: entries([NOW - 700, 4], [NOW - 300, 6], [NOW + 300, 4]) },
  },
  {
    what: "a sliding window owes no more than maxReserved",
    limit: sliding,
    state: { value: -4, ts: NOW, recent: entries([NOW - 700, 4], [NOW - 300, 6], [NOW + 300, 4]) },
    demand: { count: 2, reserve: true },
    status: { ok: false, retryAt: NOW + 300, remaining: 0, resetAt: NOW + 1300 },
    next: "unchanged",
  },
  {
    what: "a count of 0 that may wait asks for no room among the reservations",
    limit: bucket,
    state: { value: -20, ts: NOW },
    demand: { count: 0, reserve: { within: 1900 } },
    status: { ok: false, retryAt: NOW + 100, remaining: 0, resetAt: NOW + 3000 },
    next: "unchanged",
  },
  {
    what: "by a clock that stepped back a reservation waits no longer than it must",
    limit: bucket,
    state: { value: -1, ts: NOW + 500 },
    demand: { reserve: { within: 600 } },
    status: { ok: false, retryAt: NOW + 100, remaining: 0, resetAt: NOW + 1600 },
    next: "unchanged",
  },
  {
    what: "a full window's reservation of more than it holds comes back shortly before the next",
    limit: window,
    state: "none",
    demand: { count: 20, reserve: { within: 100 } },
    status: { ok: false, retryAt: NOW + 900, remaining: 15, resetAt: NOW + 1000 },
    next: "unchanged",
  },
  {
    what: "a month's reservation of more than it holds comes back before a month that is short enough",
    limit: month,
    state: "none",
    now: Date.UTC(2026, 2, 5),
    demand: { count: 15, reserve: { within: 29 * DAY } },
    status: { ok: false, retryAt: Date.UTC(2027, 0, 31), remaining: 5, resetAt: Date.UTC(2026, 3, 1) },
    next: "unchanged",
  },
  {
    what: "a day's reservation of more than it holds comes back before the clocks go forward",
    limit: day,
    state: "none",
    now: Date.UTC(2026, 2, 29, 12),
    demand: { count: 15, reserve: { within: DAY - 1 } },
    status: {
      ok: false,
      retryAt: Date.UTC(2027, 2, 27, 22, 0, 0, 1),
      remaining: 5,
      resetAt: Date.UTC(2026, 2, 29, 22),
    },
    next: "unchanged",
  },
  {
    what: "a rate of a third is rounded down, and the moment is that of what is stored",
    limit: third,
    state: { value: 0, ts: NOW },
    demand: { count: 1, reserve: true },
    status: { ok: false, retryAt: NOW + 2001, remaining: 0, resetAt: NOW + 3001 },
    next: "unchanged",
  },
  {
    what: "of a bucket that takes seconds to bring a unit, a reservation comes back at the first moment that starts it in time",
    limit: slow,
    state: { value: 0, ts: NOW },
    demand: { count: 1, reserve: { within: DAY } },
    status: { ok: false, retryAt: NOW + 128_700_042_310_072, remaining: 0, resetAt: END_OF_TIME },
    next: "unchanged",
  },
];

describe("decide", () => {
  it.each(rows)("$what", ({ limit, state, now = NOW, demand = {}, status, next }) => {
    const before = state === "none" ? fullState(limit) : fromStored(limit, state, undefined);
    const decision = decide(limit, before, now, parseDemand(limit, demand));
    expect(decision.status).toEqual(status);
    const { window, ...taken } = toStored(limit, decision.taken ?? before);
    expect(decision.taken ? taken : "unchanged").toEqual(next);
    // What is missing counts as used.
    expect(window?.used).toBe(window && limit.capacity / limit.unitsPerToken - taken.value);
  });

  it.each(rows.filter(({ status }) => "ok" in status && !status.ok))(
    "$what: at retryAt the same call succeeds, a millisecond before it does not",
    ({ limit, state, demand = {}, status }) => {
      const before = state === "none" ? fullState(limit) : fromStored(limit, state, undefined);
      const { retryAt } = status as { retryAt: number };
      const isOk = (now: number) => decide(limit, before, now, parseDemand(limit, demand)).status.ok;
      expect([isOk(retryAt - 1), isOk(retryAt)]).toEqual([false, true]);
    },
  );
});

describe("a reservation that even a full bucket would start later than it may wait", () => {
  it.each([
    ["a bucket", bucket, { count: 12, reserve: { within: 100 } }],
    ["a window", window, { count: 20, reserve: { within: 0 } }],
    ["a month", month, { count: 15, reserve: { within: 28 * DAY - 1 } }],
  ] as const)("is denied for ever: %s", (_what, limit, demand) => {
    for (const state of [fullState(limit), { value: 0, ts: NOW }]) {
      const { status } = decide(limit, state, NOW, parseDemand(limit, demand));
      expect(status).toMatchObject({ ok: false, retryAt: END_OF_TIME });
    }
  });
});

describe("the outlook of a state", () => {
  it("is its whole tokens, and when it is full again", () => {
    const state = fromStored(bucket, { value: 2.75, ts: NOW }, undefined);
    expect(outlook(bucket, state, NOW)).toEqual({ remaining: 2, resetAt: NOW + 725 });
    expect(outlook(bucket, fullState(bucket), NOW)).toEqual({ remaining: 10, resetAt: NOW });
  });
});

describe("the time at which a request is served once all that remains is spent on such requests", () => {
  const limits = [
    parseLimit("bucket", { kind: "token bucket", rate: 10, period: 1000 }),
    parseLimit("window", { kind: "fixed window", rate: 10, period: 1000, start: 0 }),
  ];

  it.each(limits)(
    "is when a $name serves it that has been spent so; without one it is more than is ever there",
    (limit) => {
      const { kind, unitsPerToken } = limit;
      fc.assert(
        fc.property(
          fc.nat(10 * unitsPerToken),
          fc.integer({ min: 1, max: 11 }),
          fc.nat(1000),
          (value, count, later) => {
            const state = { value, ts: NOW };
            const now = NOW + later;
            const advanced = kind.advance(limit, state, now);
            const spent = Math.floor(Math.floor(advanced.value / unitsPerToken) / count) * count;
            const left = kind.take(limit, advanced, spent * unitsPerToken);
            const renewed = renewsAt(limit, state, count, now);
            if (spent + count > 10) {
              expect(renewed).toBeUndefined();
              return;
            }
            const { status } = decide(limit, left, now, parseDemand(limit, { count }));
            expect(status).toMatchObject({ ok: false, retryAt: renewed });
          },
        ),
      );
    },
  );

  it("is when the next token is there, of a request that takes none", () => {
    const [bucket] = limits as [Limit];
    expect(renewsAt(bucket, { value: 2.5 * bucket.unitsPerToken, ts: NOW }, 0, NOW)).toBe(NOW + 50);
  });
});
