/** One bucket, one row of the table per question: the state, the moment, the demand, and the whole answer. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide, renewsAt } from "../../src/engine/decide.js";
import { type DemandArgs, parseDemand } from "../../src/engine/request.js";
import { fullState, type Limit } from "../../src/engine/kinds/kind.js";
import { parseLimit } from "../../src/engine/limit.js";
import { END_OF_TIME } from "../../src/engine/time.js";
import { fromStored, type StoredState, toStored } from "../../src/engine/units.js";

const NOW = 1_000_000;
const bucket = parseLimit("bucket", { kind: "token bucket", rate: 10, period: 1000, maxReserved: 5 });
const saving = { kind: "fixed window", rate: 10, period: 1000, capacity: 15, start: 0, maxReserved: 5 } as const;
const window = parseLimit("window", saving);
const sliding = parseLimit("sliding", { kind: "sliding window", rate: 10, period: 1000, maxReserved: 5 });
const spaced = parseLimit("spaced", { kind: "token bucket", rate: 10, period: 1000, capacity: 0 });
const third = parseLimit("third", { kind: "token bucket", rate: 1 / 3, period: 1000, capacity: 1, maxReserved: 1 / 3 });
const slow = parseLimit("slow", { kind: "token bucket", rate: 7.77, period: 1e15, capacity: 100, maxReserved: 20 });

const DAY = 86_400_000;
/** A reservation of `slow` starts within a day from then on. */
const SLOW_MS = 128_700_042_310_072;
const month = parseLimit("month", { kind: "fixed window", rate: 5, period: "month" });
const day = parseLimit("day", { kind: "fixed window", rate: 5, period: "day", timeZone: "Europe/Berlin" });

/** What a row holds, ms after NOW. */
const held = (value: number, ms = 0): StoredState => ({ value, ts: NOW + ms });
/** What a sliding window of ten has given, ms after NOW: it was written last then, or at NOW. */
function log(...taken: [ms: number, count: number][]): StoredState {
  const recent = taken.map(([ms, count]) => ({ at: NOW + ms, count }));
  const value = 10 - recent.reduce((sum, { count }) => sum + count, 0);
  return { value, ts: NOW + Math.min(0, taken.at(-1)?.[0] ?? 0), recent };
}
const both: [number, number][] = [
  [-700, 4],
  [-300, 6],
];
/** A window's row, written a millisecond before the next window begins. */
const used = (used: number): StoredState => ({ ...held(15 - used, -1), window: { since: NOW - 1000, used } });
const ok = (remaining: number, resetMs: number, waitMs?: number) => ({
  ok: true,
  remaining,
  resetAt: NOW + resetMs,
  ...(waitMs !== undefined && { retryAt: NOW + waitMs }),
});
const denied = (waitMs: number, remaining: number, resetMs: number) => ({
  ok: false,
  retryAt: NOW + waitMs,
  remaining,
  resetAt: NOW + resetMs,
});
const until = (...date: [number, number, ...number[]]) => Date.UTC(...date) - NOW;
const reserve = true;
const within = (ms: number) => ({ reserve: { within: ms } });
const inMonth = { ms: until(2026, 2, 5), count: 15, ...within(29 * DAY) };
const dated = { ...ok(2, 1300), takenAt: NOW + 500 };
const returnable = { ...held(2, 500), headroom: [{ at: NOW + 500, count: 0 }] };
const part = { count: 6, atLeast: 2.5 };
const took = (taken: number, resetMs: number) => ({ ...ok(0, resetMs), taken });

/** No state is a bucket without a row; the demand is made at NOW if it does not say when; nothing stays if nothing is written. */
type Row = [
  what: string,
  limit: Limit,
  state: StoredState | null,
  asked: DemandArgs & { ms?: number },
  status: { ok: boolean; retryAt?: number },
  next?: StoredState,
];

const rows: Row[] = [
  ["no row is a full bucket", bucket, null, {}, ok(9, 100), held(9)],
  ["tokens arrive with time", bucket, held(0, -250), {}, ok(1, 850), held(1.5)],
  ["tokens beyond the capacity are lost", bucket, held(9, -9000), { count: 10 }, ok(0, 1000), held(0)],
  ["a denial says when", bucket, held(0.5), {}, denied(50, 0, 950)],
  ["a denial leaves the row's time as it was", bucket, held(0, -150), { count: 2 }, denied(50, 1, 850)],
  ["a clock that stepped back gives and takes nothing", bucket, held(3, 500), {}, ok(2, 1300), held(2, 500)],
  ["and dates what it takes by the last write", bucket, held(3, 500), { refundable: true }, dated, returnable],
  ["a full bucket needs no reset", bucket, null, { count: 0 }, ok(10, 0)],
  ["a count of 0 changes nothing", bucket, held(3), { count: 0 }, ok(3, 700)],
  ["a count of 0 is denied while tokens are owed", bucket, held(-1), { count: 0 }, denied(100, 0, 1100)],
  ["a count of 0 may wait for the debt of others", bucket, held(-1), { count: 0, reserve }, ok(0, 1100, 100)],
  ["but not for longer than it says", bucket, held(-1), { count: 0, ...within(30) }, denied(70, 0, 1100)],
  ["it needs no room among reservations", bucket, held(-8), { count: 0, ...within(600) }, denied(200, 0, 1800)],
  ["nor among many of them", bucket, held(-20), { count: 0, ...within(1900) }, denied(100, 0, 3000)],
  ["a reservation takes from the future", bucket, held(1), { count: 3, reserve }, ok(0, 1200, 200), held(-2)],
  ["a reservation that is covered may go at once", bucket, held(3), { count: 3, reserve }, ok(0, 1000), held(0)],
  ["a reservation may owe as much as maxReserved", bucket, held(-4), { reserve }, ok(0, 1500, 500), held(-5)],
  ["and no more", bucket, held(-4.5), { reserve }, denied(50, 0, 1450)],
  ["a reservation may wait as long as it says", bucket, held(-1), within(200), ok(0, 1200, 200), held(-2)],
  ["and no longer", bucket, held(-1), within(199), denied(1, 0, 1100)],
  ["a reservation that may not wait comes back for its tokens", bucket, held(-1), within(0), denied(200, 0, 1100)],
  ["of both bounds the later one says when", bucket, held(-4.5), within(540), denied(50, 0, 1450)],
  ["by a clock that stepped back it waits for it", bucket, held(-1, 500), within(600), denied(100, 0, 1600)],
  ["capacity 0 spaces reservations evenly", spaced, held(-1), { reserve }, ok(0, 200, 200), held(-2)],
  ["a rate of a third is rounded down, as it is stored", third, held(0), { count: 1, reserve }, denied(2001, 0, 3001)],
  ["a part is the least, and whole tokens beyond it", bucket, held(3.75), part, took(3.5, 975), held(0.25)],
  ["it is all that is asked, if all is there", bucket, held(6), part, took(6, 1000), held(0)],
  ["it is nothing, if less than the least is there", bucket, held(2.25), part, denied(25, 2, 775)],
  // It takes seconds to bring a unit.
  ["a slow one comes back when it starts in time", slow, held(0), within(DAY), denied(SLOW_MS, 0, END_OF_TIME - NOW)],

  ["a new window brings its rate", window, used(15), {}, ok(9, 1000), held(9)],
  ["what was left is carried over, up to the capacity", window, used(6), { count: 15 }, ok(0, 1000), held(0)],
  ["within a window nothing arrives", window, held(0), { ms: 999 }, denied(1000, 0, 1000)],
  ["more than a window brings takes more windows", window, held(0), { count: 11 }, denied(2000, 0, 1000)],
  [
    "a reservation waits for the next",
    window,
    held(0),
    { ms: 400, count: 5, reserve },
    ok(0, 1000, 1000),
    held(-5, 400),
  ],
  ["or comes back later", window, held(0), { ms: 400, count: 5, ...within(100) }, denied(900, 0, 1000)],
  ["a clock that stepped back gets no window twice", window, held(0), { ms: -1 }, denied(1000, 0, 1000)],
  // More than a full window holds is served shortly before the next one, or before one that is short enough.
  ["a reservation of more than a full window", window, null, { count: 20, ...within(100) }, denied(900, 15, 1000)],
  ["so is one of more than a month holds", month, null, inMonth, denied(until(2027, 0, 31), 5, until(2026, 3, 1))],
  [
    "a reservation of more than a day holds, until the clocks go forward",
    day,
    null,
    { ms: until(2026, 2, 29, 12), count: 15, ...within(DAY - 1) },
    denied(until(2027, 2, 27, 22, 0, 0, 1), 5, until(2026, 2, 29, 22)),
  ],

  [
    "a sliding window remembers when it gave",
    sliding,
    log([-300, 3]),
    { count: 7 },
    ok(0, 1000),
    log([-300, 3], [0, 7]),
  ],
  ["it forgets after a period", sliding, log([-1000, 4], [-999, 6]), { count: 4 }, ok(0, 1000), log([-999, 6], [0, 4])],
  ["it denies until enough has left it", sliding, log(...both), { count: 5 }, denied(700, 0, 700)],
  ["it reserves at a time", sliding, log(...both), { count: 4, reserve }, ok(0, 1300, 300), log(...both, [300, 4])],
  ["it owes at most maxReserved", sliding, log(...both, [300, 4]), { count: 2, reserve }, denied(300, 0, 1300)],
];

it.each(rows)("%s", (_what, limit, state, { ms = 0, ...asked }, status, next) => {
  const before = state ? fromStored(limit, state, undefined) : fullState(limit);
  const decideAt = (now: number) => decide(limit, before, now, parseDemand(limit, asked));
  const decision = decideAt(NOW + ms);
  expect(decision.status).toEqual(status);
  const { window, ...taken } = toStored(limit, decision.taken ?? before);
  expect(decision.taken && taken).toEqual(next);
  // What is missing counts as used.
  expect(window?.used).toBe(window && limit.capacity / limit.unitsPerToken - taken.value);
  if (status.ok || status.retryAt === undefined) return;
  const times = [status.retryAt - 1, status.retryAt];
  expect(times.map((at) => decideAt(at).status.ok)).toEqual([false, true]);
});

it.each([
  ["a bucket", bucket, { count: 12, reserve: { within: 100 } }],
  ["a window", window, { count: 20, reserve: { within: 0 } }],
  ["a month", month, { count: 15, reserve: { within: 28 * DAY - 1 } }],
] as const)("%s denies for ever what even a full one would start later than it may wait", (_what, limit, demand) => {
  for (const state of [fullState(limit), { value: 0, ts: NOW }]) {
    const { status } = decide(limit, state, NOW, parseDemand(limit, demand));
    expect(status).toMatchObject({ ok: false, retryAt: END_OF_TIME });
  }
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
