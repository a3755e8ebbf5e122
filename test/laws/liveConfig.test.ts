/**
 * Law 9, with its meaning made precise. Each call goes by the config that it brings. What a bucket held at its last write
 * stays what it held, cut to the new capacity; what has come in since counts by the new config alone (the old one is nowhere
 * stored). So lowering applies at once, and tokens that a smaller capacity let go by never come back.
 */
import type { RateLimitConfig } from "convex-rate-limits";
import fc from "fast-check";
import { expect, it } from "vitest";
import { exactly, fraction, floorOf, isLess, least, minus, plus, rational, times, ZERO } from "../model/rational.js";
import { accrued, capacityOf, perStep } from "./accrual.js";
import { after, countIn, exactConfig, stepsUpTo, T0, wait } from "./arbitraries.js";
import { inEveryWorld, runs } from "./world.js";

/** Under another config's units a value is rounded down to one of them; these have at least 1,024,000 to a token. */
const UNIT = fraction(1n, 1_024_000n);
/** A stored value is a double, next to the number of units that it stands for. */
const ULP = fraction(1n, 2n ** 51n);

/** Room for every debt that a scenario here can make, which must fit into 2^50 units of the new config. */
function canOwe(config: RateLimitConfig): boolean {
  const mostOwed = 5000;
  return Number(perStep(config).denominator) * 1_024_000 * mostOwed <= 2 ** 50;
}
const owingConfig = exactConfig.filter(canOwe);

inEveryWorld("Law 9, live config: a change keeps what the bucket held at its last write, and nothing more", (open) => {
  it("lowering, raising and switching the kind: the next answer follows the new config from the last write on", async () => {
    await fc.assert(
      fc.asyncProperty(owingConfig, owingConfig, stepsUpTo(8), wait, async (former, config, steps, lastWait) => {
        const world = open();
        let now = T0;
        let retryAt: number | undefined;
        for (const { wait, portion, reserve } of steps) {
          now = after(wait, former, now, retryAt);
          world.setClock(now);
          ({ retryAt } = await world.consume({ config: former, count: countIn(former, reserve, portion), reserve }));
        }
        const held = await world.get({ config: former });
        if (held.ts === 0) return;
        now = after(lastWait, config, now, retryAt);
        world.setClock(now);

        if (!world.whole) {
          // Each shard has a last write of its own, so of all of them together only the capacity is certain.
          const { ok, remaining } = await world.check({ config, count: 0 });
          expect(ok && remaining > capacityOf(config)).toBe(false);
          return;
        }
        const value = exactly(held.value);
        const level = least(rational(capacityOf(config)), plus(value, accrued(config, held.ts, now)));
        const { remaining } = await world.check({ config, count: 0 });
        const magnitude = isLess(value, ZERO) ? minus(ZERO, value) : value;
        const most = plus(level, times(magnitude, ULP));
        const fewest = minus(minus(level, times(magnitude, ULP)), UNIT);
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
          expect(await world.consume({ config, count: thousandths / 1000 })).toMatchObject({ ok: true });
        }
      }),
      runs(200),
    );
  });

  it("tokens that a lowered capacity let go by stay away when it is raised again", async () => {
    const world = open();
    const plan = (capacity: number) => ({ kind: "token bucket" as const, rate: 1, period: 3_600_000, capacity });
    await world.consume({ config: plan(100), count: 10 });
    const lowered = await world.consume({ config: plan(5), count: 1 });
    expect(lowered.ok).toBe(true);
    expect(lowered.remaining).toBeLessThanOrEqual(4);
    // What a shard held that was not written under the lower capacity is still there.
    if (world.whole) expect(await world.check({ config: plan(100), count: 0 })).toMatchObject({ remaining: 4 });
  });

  it("a capacity lowered a thousandfold applies at once, though the row holds more than the finer units can count", async () => {
    const world = open();
    const daily = (rate: number) => ({ kind: "token bucket" as const, rate, period: 86_400_000 });
    expect(await world.consume({ config: daily(1_000_000) })).toMatchObject({ ok: true });
    const lowered = await world.consume({ config: daily(1000) });
    expect(lowered.ok).toBe(true);
    expect(lowered.remaining).toBeLessThanOrEqual(999);
    if (world.whole) expect(lowered.remaining).toBe(999);
  });
});
