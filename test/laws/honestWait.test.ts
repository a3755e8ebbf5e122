/** Law 2. On one row `retryAt` is exact. On several rows it suffices. */
import { describe, expect, it } from "vitest";
import { placeNames } from "../support/places.js";
import { END_OF_TIME } from "../../src/engine/time.js";
import { isExact, stepsUpTo, T0 } from "./arbitraries.js";
import { holds, inEveryWorld, type Request, underFakeClock, type World, worldIn } from "./world.js";

async function expectHonest(world: World, request: Request, retryAt: number, isFirst: boolean): Promise<void> {
  const now = Date.now();
  expect(Number.isInteger(retryAt)).toBe(true);
  expect(retryAt).toBeGreaterThan(now);
  if (retryAt === END_OF_TIME) return;
  world.setClock(retryAt);
  expect(await world.check(request)).toMatchObject({ ok: true });
  world.setClock(retryAt - 1);
  if (isFirst) expect(await world.check(request)).toMatchObject({ ok: false, retryAt });
  world.setClock(now);
}

inEveryWorld("Law 2, honest wait: the request succeeds at retryAt, and not one millisecond earlier", (where) => {
  const { worlds, subject, isOneRow } = where;
  holds(
    "after a denial, and for the time that a reservation names",
    { runs: 300, least: { denied: 0, reserved: 0 } },
    [worlds, subject.any, stepsUpTo(12)],
    async (open, config, steps, seen) => {
      const world = open();
      await world.walk(config, steps, async (step) => {
        // A client asks again under the same config.
        const request = { ...step, config: world.configured(config) };
        const status = await world.consume(request);
        const { retryAt } = status;
        if (retryAt === undefined) return undefined;
        // A reservation's debt is paid when even nothing may be taken without reserving.
        const again = status.ok ? { ...request, count: 0, reserve: false } : request;
        // A sliding window owes nothing for what is promised: law 1 tests its promises. A unit of an inexact limit
        // may be a token, and a debt of nine is cut into four and five.
        const isCut = config.kind === "sliding window" || (!isOneRow && !isExact(config));
        if (!status.ok || !isCut) await expectHonest(world, again, retryAt, isOneRow);
        seen[status.ok ? "reserved" : "denied"]++;
        return retryAt;
      });
    },
  );
});

describe.each(placeNames)("Law 2, honest wait of several rows, in the %s", (place) => {
  underFakeClock();
  const two = { atLeast: 2, atMost: 2 };
  const bucket = { kind: "token bucket", period: 1000 } as const;

  it("one of which is full before the others: a reservation of all that they hold is served at its time", async () => {
    const world = worldIn(place, { atLeast: 4 });
    const config = { ...bucket, rate: 10, maxReserved: 0 };
    await world.consume({ config, count: 1 });
    expect(await world.rows()).toHaveLength(2);
    const all = { config, count: 10, reserve: true };
    const { retryAt = 0 } = await world.consume(all);
    await expectHonest(world, all, retryAt, true);
  });

  it("that hold a reservation together: a denial says when, whichever row the call reads first", async () => {
    for (const drawn of [0.1, 0.9]) {
      const world = worldIn(place, two);
      for (const [i, value] of [0, 1].entries()) await world.plant({ shard: `${i}`, value });
      const request = { config: { ...bucket, rate: 2, capacity: 5, maxReserved: 0 }, count: 1.25, reserve: true };
      world.draw(drawn);
      const { retryAt = 0 } = await world.check(request);
      expect(retryAt).toBe(T0 + 125);
      await expectHonest(world, request, retryAt, true);
    }
  });

  it.each([
    [0.1, 0.9],
    [0.9, 0.1],
  ])(
    "that owe, of a fast limit: a denied reservation is served at its time by either (%d, then %d)",
    async (drawn, again) => {
      const world = worldIn(place, two);
      for (const [i, value] of [-30, -50].entries()) await world.plant({ shard: `${i}`, value });
      const request = { config: { ...bucket, rate: 1000, maxReserved: 100 }, count: 40, reserve: true };
      world.setClock(T0 + 1);
      world.draw(drawn);
      const { retryAt = 0 } = await world.consume(request);
      expect(retryAt).toBeGreaterThan(T0 + 1);
      world.setClock(retryAt);
      world.draw(again);
      expect(await world.consume(request)).toMatchObject({ ok: true });
    },
  );

  it("by a clock behind the last write of one of two: a denial waits until the other holds the rest", async () => {
    const world = worldIn(place, two);
    await world.plant({ shard: "0", value: 0 });
    await world.plant({ shard: "1", value: 20, ts: T0 + 40_000 });
    const request = { config: { ...bucket, rate: 1, capacity: 64 }, count: 30 };
    expect(await world.consume(request)).toMatchObject({ ok: false, retryAt: T0 + 20_000 });
    world.setClock(T0 + 20_000);
    expect(await world.consume(request)).toMatchObject({ ok: true });
  });
});
