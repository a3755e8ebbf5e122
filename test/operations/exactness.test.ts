/** Nothing drifts. That waits are exact to the millisecond is law 2 (test/laws/honestWait.test.ts). */
import { describe, expect, it, vi } from "vitest";
import { parseDemand } from "../../src/engine/request.js";
import { parseLimit } from "../../src/engine/limit.js";
import { decide } from "../../src/engine/decide.js";
import { fullState } from "../../src/engine/kinds/kind.js";
import { fromStored, toStored } from "../../src/engine/units.js";
import { randomFrom, runs } from "../support/random.js";

// Millions of calls, measured for coverage, on a machine that does other things as well.
vi.setConfig({ testTimeout: 600_000 });

const NOW = 1_700_000_000_123;

describe("exact arithmetic", () => {
  interface Case {
    rate: [digits: bigint, scale: bigint];
    periodMs: bigint;
    capacity: bigint;
    /** Demand is somewhat above the rate, so that both answers are frequent. */
    stepMs: number;
    most: number;
  }
  const exact: [string, Case][] = [
    ["7 a day", { rate: [7n, 1n], periodMs: 86_400_000n, capacity: 7n, stepMs: 40_000_000, most: 3 }],
    ["40,000 a minute", { rate: [40_000n, 1n], periodMs: 60_000n, capacity: 4000n, stepMs: 600, most: 500 }],
    ["a tenth a second", { rate: [1n, 10n], periodMs: 1000n, capacity: 1n, stepMs: 15_000, most: 1 }],
    ["0.007 every 13 ms", { rate: [7n, 1000n], periodMs: 13n, capacity: 20n, stepMs: 5000, most: 3 }],
    ["1e9 an hour", { rate: [10n ** 9n, 1n], periodMs: 3_600_000n, capacity: 10n ** 9n, stepMs: 3_000_000, most: 1e9 }],
  ];

  it.each(exact)(
    "a million calls at night, a quarter of it by day, do not drift: %s",
    (name, { rate: [digits, scale], periodMs, capacity, stepMs, most }) => {
      const limit = parseLimit(name, {
        kind: "token bucket",
        rate: Number(digits) / Number(scale),
        period: Number(periodMs),
        capacity: Number(capacity),
      });
      // The twin counts in tokens / (scale * periodMs): digits of them arrive in a millisecond.
      const token = scale * periodMs;
      let twin = capacity * token;
      let state = fullState(limit);
      let now = NOW;
      let last = NOW;
      let [disagreements, allowed] = [0, 0];
      const random = randomFrom(20_240_607);
      const calls = runs(1_000_000);
      for (let call = 0; call < calls; call++) {
        now += Math.floor(random() * stepMs);
        const count = 1 + Math.floor(random() * most);
        twin += BigInt(now - last) * digits;
        if (twin > capacity * token) twin = capacity * token;
        last = now;
        const wanted = BigInt(count) * token;
        const mayGo = twin >= wanted;
        if (mayGo) twin -= wanted;
        const { status, taken } = decide(limit, state, now, parseDemand(limit, { count }));
        if (status.ok !== mayGo) disagreements++;
        if (status.ok) allowed++;
        // Through the stored form, as a row is.
        if (taken) state = fromStored(limit, toStored(limit, taken), undefined);
      }
      expect(disagreements).toBe(0);
      expect(allowed).toBeGreaterThan(calls / 2);
      expect(allowed).toBeLessThan(0.95 * calls);
      // The twin at the moment of the last write.
      const atLastWrite = BigInt(state.value) * token;
      const owed = BigInt(last - state.ts) * digits;
      expect(atLastWrite).toBe((twin - owed) * BigInt(limit.unitsPerToken));
    },
  );
});
