/**
 * Pauses, with laws 1, 2, 6 and 12: until a pause ends nothing starts, whatever comes back by date and wherever the clock stands; waits
 * stay honest; and the bucket is empty then. The exact buckets of test/model have pauses among all other calls.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { placeNames } from "../support/places.js";
import { countIn, periodMsOf, portion, T0 } from "./arbitraries.js";
import { enough, inEveryWorld, runs, underFakeClock, worldIn } from "./world.js";

const act = fc.oneof(
  fc.record({ is: fc.constant("take" as const), portion, reserve: fc.boolean(), refundable: fc.boolean() }),
  fc.record({ is: fc.constant("give back" as const) }),
  fc.record({ is: fc.constant("pause" as const), periods: fc.constantFrom(-1, 0.001, 0.5, 2) }),
);
const acts = fc.array(fc.record({ act, ms: fc.integer({ min: -50, max: 400 }) }), { minLength: 4, maxLength: 16 });

inEveryWorld("A pause, with laws 1, 2, 6 and 12", ({ worlds, subject, isOneRow }) => {
  it("nothing starts before its end, whatever was taken, comes back or is paused again, and its wait is honest", async () => {
    let denied = 0;
    await fc.assert(
      fc.asyncProperty(worlds, subject.exact, acts, async (open, config, steps) => {
        const world = open();
        let now = T0;
        let latest = T0;
        let until = 0;
        const takes: { count: number; takenAt: number }[] = [];
        for (const { act, ms } of steps) {
          now += ms;
          latest = Math.max(latest, now);
          world.setClock(now);
          if (act.is === "pause") {
            const asked = Math.ceil(now + act.periods * periodMsOf(config));
            await world.pause({ config, until: asked });
            if (asked > now) until = Math.max(until, asked);
            const rows = await world.rows();
            await world.pause({ config, until: asked });
            await world.pause({ config, until: Math.max(0, asked - 1) });
            expect(await world.rows(), "the same pause, and a shorter one").toEqual(rows);
            continue;
          }
          if (act.is === "give back") {
            const take = takes.pop();
            if (take) await world.adjust({ config, count: -take.count, takenAt: take.takenAt });
            continue;
          }
          const { reserve, refundable } = act;
          const count = countIn(config, reserve, act.portion);
          if (count === 0) continue;
          const request = { config, count, reserve, refundable };
          const status = await world.consume(request);
          const { retryAt = now } = status;
          // A clock behind the last write stands there, which may be after the pause.
          if (latest < until) expect(retryAt, "a start during a pause").toBeGreaterThanOrEqual(until);
          if (status.ok && status.takenAt !== undefined) takes.push({ count, takenAt: status.takenAt });
          if (status.ok || latest >= until) continue;
          denied++;
          world.setClock(retryAt);
          expect((await world.check(request)).ok).toBe(true);
          world.setClock(retryAt - 1);
          if (isOneRow) expect((await world.check(request)).ok).toBe(false);
        }
      }),
      runs(120),
    );
    expect(denied).toBeGreaterThan(enough(20));
  });

  it("at its end the bucket is empty, and of a bucket on several rows one is left", async () => {
    await fc.assert(
      fc.asyncProperty(worlds, subject.exact, portion, async (open, config, portion) => {
        const world = open();
        const count = countIn(config, false, portion);
        await world.consume({ config, count });
        const until = T0 + Math.ceil(3 * periodMsOf(config));
        await world.pause({ config, until });
        expect(await world.rows()).toHaveLength(1);
        world.setClock(until);
        expect(await world.check({ config, count: 0 })).toMatchObject({ ok: true, remaining: 0 });
        expect(await world.get({ config })).toMatchObject({ value: 0, ts: until });
      }),
      runs(60),
    );
  });
});

describe("a provider's 429", () => {
  underFakeClock();
  it.each(placeNames)("in the %s two answers of 20 s each, one second apart, pause for 21 s", async (place) => {
    const world = worldIn(place, 1);
    const config = { kind: "token bucket", rate: 60, period: 60_000 } as const;
    await world.pause({ config, until: T0 + 20_000 });
    world.setClock(T0 + 1000);
    await world.pause({ config, until: T0 + 21_000 });
    expect(await world.consume({ config })).toMatchObject({ ok: false, retryAt: T0 + 22_000 });
  });

  it.each(placeNames)("in the %s an end more than five years away is misuse", async (place) => {
    const world = worldIn(place, 1);
    const config = { kind: "token bucket", rate: 60, period: 60_000 } as const;
    const most = T0 + 5 * 366 * 86_400_000;
    for (const until of [most + 1, NaN, -1, "soon" as never, undefined as never]) {
      await expect(world.pause({ config, until })).rejects.toThrow(
        'Rate limit "limit": until must be a number of milliseconds since the epoch at least 0 and at most ',
      );
    }
    await expect(world.pause({ config, until: most + 1 })).rejects.toThrow(`at most ${most}, got ${most + 1}`);
    await world.pause({ config, until: most });
    expect(await world.rows()).toHaveLength(1);
  });
});
