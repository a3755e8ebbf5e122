/**
 * Law 6. A bucket's time never runs backwards: what a machine whose clock is behind decides is what one would decide that
 * stands at the moment of the last write. So the jumping clock is compared with one that never goes back behind a write.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { isLess, plus, rational, ZERO } from "../model/rational.js";
import { accrued, capacityOf } from "./accrual.js";
import { after, countIn, exactConfig, portion, T0, wait } from "./arbitraries.js";
import { enough, inEveryWorld, runs } from "./world.js";

const jump = fc.oneof(
  wait.map((wait) => ({ wait, backMs: 0 })),
  fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.constant(86_400_000)).map((backMs) => ({ wait: { ms: 0 }, backMs })),
);
const jumps = fc.array(fc.record({ jump, portion, reserve: fc.boolean() }), {
  minLength: 2,
  maxLength: 15,
  size: "max",
});

inEveryWorld(
  "Law 6, clock: a step back neither grants nor takes tokens, nor lengthens a wait beyond the step",
  (open) => {
    it("answers as if the clock stood at the last write", async () => {
      let stepsBack = 0;
      await fc.assert(
        fc.asyncProperty(exactConfig, jumps, async (config, steps) => {
          const world = open();
          let now = T0;
          let retryAt: number | undefined;
          for (const { jump, portion, reserve } of steps) {
            now = after(jump.wait, config, now, retryAt) - jump.backMs;
            const demand = { config, count: countIn(config, reserve, portion), reserve };
            const lastWrite = (await world.get({ key: "steady", config })).ts;
            world.setClock(Math.max(now, lastWrite));
            const steady = await world.consume({ ...demand, key: "steady" });
            world.setClock(now);
            const jumping = await world.consume({ ...demand, key: "jumping" });
            if (now < lastWrite) stepsBack++;
            if (world.whole) {
              const { ok, remaining, retryAt } = jumping;
              // retryAt is a moment, so a caller whose clock is behind waits longer by no more than the step.
              expect({ ok, remaining, retryAt }).toEqual({
                ok: steady.ok,
                remaining: steady.remaining,
                retryAt: steady.retryAt,
              });
            }
            retryAt = jumping.retryAt;
          }
        }),
        runs(100),
      );
      expect(stepsBack).toBeGreaterThan(enough(20));
    });

    it("grants no more than what came in until the latest moment it ever showed", async () => {
      await fc.assert(
        fc.asyncProperty(exactConfig, jumps, async (config, steps) => {
          const world = open();
          let now = T0;
          let latest = T0;
          let granted = ZERO;
          for (const { jump, portion } of steps) {
            now = after(jump.wait, config, now, undefined) - jump.backMs;
            latest = Math.max(latest, now);
            world.setClock(now);
            const count = countIn(config, false, portion);
            const status = await world.consume({ config, count });
            if (status.ok) granted = plus(granted, rational(count));
          }
          // The first call may have come from a clock before T0.
          const earliest = T0 - steps.reduce((sum, { jump }) => sum + jump.backMs, 0);
          const most = plus(rational(capacityOf(config)), accrued(config, earliest, latest));
          expect(isLess(most, granted)).toBe(false);
        }),
        runs(60),
      );
    });
  },
);
