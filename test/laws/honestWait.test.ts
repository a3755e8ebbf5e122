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

describe("Law 2, honest wait: of several rows, one is full before the others", () => {
  underFakeClock();
  it.each(placeNames)("in the %s a reservation of all that they hold is served at its time", async (place) => {
    const world = worldIn(place, { atLeast: 4 });
    const config = { kind: "token bucket", rate: 10, period: 1000, maxReserved: 0 } as const;
    await world.consume({ config, count: 1 });
    expect(await world.rows()).toHaveLength(2);
    const all = { config, count: 10, reserve: true };
    const { retryAt = 0 } = await world.consume(all);
    await expectHonest(world, all, retryAt, true);
  });
});

describe("Law 2, honest wait: of two rows that hold the tokens of a reservation together", () => {
  underFakeClock();
  const config = { kind: "token bucket", rate: 2, period: 1000, capacity: 5, maxReserved: 0 } as const;

  it.each(placeNames)(
    "in the %s it is served, and a denial says when, whichever row the call reads first",
    async (place) => {
      for (const drawn of [0.1, 0.9]) {
        const world = worldIn(place, { atLeast: 2, atMost: 2 });
        await world.plant({ shard: "0", value: 0 });
        await world.plant({ shard: "1", value: 1 });
        const request = { config, count: 1.25, reserve: true };
        world.draw(drawn);
        const { retryAt = 0 } = await world.check(request);
        expect(retryAt).toBe(T0 + 125);
        await expectHonest(world, request, retryAt, true);
      }
    },
  );
});

describe("Law 2, honest wait: of two rows of a fast limit that owe", () => {
  underFakeClock();
  const config = { kind: "token bucket", rate: 1000, period: 1000, maxReserved: 100 } as const;

  it.each(placeNames)("in the %s a denied reservation is served at its time by either", async (place) => {
    for (const [drawn, again] of [
      [0.1, 0.9],
      [0.9, 0.1],
    ] as const) {
      const world = worldIn(place, { atLeast: 2, atMost: 2 });
      await world.plant({ shard: "0", value: -30 });
      await world.plant({ shard: "1", value: -50 });
      const request = { config, count: 40, reserve: true };
      world.setClock(T0 + 1);
      world.draw(drawn);
      const { retryAt = 0 } = await world.consume(request);
      expect(retryAt).toBeGreaterThan(T0 + 1);
      world.setClock(retryAt);
      world.draw(again);
      expect(await world.consume(request)).toMatchObject({ ok: true });
    }
  });
});

describe("Law 2, honest wait: by a clock behind the last write of one of two rows", () => {
  underFakeClock();
  const config = { kind: "token bucket", rate: 1, period: 1000, capacity: 64 } as const;

  it.each(placeNames)("in the %s a denial waits until the other row holds the rest", async (place) => {
    const world = worldIn(place, { atLeast: 2, atMost: 2 });
    await world.plant({ shard: "0", value: 0 });
    await world.plant({ shard: "1", value: 20, ts: T0 + 40_000 });
    expect(await world.consume({ config, count: 30 })).toMatchObject({ ok: false, retryAt: T0 + 20_000 });
    world.setClock(T0 + 20_000);
    expect(await world.consume({ config, count: 30 })).toMatchObject({ ok: true });
  });
});
