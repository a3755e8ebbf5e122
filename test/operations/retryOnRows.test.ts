/** A denial on two rows: its `retryAt` is a time by which any row that a call may draw serves the same count. It reads no row twice. */
import { describe, expect, it, vi } from "vitest";
import { NOW, useClock } from "../support/clock.js";
import { draw } from "../support/draw.js";
import { useBackend } from "../support/limits.js";
import { partsOf } from "../support/parts.js";
import { placeNames } from "../support/places.js";
import { randomFrom } from "../support/random.js";

useClock();

/** Where those of 64 rows lie that have this share of the tokens, as random numbers draw them. */
const pointsOf = (tokens: number, share: number) => {
  const upTo = (row: number) => Math.floor((tokens * row) / 64);
  const rows = Array.from({ length: 64 }, (_, row) => row);
  return rows.filter((row) => upTo(row + 1) - upTo(row) === share).map((row) => row / 64);
};

describe.each(placeNames)("in the %s, a denial on two rows", (place) => {
  const { define, insert, parts, cost } = useBackend(place);

  it("has a retryAt that suffices for all others if shares differ by a token, so that some rows serve the count alone and others do not", async () => {
    const config = { kind: "token bucket", rate: 250, period: 1000, capacity: 250 } as const;
    const [a = 0, b = 0, ...others] = pointsOf(250, 4);
    const held = (i: number) => (i / 64 === a || i / 64 === b ? 1.5 : 0);
    await insert(...partsOf(6).map((shard, i) => ({ name: "hot", shard, value: held(i), ts: NOW - 1 })));
    const { rateLimit } = define({ hot: { ...config, shards: 64 } });
    draw(a, b);
    const denied = await rateLimit({ name: "hot", count: 2 });
    expect(denied).toMatchObject({ ok: false });
    vi.setSystemTime(denied.retryAt ?? NaN);
    draw(...others.slice(0, 2));
    expect(await rateLimit({ name: "hot", count: 2 })).toMatchObject({ ok: true });
  });

  it("has one after a deploy that permits four rows where 256 are", async () => {
    const config = { kind: "token bucket", rate: 10_000, period: 1000, capacity: 10_240 } as const;
    const before = define({ hot: { ...config, shards: { atLeast: 256, atMost: 256 } } });
    const drain = async (row: number, count: number) => {
      draw(row / 256);
      expect(await before.rateLimit({ name: "hot", count })).toMatchObject({ ok: true });
    };
    await drain(0, 1);
    // A row gets a token in 25.6 ms. Rows 10 and 200 are emptied 20 ms before rows 50 and 100.
    for (const row of [10, 200]) await drain(row, 40);
    vi.setSystemTime(NOW + 20);
    for (const row of [50, 100]) await drain(row, 40);
    vi.setSystemTime(NOW + 25);
    const after = define({ hot: { ...config, shards: 4 } });
    draw(10 / 256, 200 / 256);
    // Denied, it is served at its retryAt; or it was served at once, by the quarter of its row.
    vi.setSystemTime((await after.rateLimit({ name: "hot" })).retryAt ?? NOW + 25);
    draw(50 / 256, 100 / 256);
    expect(await after.rateLimit({ name: "hot" })).toMatchObject({ ok: true });
  });

  it("has one in the first window after their start has moved, which brings some rows nothing", async () => {
    const shards = { atLeast: 64, atMost: 64 };
    const config = { kind: "fixed window", rate: 1000, period: 1000, capacity: 2000, shards } as const;
    vi.setSystemTime(NOW + 10);
    await define({ hot: { ...config, start: 0 } }).rateLimit({ name: "hot" });
    // The window that starts at 40 brings 40 of 1000 tokens.
    const { rateLimit } = define({ hot: { ...config, start: 40 } });
    vi.setSystemTime(NOW + 20);
    draw(0.5);
    await rateLimit({ name: "hot" });
    for (const [i, { value }] of (await parts()).entries()) {
      draw(i / 64);
      expect(await rateLimit({ name: "hot", count: value })).toMatchObject({ ok: true });
    }
    vi.setSystemTime(NOW + 30);
    draw(...pointsOf(40, 1).slice(0, 2));
    const denied = await rateLimit({ name: "hot" });
    expect(denied).toMatchObject({ ok: false });
    vi.setSystemTime(denied.retryAt ?? NaN);
    draw(...pointsOf(40, 0).slice(0, 2));
    expect(await rateLimit({ name: "hot" })).toMatchObject({ ok: true });
  });

  it.each([8, 16, 32])("reads none of %i empty rows of a fast window twice, and at most 20", async (rows) => {
    const rate = Math.max(32, 2 * rows);
    const config = { kind: "fixed window", rate, period: 1000, start: 0, capacity: rate } as const;
    const parts = partsOf(Math.log2(rows));
    await insert(
      ...parts.map((shard) => ({ name: "hot", bucket: "fixed window 1000", shard, value: 0, ts: NOW - 10 })),
    );
    const limits = define({ hot: { ...config, shards: rows } });
    vi.setSystemTime(NOW - 1);
    for (let seed = 0; seed < 20; seed++) {
      vi.spyOn(Math, "random").mockImplementation(randomFrom(seed));
      const spent = await cost(limits, async (calls) => {
        expect(await calls.rateLimit({ name: "hot" })).toMatchObject({ ok: false });
      });
      // And the control row's range.
      expect(spent.ranges).toBeLessThanOrEqual(1 + Math.min(20, rows));
    }
  });
});
