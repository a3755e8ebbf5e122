/** What a page shows of a limit after a downgrade, a top-up, a pause or a lowered quota: as the server would answer. */
import { DAY, MINUTE } from "convex-rate-limits";
import { projectRateLimit, usageOf } from "convex-rate-limits/client";
import { describe, expect, it, vi } from "vitest";
import { projectUntilChange } from "../../src/browser/project.js";
import { START as NOW, useClock } from "../support/clock.js";
import { useBackend } from "../support/limits.js";
import { placeNames } from "../support/places.js";
import { firstOf } from "../support/random.js";

useClock(NOW);

describe.each(firstOf(1, placeNames))("in the %s", (place) => {
  const { define, insert } = useBackend(place);
  const window = { kind: "fixed window", period: DAY, start: NOW, keyed: true } as const;
  const limits = define({
    calls: { ...window, plans: { free: { rate: 100 }, pro: { rate: 1000 } } },
    bucket: { kind: "token bucket", rate: 10, period: 1000 },
    fixed: { kind: "fixed window", rate: 10, period: 1000, start: 0, maxReserved: 20 },
    saving: { kind: "fixed window", rate: 10, period: 1000, start: 0, capacity: 25 },
    calendar: { kind: "fixed window", rate: 10, period: "day" },
    sliding: { kind: "sliding window", rate: 10, period: 1000 },
    jobs: { kind: "concurrency", slots: 2, lease: MINUTE },
  });
  const customer = { name: "calls", key: "ada" };
  const usage = async (bucket: object) => usageOf(await limits.getRateLimit(bucket), Date.now());

  it("the usage is true after a downgrade, until the next window", async () => {
    await limits.rateLimit({ ...customer, plan: "pro", count: 150 });
    expect(await usage({ ...customer, plan: "pro" })).toEqual({ used: 150, of: 1000, resetAt: NOW + DAY, plan: "pro" });
    const free = { ...customer, plan: "free" };
    expect(await usage(free)).toEqual({ used: 150, of: 100, resetAt: NOW + DAY, plan: "free" });
    expect(await limits.rateLimit(free)).toMatchObject({ ok: false, retryAt: NOW + DAY });
    expect(await usage(free)).toMatchObject({ used: 150, of: 100 });
    vi.setSystemTime(NOW + DAY);
    expect(await usage(free)).toEqual({ used: 0, of: 100, resetAt: NOW + 2 * DAY, plan: "free" });
  });

  it("a top-up is added to the plan in force, and survives an upgrade", async () => {
    await limits.rateLimit({ ...customer, plan: "free", count: 100 });
    await limits.overrideRateLimit({ ...customer, more: 5, until: NOW + 3 * DAY });
    expect(await usage({ ...customer, plan: "free" })).toMatchObject({ used: 100, of: 105, plan: "free" });
    expect(await limits.rateLimit({ ...customer, plan: "free", count: 5 })).toMatchObject({ ok: true, remaining: 0 });
    expect(await usage({ ...customer, plan: "pro" })).toMatchObject({ used: 105, of: 1005, plan: "pro" });
    expect(await limits.rateLimit({ ...customer, plan: "pro", count: 900 })).toMatchObject({ ok: true, remaining: 0 });
  });

  const names = ["bucket", "fixed", "saving", "calendar", "sliding"] as const;
  const turns = [{}, { more: 5 }, { unlimited: true }, { block: true }, { lower: 4 }] as const;
  it.each(names.flatMap((name) => turns.map((turn) => ({ name, turn }))))(
    "the projection of $name agrees with checkRateLimit, before, in and after a pause, with $turn",
    async ({ name, turn }) => {
      await limits.rateLimit({ name, count: 7 });
      const config = { ...(await limits.getRateLimit({ name })).config, rate: 4 };
      const lowered = config.kind === "sliding window" ? config : { ...config, capacity: 4 };
      const override = "lower" in turn ? { config: lowered } : turn;
      if (Object.keys(turn).length > 0) await limits.overrideRateLimit({ name, ...override, until: NOW + 2500 });
      for (const pausedFor of [0, 1200]) {
        if (pausedFor > 0) await limits.pauseRateLimit({ name, until: Date.now() + pausedFor });
        const snapshot = await limits.getRateLimit({ name });
        for (const ms of [0, 300, 1199, 1200, 1700, 2499, 2500, 4000]) {
          vi.setSystemTime(NOW + ms);
          for (const demand of [{ count: 0 }, { count: 3 }, { count: 11 }, { count: 5, reserve: true }]) {
            const projected = projectRateLimit(snapshot, { now: NOW + ms, ...demand });
            expect({ ...projected, value: undefined }, `${ms} ${JSON.stringify(demand)}`).toEqual(
              await limits.checkRateLimit({ name, ...demand }),
            );
          }
        }
        vi.setSystemTime(NOW);
      }
    },
  );

  it("a snapshot of a paused bucket says until when, and the projection waits until then", async () => {
    await limits.pauseRateLimit({ name: "bucket", until: NOW + MINUTE });
    const snapshot = await limits.getRateLimit({ name: "bucket" });
    expect(snapshot).toMatchObject({ pausedUntil: NOW + MINUTE });
    expect(projectRateLimit(snapshot, { now: NOW })).toMatchObject({
      ok: false,
      remaining: 0,
      retryAt: NOW + MINUTE + 100,
    });
  });

  it("a block of slots that ends during a pause says when they are free, whatever the pause", async () => {
    const name = "jobs";
    await limits.rateLimit({ name });
    for (const ms of [500, 2 * MINUTE]) {
      await limits.overrideRateLimit({ name, block: true, until: NOW + ms });
      await limits.pauseRateLimit({ name, until: NOW + 3 * MINUTE });
      const projected = projectRateLimit(await limits.getRateLimit({ name }), { now: NOW });
      expect({ ...projected, value: undefined }).toEqual(await limits.checkRateLimit({ name }));
    }
  });

  it.each([0, 8])(
    "what was promised for later than the end of a pause is still missing after that and a gift of %d",
    async (gift) => {
      const name = "sliding";
      await limits.rateLimit({ name, count: 7 });
      await limits.overrideRateLimit({
        name,
        config: { kind: "sliding window", rate: 10, period: 1000, maxReserved: 9 },
      });
      expect(await limits.rateLimit({ name, count: 5, reserve: true })).toMatchObject({ retryAt: NOW + 1000 });
      await limits.pauseRateLimit({ name, until: NOW + 500 });
      await limits.adjustRateLimit({ name, count: -gift });
      const snapshot = await limits.getRateLimit({ name });
      for (const ms of [0, 499, 500, 999, 1000, 1499, 1500, 1501, 1999, 2000]) {
        vi.setSystemTime(NOW + ms);
        for (const demand of [
          { count: 0 },
          { count: 3 },
          { count: 6 },
          { count: 5, reserve: true },
          { reserve: true },
        ]) {
          const projected = projectRateLimit(snapshot, { now: NOW + ms, ...demand });
          const checked = await limits.checkRateLimit({ name, ...demand });
          expect.soft({ ...projected, value: undefined }, `${ms} ${JSON.stringify(demand)}`).toEqual(checked);
        }
      }
    },
  );

  it("the start of a reservation above a full window is shown anew when it has passed", async () => {
    const snapshot = await limits.getRateLimit({ name: "fixed" });
    const shown = projectUntilChange(snapshot, { now: NOW + 10, count: 13, reserve: true });
    expect(shown.status).toMatchObject({ ok: true, retryAt: NOW + 1000 });
    expect(shown.changesAt).toBe(NOW + 1010);
    const later = projectUntilChange(snapshot, { now: shown.changesAt, count: 13, reserve: true });
    expect(later.status).toMatchObject({ ok: true, retryAt: NOW + 2000 });
  });

  it("changes when a reservation that waits for others is served at once, since a plain call would be", async () => {
    const entries = [0, 500, 1500].map((ms, i) => ({ at: NOW + ms, count: [3, 5, 2][i] ?? 0 }));
    await insert({ name: "sliding", bucket: "sliding window 1000", value: 0, ts: NOW + 500, recent: entries });
    const snapshot = await limits.getRateLimit({ name: "sliding" });
    const shown = projectUntilChange(snapshot, { now: NOW + 600, count: 3, reserve: true });
    expect(shown).toMatchObject({ status: { ok: true, retryAt: NOW + 1500 }, changesAt: NOW + 1000 });
    const { status } = projectUntilChange(snapshot, { now: NOW + 1000, count: 3, reserve: true });
    expect(status).toMatchObject({ ok: true });
    expect(status).not.toHaveProperty("retryAt");
  });
});
