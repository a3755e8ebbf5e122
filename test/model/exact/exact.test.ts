/** The judge is judged: the exact buckets against brute force, which knows the laws and none of their code. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ask, type State, undo } from "./bucket.js";
import type { ExactLimit, SlidingWindow } from "./config.js";
import { most, type Start } from "./most.js";

const request = fc.record({
  waitMs: fc.nat(30),
  count: fc.integer({ min: 1, max: 5 }),
  reserve: fc.boolean(),
  cancels: fc.nat(5),
});
const window = fc.record({
  kind: fc.constant("sliding window" as const),
  rate: fc.integer({ min: 5, max: 12 }),
  period: fc.integer({ min: 1, max: 60 }),
  maxReserved: fc.constantFrom(undefined, 0, 3, 20),
});

/** The first millisecond from `now` on at which a call would be allowed, by trying each. */
function firstYes(limit: ExactLimit, state: State, now: number, asked: { count: number; reserve: boolean }): number {
  let moment = now;
  while (!ask(limit, state, moment, asked).answer.ok) moment++;
  return moment;
}

describe("the exact sliding window", () => {
  it("starts at most `rate` tokens in any interval, wherever it begins, cancelled ones aside", () => {
    let reserved = 0;
    const property = fc.property(window, fc.array(request, { size: "max", maxLength: 40 }), (limit, requests) => {
      let [state, now]: [State, number] = [undefined, 0];
      let starts: Start[] = [];
      for (const { waitMs, count, reserve, cancels } of requests) {
        now += waitMs;
        const { answer, after } = ask(limit, state, now, { count, reserve });
        if (answer.ok) starts.push({ at: answer.retryAt ?? now, count });
        if (answer.ok && answer.retryAt !== undefined) reserved++;
        state = after;
        const waiting = starts.filter(({ at }) => at > now);
        const canceled = cancels === 0 ? waiting[0] : undefined;
        if (canceled) [state] = undo(limit, state, now, canceled.count, { takenAt: now, promised: canceled.at });
        starts = starts.filter((start) => start !== canceled);
      }
      expect(most(starts, limit.period)).toBeLessThanOrEqual(limit.rate);
    });
    fc.assert(property, { numRuns: 500 });
    expect(reserved).toBeGreaterThan(200);
  });

  it("lets everything through that keeps the cap when nothing is reserved", () => {
    const property = fc.property(window, fc.array(request, { size: "max", maxLength: 40 }), (limit, requests) => {
      let [state, now]: [State, number] = [undefined, 0];
      const starts: Start[] = [];
      for (const { waitMs, count } of requests) {
        now += waitMs;
        const { answer, after } = ask(limit, state, now, { count, reserve: false });
        const would = [...starts, { at: now, count }];
        expect(answer.ok).toBe(most(would, limit.period) <= limit.rate);
        if (answer.ok) starts.push({ at: now, count });
        state = after;
      }
    });
    fc.assert(property, { numRuns: 500 });
  });

  it("keeps 10 in any 10 s: a burst, a denial until the first leaves, promises in order", () => {
    const limit: SlidingWindow = { kind: "sliding window", rate: 10, period: 10_000 };
    const burst = ask(limit, undefined, 1000, { count: 10, reserve: false });
    expect(burst.answer).toEqual({ ok: true, remaining: 0, resetAt: 11_000 });
    const denied = ask(limit, burst.after, 10_999, { count: 1, reserve: false });
    expect(denied.answer).toEqual({ ok: false, retryAt: 11_000, remaining: 0, resetAt: 11_000 });
    const promised = ask(limit, burst.after, 2000, { count: 6, reserve: true });
    expect(promised.answer).toEqual({ ok: true, retryAt: 11_000, remaining: 0, resetAt: 21_000 });
    const next = ask(limit, promised.after, 2000, { count: 5, reserve: true });
    expect(next.answer).toEqual({ ok: true, retryAt: 21_000, remaining: 0, resetAt: 31_000 });
  });
});

const refilling: fc.Arbitrary<ExactLimit> = fc.record({
  kind: fc.constantFrom("token bucket" as const, "fixed window" as const),
  rate: fc.integer({ min: 1, max: 5 }),
  period: fc.integer({ min: 1, max: 40 }),
  capacity: fc.integer({ min: 5, max: 9 }),
  maxReserved: fc.constantFrom(undefined, 0, 5, 20),
  start: fc.nat(50),
});

describe("every exact bucket", () => {
  it("says with a denial, and with a promise, the first millisecond there is", () => {
    let denials = 0;
    const limits = fc.oneof(window, refilling);
    const property = fc.property(limits, fc.array(request, { size: "max", maxLength: 30 }), (limit, requests) => {
      let [state, now]: [State, number] = [undefined, 1000];
      for (const { waitMs, count, reserve } of requests) {
        now += waitMs;
        const asked = { count, reserve: reserve && limit.maxReserved !== 0 };
        const { answer, after } = ask(limit, state, now, asked);
        if (!answer.ok) {
          denials++;
          expect(answer.retryAt).toBe(firstYes(limit, state, now, asked));
        } else if (answer.retryAt !== undefined && limit.kind !== "sliding window") {
          expect(answer.retryAt).toBe(firstYes(limit, after, now, { count: 0, reserve: false }));
        }
        state = after;
      }
    });
    fc.assert(property, { numRuns: 500 });
    expect(denials).toBeGreaterThan(500);
  });
});
