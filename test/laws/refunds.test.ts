/** Law 12: tokens that come back by date. test/oracle plays refunds in random worlds: a caller gets no more than if it had never taken them. */
import { describe, expect, it } from "vitest";
import type { TokensConfig } from "../support/configs.js";
import { placeNames } from "../support/places.js";
import { T0 } from "./arbitraries.js";
import { underFakeClock, type World, worldIn } from "./world.js";

const MINUTE = 60_000;
const bucket: TokensConfig = { kind: "token bucket", rate: 5, period: MINUTE };
const window: TokensConfig = { kind: "fixed window", rate: 5, period: MINUTE, start: T0 };
const sliding: TokensConfig = { kind: "sliding window", rate: 5, period: MINUTE };
const configs = [bucket, window, { ...window, capacity: 15 }, sliding];
const where = placeNames.flatMap((place) =>
  [1, 2].flatMap((shards) => configs.map((config) => ({ place, shards, config }))),
);

/** A call whose tokens may come back: when they were taken, or undefined for a denial. */
async function take(world: World, config: TokensConfig): Promise<number | undefined> {
  const status = await world.consume({ config, refundable: true });
  return status.ok ? status.takenAt : undefined;
}

describe("tokens that come back by date", () => {
  underFakeClock();

  it.each(where.filter(({ shards }) => shards === 1))(
    "of any of fifty calls that were served one after another come back: $config in the $place",
    async ({ place, config }) => {
      const roomy = {
        ...config,
        rate: 80,
        period: 60 * MINUTE,
        ...(config.capacity && { capacity: 240 }),
      } as TokensConfig;
      for (const undone of [0, 1, 2, 10, 49]) {
        const world = worldIn(place, 1);
        const taken: number[] = [];
        for (let call = 0; call < 50; call++) {
          world.setClock(T0 + 10 * call);
          taken.push((await take(world, roomy)) ?? NaN);
        }
        const before = (await world.check({ config: roomy, count: 0 })).remaining;
        await world.adjust({ config: roomy, count: -1, takenAt: taken[undone] ?? NaN });
        expect((await world.check({ config: roomy, count: 0 })).remaining).toBe(Number(before) + 1);
      }
    },
  );

  describe.each(where)("$config in the $place on $shards rows", ({ place, shards, config }) => {
    const capacity = config.capacity ?? config.rate;

    it("give back all of it at once, and nothing of a call that was not refundable, or was forgotten", async () => {
      const world = worldIn(place, shards);
      for (let call = 0; call < capacity; call++) await world.consume({ config, refundable: true });
      world.setClock(T0 + 1);
      await world.adjust({ config, count: -2, takenAt: T0 });
      expect((await world.check({ config, count: 0 })).remaining).toBe(2);
      await world.reset({ config });
      for (let call = 0; call < capacity; call++) await world.consume({ config });
      await world.adjust({ config, count: -2, takenAt: T0 });
      expect((await world.check({ config, count: 0 })).remaining).toBe(0);
    });
  });

  it("a row keeps no dates unless a call was refundable, and none when the bucket has been full", async () => {
    for (const { config, shards } of where) {
      const world = worldIn("tables", shards);
      const keepsDates = async () => (await world.rows()).some((row) => "headroom" in row);
      await world.consume({ config });
      await world.adjust({ config, count: 1 });
      expect(await keepsDates()).toBe(false);
      await world.consume({ config, refundable: true });
      // A sliding window has a log of them.
      expect(await keepsDates()).toBe(config !== sliding);
      world.setClock(T0 + 4 * MINUTE);
      for (let call = 0; call < 3; call++) await world.consume({ config });
      if (shards === 1) expect(await keepsDates()).toBe(false);
    }
  });

  it("a date that was lost on the way is refused, as is one that is none", async () => {
    const world = worldIn("tables", 1);
    const adjust = (takenAt: unknown) => world.adjust({ config: bucket, count: -1, takenAt: takenAt as number });
    await expect(adjust(undefined)).rejects.toThrow("the answer to a call with refundable: true");
    for (const none of [1.5, null, "yesterday", 5n]) {
      await expect(adjust(none)).rejects.toThrow("takenAt must be a whole number of milliseconds since the epoch");
    }
    const refused = world.consume({ config: bucket, refundable: 1 as never });
    await expect(refused).rejects.toThrow("refundable must be true or false");
  });
});
