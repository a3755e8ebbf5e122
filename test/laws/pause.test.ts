/**
 * Pauses, with laws 1, 2, 6 and 12. Until a pause ends nothing starts, also if tokens come back by date or the clock jumps. Waits stay
 * honest, and the bucket is empty at the end. The exact buckets of test/model have pauses among all other calls.
 */
import fc from "fast-check";
import { expect } from "vitest";
import { countIn, periodMsOf, portion, T0 } from "./arbitraries.js";
import { holds, inEveryWorld } from "./world.js";

const act = fc.oneof(
  fc.record({ is: fc.constant("take" as const), portion, reserve: fc.boolean(), refundable: fc.boolean() }),
  fc.record({ is: fc.constant("give back" as const) }),
  fc.record({ is: fc.constant("pause" as const), periods: fc.constantFrom(-1, 0.001, 0.5, 2) }),
);
const acts = fc.array(fc.record({ act, ms: fc.integer({ min: -50, max: 400 }) }), { minLength: 4, maxLength: 16 });

inEveryWorld("A pause, with laws 1, 2, 6 and 12", ({ worlds, subject, isOneRow }) => {
  holds(
    "nothing starts before its end, whatever was taken, comes back or is paused again, and its wait is honest",
    { runs: 120, least: { denied: 20 } },
    [worlds, subject.exact, acts],
    async (open, config, steps, seen) => {
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
        seen.denied++;
        world.setClock(retryAt);
        expect((await world.check(request)).ok).toBe(true);
        world.setClock(retryAt - 1);
        if (isOneRow) expect((await world.check(request)).ok).toBe(false);
      }
    },
  );

  holds(
    "at its end the bucket is empty, and of a bucket on several rows one is left",
    { runs: 60 },
    [worlds, subject.exact, portion],
    async (open, config, portion) => {
      const world = open();
      const count = countIn(config, false, portion);
      await world.consume({ config, count });
      const until = T0 + Math.ceil(3 * periodMsOf(config));
      await world.pause({ config, until });
      expect(await world.rows()).toHaveLength(1);
      world.setClock(until);
      expect(await world.check({ config, count: 0 })).toMatchObject({ ok: true, remaining: 0 });
      expect(await world.get({ config })).toMatchObject({ value: 0, ts: until });
    },
  );
});
