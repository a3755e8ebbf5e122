/**
 * Law 9, with its meaning made precise. Each call goes by the config that it brings. What a bucket held at its last write stays what it
 * held, cut to the new capacity. What has come in since counts by the new config. So lowering applies at once, and tokens that a smaller
 * capacity let go by never come back. A window that is raised holds at once what was not used.
 */
import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { expect } from "vitest";
import { exactly, floorOf, fraction, isLess, least, minus, plus, rational, times, ZERO } from "../model/rational.js";
import { accruedAnew, END_OF_WALK, heldIn, levelOf, perStep } from "./accrual.js";
import { capacityOf } from "./capacity.js";
import { after, countIn, stepsUpTo, wait } from "./arbitraries.js";
import { subjects } from "./subjects.js";

import { holds, inEveryWorld } from "./world.js";

/** Under another config's units a value is rounded down to one of them; these have at least 1,024,000 to a token. */
const UNIT = fraction(1n, 1_024_000n);
/** A stored value is a double, next to the number of units that it stands for. */
const ULP = fraction(1n, 2n ** 51n);

/** Room for every debt that a scenario here can make, which must fit into 2^50 units of the new config. */
function canOwe(config: RateLimitConfig): boolean {
  const mostOwed = 5000;
  return Number(perStep(config).denominator) * 1_024_000 * mostOwed <= 2 ** 50;
}
const LAW = "Law 9, live config: a change keeps what the bucket held at its last write, and nothing more";

/** Any kind that a limit may become. */
const someConfig = fc.oneof(...subjects().map(({ exact }) => exact)).filter(canOwe);

inEveryWorld(LAW, ({ worlds, subject, isOneRow }) => {
  const formerConfig = subject.exact.filter(canOwe);

  holds(
    "lowering, raising and switching the kind: the next answer follows the new config from the last write on",
    { runs: 200 },
    [worlds, formerConfig, someConfig, stepsUpTo(8), wait],
    async (open, former, config, steps, last) => {
      const world = open();
      let retryAt: number | undefined;
      const before = await world.walk(former, steps, async (request) => {
        ({ retryAt } = await world.consume(request));
        return retryAt;
      });
      if (before === undefined) return;
      // The whole bucket, as it stood at its last write.
      const snapshot = await world.get({ config: former });
      const held = heldIn(snapshot);
      if (held.ts === 0 || (await world.rows()).length === 0) return;
      const now = after(last, config, before, retryAt);
      if (now >= END_OF_WALK) return;
      world.setClock(now);

      const isSame = JSON.stringify(former) === JSON.stringify(config);
      // A sliding window that was none before counts what was missing as taken at the last write. Windows that become others are below.
      const level =
        config.kind === "sliding window" && !held.recent
          ? undefined
          : former.kind === "fixed window" && config.kind === "fixed window"
            ? undefined
            : config.kind !== "sliding window"
              ? least(rational(capacityOf(config)), plus(exactly(held.value), accruedAnew(config, held.ts, now)))
              : levelOf(config, held, now);
      if (isSame || level === undefined) return;
      const { remaining = NaN } = await world.check({ config, count: 0 });
      const size = isLess(exactly(held.value), ZERO) ? minus(ZERO, exactly(held.value)) : exactly(held.value);
      // The stored entries of a sliding window are doubles, too.
      const entries = (held.recent ?? []).reduce((sum, { count }) => plus(sum, exactly(count)), ZERO);
      const magnitude = plus(size, entries);
      const most = plus(level, times(magnitude, ULP));
      // Each shard is rounded on its own.
      const units = times(UNIT, fraction(BigInt(snapshot.parts.length + (held.recent?.length ?? 0)), 1n));
      const fewest = minus(minus(level, times(magnitude, ULP)), units);
      const whole = (tokens: typeof level) => Math.max(0, Number(floorOf(tokens)));
      expect(remaining).toBeLessThanOrEqual(whole(most));
      expect(remaining).toBeGreaterThanOrEqual(whole(fewest));

      // To the thousandth: a token's last thousandth is granted if it is there, and not if it is not.
      const thousandths = Math.max(0, Number(floorOf(times(level, fraction(1000n, 1n)))));
      const possible = capacityOf(config) * 1000;
      if (thousandths + 1 <= possible) {
        expect(await world.check({ config, count: (thousandths + 1) / 1000 })).toMatchObject({
          ok: !isLess(most, fraction(BigInt(thousandths + 1), 1000n)),
        });
      }
      if (thousandths > 0 && !isLess(fewest, fraction(BigInt(thousandths), 1000n))) {
        expect(await world.check({ config, count: thousandths / 1000 })).toMatchObject({ ok: true });
        if (isOneRow) expect(await world.consume({ config, count: thousandths / 1000 })).toMatchObject({ ok: true });
      }
    },
  );

  holds(
    "a change of kind and back, or of anything and back, grants no more than the limit as it was",
    { runs: 100 },
    [worlds, formerConfig, someConfig, stepsUpTo(8)],
    async (open, config, other, steps) => {
      const world = open();
      await world.consume({ config, count: capacityOf(config) });
      for (const { portion } of steps) await world.consume({ config: other, count: countIn(other, false, portion) });
      // Back, at the same moment: what was taken is still taken.
      const { remaining = NaN } = await world.check({ config, count: 0 });
      expect(remaining, JSON.stringify({ config, other })).toBeLessThanOrEqual(0);
    },
  );
});
