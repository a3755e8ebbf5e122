/** Law 2. `retryAt` is exact for one row; a sharded limit that did not look at all its rows may name an earlier moment. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { after, anyConfig, countIn, stepsUpTo, T0 } from "./arbitraries.js";
import { inEveryWorld, type Request, runs, type World } from "./world.js";

/** Promises are cut off at the last moment that a Date can name. */
const LAST_MOMENT = 8.64e15;

async function expectFirstMoment(world: World, request: Request, now: number, retryAt: number): Promise<void> {
  expect(Number.isInteger(retryAt)).toBe(true);
  expect(retryAt).toBeGreaterThan(now);
  if (retryAt === LAST_MOMENT) return;
  world.setClock(retryAt);
  expect(await world.check(request)).toMatchObject({ ok: true });
  world.setClock(retryAt - 1);
  if (world.whole) expect(await world.check(request)).toMatchObject({ ok: false, retryAt });
  world.setClock(now);
}

inEveryWorld("Law 2, honest wait: the request succeeds at retryAt, and not one millisecond earlier", (open) => {
  it("after a denial, and for the moment that a reservation names", async () => {
    const seen = { denied: 0, reserved: 0 };
    await fc.assert(
      fc.asyncProperty(anyConfig, stepsUpTo(12), async (config, steps) => {
        const world = open();
        let now = T0;
        let retryAt: number | undefined;
        for (const { wait, portion, reserve } of steps) {
          now = after(wait, config, now, retryAt);
          if (now >= LAST_MOMENT) return;
          world.setClock(now);
          const request = { config, count: countIn(config, reserve, portion), reserve };
          const status = await world.consume(request);
          retryAt = status.retryAt;
          if (retryAt === undefined) continue;
          // A reservation's debt is paid when even nothing may be taken without reserving.
          await expectFirstMoment(world, status.ok ? { config, count: 0 } : request, now, retryAt);
          seen[status.ok ? "reserved" : "denied"]++;
        }
      }),
      runs(150),
    );
    expect(seen.denied).toBeGreaterThan(20);
    expect(seen.reserved).toBeGreaterThan(20);
  });

  it.each([
    { title: "a third of a token", config: { rate: 1 / 3, period: 1000, capacity: 1 }, waitMs: 3000 },
    { title: "seven a month", config: { rate: 7, period: 30 * 86_400_000 }, waitMs: Math.ceil((30 * 86_400_000) / 7) },
    { title: "10^9 a day", config: { rate: 1e9, period: 86_400_000 }, waitMs: 86_400_000 },
    { title: "0.1 in 0.3 ms", config: { rate: 0.1, period: 0.3, capacity: 2 }, waitMs: 6 },
  ])("$title: waiting exactly $waitMs ms suffices", async ({ config, waitMs }) => {
    const world = open();
    // The bucket is emptied as a whole, and what is asked is what takes all of a period, or one token.
    const count = waitMs === 86_400_000 ? 1e9 : config.rate === 0.1 ? 2 : 1;
    const request = { config: { kind: "token bucket" as const, ...config }, count };
    await world.consume({ ...request, count: config.capacity ?? config.rate });
    const status = await world.consume(request);
    // The slope of a third is rounded down, so its last unit arrives with the following millisecond.
    const rounding = Number.isInteger(config.rate * 10) ? 0 : 1;
    expect(status).toMatchObject({ ok: false, retryAt: T0 + waitMs + rounding });
    world.setClock(T0 + waitMs + rounding - 1);
    expect(await world.consume(request)).toMatchObject({ ok: false });
    world.setClock(T0 + waitMs + rounding);
    expect(await world.consume(request)).toMatchObject({ ok: true });
  });
});
