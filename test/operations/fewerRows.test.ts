/** A bucket that has more rows than its limit permits now. The share of such a row may be nothing, so several count as one. */
import { projectRateLimit } from "convex-rate-limits/client";
import { describe, expect, it, vi } from "vitest";
import { NOW, useClock } from "../support/clock.js";
import { draw } from "../support/draw.js";
import { useBackend } from "../support/limits.js";
import { partsOf } from "../support/parts.js";
import { placeNames } from "../support/places.js";

useClock();

const hot = { kind: "token bucket", rate: 64, period: 64_000, shards: { atLeast: 8, atMost: 8 } } as const;
const small = { kind: "token bucket", rate: 2, period: 1000 } as const;
const windows = { kind: "fixed window", rate: 64, period: 1000, start: 0, shards: { atLeast: 8, atMost: 8 } } as const;

describe.each(placeNames)("in the %s", (place) => {
  const { define, insert, parts } = useBackend(place);
  const values = async () => (await parts()).flatMap(({ shard, value }) => (shard === "!" ? [] : [value]));
  /** Eight rows that were written a millisecond ago. */
  const fill = (value: number, more: object = {}) =>
    insert(...partsOf(3).map((shard) => ({ name: "hot", shard, value, ts: NOW - 1, ...more })));

  const { shards, ...big } = hot;
  const planned = { plans: { big, small }, shards };

  it.each(["an override", "a deploy", "a plan"])("serves what one row holds, if %s permits one", async (what) => {
    await fill(8);
    const limits = define({ hot: what === "an override" ? hot : what === "a deploy" ? { ...small, shards } : planned });
    if (what === "an override") await limits.overrideRateLimit({ name: "hot", config: small });
    const asked = { name: "hot", ...(what === "a plan" && { plan: "small" }) };
    const snapshot = await limits.getRateLimit(asked);
    const checked = await limits.checkRateLimit(asked);
    expect(checked).toMatchObject({ ok: true, remaining: 1, resetAt: NOW + 500 });
    expect(projectRateLimit(snapshot, { now: NOW })).toMatchObject(checked);
    expect(await limits.rateLimit(asked)).toEqual(checked);
    expect(await values()).toEqual([1]);
  });

  it("charges one row under the plan of the last call", async () => {
    await fill(8, { plan: "small" });
    const { adjustRateLimit } = define({ hot: planned });
    expect(await adjustRateLimit({ name: "hot", count: 1 })).toEqual({ ok: true, remaining: 1, resetAt: NOW + 500 });
    expect(await values()).toEqual([1]);
  });

  it("reads the rows around the one that it draws, and writes them as one", async () => {
    await fill(1);
    const { rateLimit } = define({ hot: { ...hot, shards: 4 } });
    draw(0.5);
    expect(await rateLimit({ name: "hot" })).toEqual({ ok: true });
    expect(await values()).toEqual([1, 1, 1, 1, 1.00025, 1, 1]);
  });

  it.each([
    ["a charge", 3],
    ["an unlimited call", 3],
    ["what was owed before", 0],
  ])("owes %s on a row that is paid, also if the share of the row that was drawn is nothing", async (what, count) => {
    const owed = what === "what was owed before" ? 3 : 0;
    const own = { bucket: "fixed window 1000", ts: NOW + 1 };
    await fill(0, { ...own, window: { since: NOW, used: 8 } });
    vi.setSystemTime(NOW + 10);
    if (owed > 0) {
      draw(0);
      await define({ hot: windows }).adjustRateLimit({ name: "hot", count: owed });
    }
    // Two rows of two tokens. Of eight rows, every other one would have none.
    const limits = define({ hot: { ...windows, rate: 4, shards: 8 } });
    draw(0, 0.1);
    if (what === "a charge") await limits.adjustRateLimit({ name: "hot", count });
    if (what === "an unlimited call") {
      await limits.overrideRateLimit({ name: "hot", unlimited: true });
      expect(await limits.rateLimit({ name: "hot", count })).toEqual({ ok: true });
      await limits.clearRateLimitOverride({ name: "hot" });
    }
    const snapshot = await limits.getRateLimit({ name: "hot" });
    expect(snapshot).toMatchObject({ value: -3, fullAt: NOW + 3000 });
    // Three windows bring this half what it owes, and two tokens.
    for (const ms of [2999, 3000]) {
      vi.setSystemTime(NOW + ms);
      draw(0, 0.1);
      expect(await limits.rateLimit({ name: "hot", count: 4 })).toMatchObject({ ok: ms === 3000 });
    }
  });

  it.each<[string, object]>([
    ["fixed", { window: { since: NOW, used: 70 } }],
    ["sliding", { recent: [{ at: NOW, count: 70 }] }],
  ])("of a %s window that a smaller plan splits owe as much under the larger one", async (kind, used) => {
    const window = { kind: `${kind} window`, period: 1000, ...(kind === "fixed" && { start: 0 }) };
    const plans = { big: { rate: 70 }, small: { rate: 7 } };
    const limits = define({ hot: { ...window, plans, shards: { atLeast: 2, atMost: 2 } } as never });
    await insert({ name: "hot", bucket: `${kind} window 1000`, value: 0, ts: NOW, plan: "big", ...used });
    vi.setSystemTime(NOW + 10);
    // Its shares are 3 and 4, and those of the larger plan are equal.
    await limits.adjustRateLimit({ name: "hot", plan: "small", count: 1 });
    expect(await values()).toHaveLength(2);
    for (const random of [0.1, 0.9]) {
      draw(random, random);
      expect(await limits.rateLimit({ name: "hot", plan: "big" })).toMatchObject({ ok: false });
    }
  });
});
