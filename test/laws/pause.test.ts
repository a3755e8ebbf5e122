/**
 * What a pause leaves. That nothing starts before its end, whatever comes back meanwhile, and that its waits are honest, is held against
 * exact buckets in test/model, which has pauses among all other calls.
 */
import { expect } from "vitest";
import { lengthOf } from "../model/exact/config.js";
import { countIn, portion, T0 } from "./arbitraries.js";
import { holds, inEveryWorld } from "./world.js";

inEveryWorld("A pause", ({ worlds, subject }) => {
  holds(
    "makes one row of a bucket, which is empty at its end; the same again, and a shorter one, write nothing",
    { runs: 60 },
    [worlds, subject.exact, portion],
    async (open, config, portion) => {
      const world = open();
      const count = countIn(config, false, portion);
      await world.consume({ config, count });
      const until = T0 + Math.ceil(3 * lengthOf(config));
      await world.pause({ config, until });
      const rows = await world.rows();
      expect(rows).toHaveLength(1);
      for (const again of [until, until - 1]) await world.pause({ config, until: again });
      expect(await world.rows()).toEqual(rows);
      world.setClock(until);
      expect(await world.check({ config, count: 0 })).toMatchObject({ ok: true, remaining: 0 });
      expect(await world.get({ config })).toMatchObject({ value: 0, ts: until });
    },
  );
});
