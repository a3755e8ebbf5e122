/**
 * Law 6. A bucket's time never runs backwards: a machine whose clock is behind decides as one whose clock stands at the last write. The
 * jumping clock is therefore compared with one that never goes back behind a write. On several rows each has a last write of its own. There
 * the account of what has come in decides (bound.test.ts and the second law here).
 */
import fc from "fast-check";
import { expect } from "vitest";
import { isLess, plus, rational, ZERO } from "../model/rational.js";
import { accrued, END_OF_WALK } from "./accrual.js";
import { capacityOf } from "./capacity.js";
import { after, countIn, portion, T0, wait } from "./arbitraries.js";
import { holds, inEveryWorld, onOneRow } from "./world.js";

const jump = fc.oneof(
  wait.map((wait) => ({ wait, backMs: 0 })),
  fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.constant(86_400_000)).map((backMs) => ({ wait: { ms: 0 }, backMs })),
);
const jumps = fc.array(fc.record({ jump, portion, reserve: fc.boolean() }), {
  minLength: 2,
  maxLength: 15,
  size: "max",
});

const LAW = "Law 6, clock: a step back neither grants nor takes tokens, nor lengthens a wait beyond the step";

onOneRow(LAW, ({ worlds, subject }) => {
  holds(
    "answers as if the clock stood at the last write",
    { runs: 100, least: { stepsBack: 20 } },
    [worlds, subject.exact, jumps],
    async (open, config, steps, seen) => {
      const world = open();
      let now = T0;
      let retryAt: number | undefined;
      for (const { jump, portion, reserve } of steps) {
        now = after(jump.wait, config, now, retryAt) - jump.backMs;
        if (now >= END_OF_WALK) return;
        const demand = { config, count: countIn(config, reserve, portion), reserve };
        const lastWrite = (await world.get({ key: "steady", config })).ts;
        world.setClock(Math.max(now, lastWrite));
        const steady = await world.consume({ ...demand, key: "steady" });
        world.setClock(now);
        const jumping = await world.consume({ ...demand, key: "jumping" });
        if (now < lastWrite) seen.stepsBack++;
        // retryAt is a moment, so a caller whose clock is behind waits longer by no more than the step.
        const { ok, remaining } = steady;
        expect({ ok: jumping.ok, remaining: jumping.remaining }).toEqual({ ok, remaining });
        // What starts at once for the steady clock starts at the last write for one that is behind it.
        const startOf = (status: typeof steady) => Math.max(status.retryAt ?? lastWrite, lastWrite);
        expect(startOf(jumping)).toBe(startOf(steady));
        retryAt = jumping.retryAt;
      }
    },
  );
});

inEveryWorld(LAW, ({ worlds, subject }) => {
  holds(
    "grants no more than what came in until the latest moment it ever showed",
    { runs: 60 },
    [worlds, subject.exact, jumps],
    async (open, config, steps) => {
      const world = open();
      let [now, latest, earliest] = [T0, T0, T0];
      let granted = ZERO;
      for (const { jump, portion } of steps) {
        now = after(jump.wait, config, now, undefined) - jump.backMs;
        if (now >= END_OF_WALK) break;
        earliest = Math.min(earliest, now);
        latest = Math.max(latest, now);
        world.setClock(now);
        const count = countIn(config, false, portion);
        if ((await world.consume({ config, count })).ok) granted = plus(granted, rational(count));
      }
      // A sliding window starts its rate in each of the periods that the moments lie in.
      const most =
        config.kind === "sliding window"
          ? rational(config.rate * Math.max(1, Math.ceil((latest - earliest + 1) / config.period)))
          : plus(rational(capacityOf(config)), accrued(config, earliest, latest));
      expect(isLess(most, granted)).toBe(false);
    },
  );
});
