/** Law 2. `retryAt` is exact for one row; a sharded limit that did not look at all its rows may name an earlier moment. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { after, anyConfig, countIn, stepsUpTo, T0 } from "./arbitraries.js";
import { enough, inEveryWorld, type Request, runs, type World } from "./world.js";

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
    expect(seen.denied).toBeGreaterThan(enough(20));
    expect(seen.reserved).toBeGreaterThan(enough(20));
  });

  const DAY = 86_400_000;
  it.each([
    // The double 1/3 is a little less than a third, so after 3000 ms the token is not quite there.
    { title: "a third of a token a second", rate: 1 / 3, period: 1000, capacity: 1, count: 1, waitMs: 3001 },
    { title: "seven tokens a month", rate: 7, period: 30 * DAY, capacity: 7, count: 1, waitMs: 370_285_715 },
    { title: "10^9 tokens a day", rate: 1e9, period: DAY, capacity: 1e9, count: 1e9, waitMs: DAY },
    { title: "0.1 tokens in 0.3 ms", rate: 0.1, period: 0.3, capacity: 2, count: 2, waitMs: 6 },
  ])("$title: an empty bucket serves $count after $waitMs ms", async ({ rate, period, capacity, count, waitMs }) => {
    const world = open();
    const config = { kind: "token bucket" as const, rate, period, capacity };
    expect(await world.consume({ config, count: capacity })).toMatchObject({ ok: true });
    expect(await world.consume({ config, count })).toMatchObject({ ok: false, retryAt: T0 + waitMs });
    world.setClock(T0 + waitMs - 1);
    expect(await world.consume({ config, count })).toMatchObject({ ok: false });
    world.setClock(T0 + waitMs);
    expect(await world.consume({ config, count })).toMatchObject({ ok: true });
  });
});
