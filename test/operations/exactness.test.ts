/** Nothing drifts. That waits are exact to the millisecond is law 2 (test/laws/honestWait.test.ts). */
import { expect, it, vi } from "vitest";
import { parseDemand } from "../../src/engine/request.js";
import { parseLimit } from "../../src/engine/limit.js";
import { decide } from "../../src/engine/decide.js";
import { fullState } from "../../src/engine/kinds/kind.js";
import { fromStored, toStored } from "../../src/engine/units.js";
import { randomFrom, runs } from "../support/random.js";

// Millions of calls, measured for coverage, on a machine that does other things as well.
vi.setConfig({ testTimeout: 600_000 });

const NOW = 1_700_000_000_123;

/** Demand is somewhat above the rate, so that both answers are frequent. */
type Case = [
  name: string,
  digits: bigint,
  scale: bigint,
  periodMs: bigint,
  capacity: bigint,
  stepMs: number,
  most: number,
];
const exact: Case[] = [
  ["7 a day", 7n, 1n, 86_400_000n, 7n, 40_000_000, 3],
  ["40,000 a minute", 40_000n, 1n, 60_000n, 4000n, 600, 500],
  ["a tenth a second", 1n, 10n, 1000n, 1n, 15_000, 1],
  ["0.007 every 13 ms", 7n, 1000n, 13n, 20n, 5000, 3],
  ["a billion an hour", 10n ** 9n, 1n, 3_600_000n, 10n ** 9n, 3_000_000, 1e9],
];

it.each(exact)(
  "a million calls at night, a twelfth of it by day, do not drift: %s",
  (name, digits, scale, periodMs, capacity, stepMs, most) => {
    const [rate, period] = [Number(digits) / Number(scale), Number(periodMs)];
    const limit = parseLimit(name, { kind: "token bucket", rate, period, capacity: Number(capacity) });
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
