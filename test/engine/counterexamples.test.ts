/** Faults of src/engine that tests once found: each example stays as a test. */
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import { decide } from "../../src/engine/decide.js";
import { demandOf } from "../../src/engine/request.js";
import type { DemandArgs } from "../../src/wire/answers.js";
import { fullState, type Limit, type State } from "../../src/engine/kinds/kind.js";
import { parseLimit } from "../../src/engine/kinds/limit.js";
import { fromStored, MAX_UNITS, toStored } from "../../src/engine/units.js";

const NOW = 1_000_000;
const bucket: RateLimitConfig = { kind: "token bucket", rate: 10, period: 1000 };
const sliding: RateLimitConfig = { kind: "sliding window", rate: 10, period: 1000 };
const ask = (limit: Limit, state: State, now: number, asked: DemandArgs) =>
  decide(limit, state, { now, pausedUntil: 0 }, demandOf(limit, asked));

describe("decide", () => {
  it("names a whole millisecond if the longest wait of a reservation is not whole", () => {
    const limit = parseLimit("send", bucket);
    const { status } = ask(limit, { value: -limit.unitsPerToken, ts: NOW }, NOW, { reserve: { within: 2.5 } });
    expect(status).toMatchObject({ ok: false, retryAt: NOW + 198 });
  });

  it("names the first time at which a count of 0 would not wait too long, after a gap between reservations", () => {
    const limit = parseLimit("send", sliding);
    const entry = (at: number, count: number) => ({ at, units: count * limit.unitsPerToken });
    // A reservation that starts in 1,000 ms was cancelled; the next one was not.
    const recent = [entry(NOW, 10), entry(NOW + 2000, 5)];
    const state = { value: -5 * limit.unitsPerToken, ts: NOW, recent };
    const asked = { count: 0, reserve: { within: 100 } };
    expect(ask(limit, state, NOW + 900, asked).status).toMatchObject({ ok: true, retryAt: NOW + 1000 });
    expect(ask(limit, state, NOW, asked).status).toMatchObject({ ok: false, retryAt: NOW + 900 });
  });

  it("denies a reservation if no debt has room for it, instead of promising one time twice", () => {
    const limit = parseLimit("send", { kind: "token bucket", rate: 1e12, period: 86_400_000 });
    const owing = { value: 5 - MAX_UNITS, ts: NOW };
    const served = [5, 6].map((count) => ask(limit, owing, NOW, { count, reserve: true }).status.ok);
    expect(served).toEqual([true, false]);
  });
});

describe("parseLimit", () => {
  it("counts a token bucket of 1/3 of a token per ms like one of 2/3 per 2 ms", () => {
    const config = { kind: "token bucket" as const, capacity: 5000 };
    expect(parseLimit("send", { ...config, rate: 2 / 3, period: 2 }).capacity).toBeGreaterThan(0);
    expect(parseLimit("send", { ...config, rate: 1 / 3, period: 1 }).capacity).toBeGreaterThan(0);
  });

  const arriving = (config: RateLimitConfig) => {
    const limit = parseLimit("send", config);
    return limit.kind.advance(limit, { value: 0, ts: 0 }, Number(config.period)).value / limit.unitsPerToken;
  };

  it("adds the full rate with each window if it is a whole number of tokens, also to windows of 1 ms", () => {
    expect(arriving({ kind: "fixed window", rate: 1e12, period: 1000, start: 0 })).toBe(1e12);
    expect(arriving({ kind: "fixed window", rate: 1e8, period: 1, start: 0 })).toBe(1e8);
  });
});

it("a stored sliding window can be read again after any charge", () => {
  const limit = parseLimit("send", { ...sliding, rate: 1e12, period: 86_400_000 });
  let state = limit.kind.advance(limit, fullState(limit), NOW);
  for (let i = 0; i < 1200; i++) state = limit.kind.take(limit, state, 1e12 * limit.unitsPerToken);
  expect(fromStored(limit, toStored(limit, state), undefined).ts).toBe(NOW);
});
