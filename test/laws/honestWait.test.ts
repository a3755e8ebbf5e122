/** Law 2. On one row `retryAt` is exact; on several it suffices, and it is exact where the call has read all of them. */
import { describe, expect, it } from "vitest";
import { placeNames } from "../support/places.js";
import { LAST_MOMENT } from "../model/exact/config.js";
import { mayBeFast, stepsUpTo, T0 } from "./arbitraries.js";
import { holds, inEveryWorld, type Request, underFakeClock, type World, worldIn } from "./world.js";

async function expectMoment(world: World, request: Request, retryAt: number, isFirst: boolean): Promise<void> {
  const now = Date.now();
  expect(Number.isInteger(retryAt)).toBe(true);
  expect(retryAt).toBeGreaterThan(now);
  if (retryAt === LAST_MOMENT) return;
  world.setClock(retryAt);
  expect(await world.check(request)).toMatchObject({ ok: true });
  world.setClock(retryAt - 1);
  if (isFirst) expect(await world.check(request)).toMatchObject({ ok: false, retryAt });
  world.setClock(now);
}

inEveryWorld("Law 2, honest wait: the request succeeds at retryAt, and not one millisecond earlier", (where) => {
  const { worlds, subject, isOneRow } = where;
  holds(
    "after a denial, and for the moment that a reservation names",
    { runs: 300, least: { denied: 0, reserved: 0 } },
    [worlds, subject.any, stepsUpTo(12)],
    async (open, config, steps, seen) => {
      const world = open();
      await world.walk(config, steps, async (request) => {
        const status = await world.consume(request);
        const { retryAt } = status;
        if (retryAt === undefined) return undefined;
        // A reservation's debt is paid when even nothing may be taken without reserving.
        const again = status.ok ? { config, count: 0 } : request;
        // A sliding window owes nothing for what is promised: its promises are held to the bound.
        const isDebt = status.ok && config.kind === "sliding window";
        // With `remaining` a status comes from all of the rows; of a fast limit the next call may read two of them.
        const isExact =
          isOneRow ||
          (status.remaining !== undefined && (status.ok || request.reserve || !mayBeFast(config, request.count)));
        if (!isDebt) await expectMoment(world, again, retryAt, isExact);
        seen[status.ok ? "reserved" : "denied"]++;
        return retryAt;
      });
    },
  );
});

describe("Law 2, honest wait: to the millisecond", () => {
  underFakeClock();
  const DAY = 86_400_000;
  const cases = [
    // The double 1/3 is a little less than a third, so after 3000 ms the token is not quite there.
    { title: "a third of a token a second", rate: 1 / 3, period: 1000, capacity: 1, count: 1, waitMs: 3001 },
    { title: "seven tokens a month", rate: 7, period: 30 * DAY, capacity: 7, count: 1, waitMs: 370_285_715 },
    { title: "10^9 tokens a day", rate: 1e9, period: DAY, capacity: 1e9, count: 1e9, waitMs: DAY },
    { title: "0.1 tokens in 0.3 ms", rate: 0.1, period: 0.3, capacity: 2, count: 2, waitMs: 6 },
  ];
  const shards = [undefined, 2, 7, 16, 256, "auto", { atLeast: 4, atMost: 16 }, { atLeast: 64 }] as const;
  describe.each(placeNames)("in the %s", (place) => {
    it.each(cases)("$title: an empty bucket serves $count after $waitMs ms", async ({ count, waitMs, ...fields }) => {
      for (const setting of shards) {
        const world = worldIn(place, setting);
        const { rate, period, capacity } = fields;
        const config = { kind: "token bucket" as const, rate, period, capacity };
        expect(await world.consume({ config, count: capacity })).toMatchObject({ ok: true });
        expect(await world.consume({ config, count })).toMatchObject({ ok: false, retryAt: T0 + waitMs });
        world.setClock(T0 + waitMs - 1);
        expect(await world.consume({ config, count })).toMatchObject({ ok: false });
        world.setClock(T0 + waitMs);
        expect(await world.consume({ config, count })).toMatchObject({ ok: true });
      }
    });
  });
});
