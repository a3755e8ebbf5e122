/** Law 12. Reservations that are cancelled, charges that are given back and estimates that are settled leave what was there. */
import type { RateLimitedJob } from "convex-rate-limits";
import fc from "fast-check";
import { expect } from "vitest";
import { isLess, plus, rational } from "../model/rational.js";
import { capacityOf } from "./capacity.js";
import { countIn, portion } from "./arbitraries.js";
import { holds, inEveryWorld } from "./world.js";

const act = fc.constantFrom("take and refund", "schedule and cancel", "charge and refund");
const acts = fc.array(fc.record({ act, portion, keep: fc.boolean() }), { minLength: 3, maxLength: 15 });

inEveryWorld("Law 12, conservation: no sequence of reserve, cancel, settle and refund makes a token", (where) => {
  const { worlds, subject } = where;
  holds(
    "what was taken and given back at one moment is there again, and nothing besides",
    { runs: 150, least: { givenBack: 20 } },
    [worlds, subject.exact, acts],
    async (open, any, acts, seen) => {
      const world = open();
      const config = { ...any, maxReserved: Math.max(any.maxReserved ?? 0, 1) };
      // In thousandths, so that sums are exact.
      let taken = 0;
      const jobs: { job: RateLimitedJob; count: number }[] = [];
      const late: number[] = [];
      for (const { act, portion, keep } of acts) {
        const count = countIn(config, act === "schedule and cancel", portion);
        if (count === 0) continue;
        if (act === "schedule and cancel") {
          const scheduled = await world.schedule({ config, count });
          if (!scheduled.ok) continue;
          if (!keep) jobs.push({ job: scheduled.job, count });
        } else {
          if (act === "charge and refund") await world.adjust({ config, count });
          else if (!(await world.consume({ config, count })).ok) continue;
          if (!keep) late.push(count);
        }
        taken += Math.round(count * 1000);
      }
      const giveBack = (count: number) => {
        taken -= Math.round(count * 1000);
        seen.givenBack++;
      };
      // Last in, first out: a job may be cancelled while others that came after it keep waiting, too, which is for the model.
      for (const { job, count } of jobs.reverse()) {
        expect(await world.cancel(job)).toEqual({ canceled: true });
        giveBack(count);
      }
      for (const count of late) {
        await world.adjust({ config, count: -count });
        giveBack(count);
      }
      const left = plus(rational(capacityOf(config)), rational(-taken / 1000));
      const { remaining = NaN } = await world.check({ config, count: 0 });
      const floor = Math.max(0, Math.floor((Math.round(capacityOf(config) * 1000) - taken) / 1000));
      // Of a sliding window what is promised for later is not given back by a refund: those tokens are lost, never made.
      if (config.kind === "sliding window") expect(remaining).toBeLessThanOrEqual(floor);
      else expect(remaining).toBe(floor);
      expect(isLess(left, rational(remaining)) && remaining > 0).toBe(false);
    },
  );
});
