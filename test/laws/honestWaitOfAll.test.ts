/** Law 2 of several limits at once: at `retryAt` all of them serve, on one row each not one millisecond earlier. */
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { END_OF_TIME } from "../../src/engine/time.js";
import { NOW, useClock } from "../support/clock.js";
import type { TokensConfig } from "../support/configs.js";
import { useBackend } from "../support/limits.js";
import { placeNames } from "../support/places.js";
import { runs } from "../support/random.js";

useClock();

const configs: readonly TokensConfig[] = [
  { kind: "token bucket", rate: 5, period: 1000, capacity: 8, maxReserved: 6 },
  { kind: "fixed window", rate: 5, period: 1000, start: 0, maxReserved: 5 },
  { kind: "sliding window", rate: 5, period: 1000, maxReserved: 5 },
];
const onRows: readonly TokensConfig[] = [
  { kind: "token bucket", rate: 40, period: 1000, maxReserved: 20, shards: 4 },
  { kind: "fixed window", rate: 12, period: 1000, start: 0, maxReserved: 5, shards: 2 },
  { kind: "sliding window", rate: 12, period: 1000, maxReserved: 5, shards: 2 },
];
const names = ["a", "b", "c"] as const;

const limits = (all: readonly TokensConfig[]) =>
  fc.array(
    fc.record({
      config: fc.constantFrom(...all),
      override: fc.constantFrom(undefined, "unlimited", "block", "more", "rate"),
      until: fc.integer({ min: 1, max: 3000 }),
    }),
    { minLength: names.length, maxLength: names.length },
  );
const requests = fc.tuple(
  ...names.map((name) =>
    fc.record({
      name: fc.constant(name),
      count: fc.integer({ min: 0, max: 9 }),
      reserve: fc.constantFrom(false, true, { within: 100 }, { within: 700 }),
      mode: fc.constantFrom(undefined, undefined, "shadow"),
    }),
  ),
);
const steps = fc.array(
  fc.record({
    wait: fc.integer({ min: 0, max: 900 }),
    paused: fc.option(fc.integer({ min: 1, max: 1500 }), { nil: 0, freq: 8 }),
    requests,
  }),
  { minLength: 1, maxLength: 6 },
);

function overridden(config: TokensConfig, way: string): object {
  if (way === "rate") return { config: { ...config, shards: undefined, rate: 20, maxReserved: 3 } };
  return { [way]: way === "more" ? 3 : true };
}

describe.each(placeNames)("Law 2, honest wait of several limits, in the %s", (place) => {
  const { define, open } = useBackend(place);

  it.each([
    ["on one row each", configs],
    ["on several rows, or one", [...configs, ...onRows]],
  ])("%s, with overrides, pauses and reservations", async (_what, all) => {
    let denied = 0;
    await fc.assert(
      fc.asyncProperty(limits(all), steps, async (given, walk) => {
        vi.setSystemTime(NOW);
        open();
        const own = define(Object.fromEntries(given.map(({ config }, i) => [names[i] ?? "", config])));
        for (const [i, { config, override, until }] of given.entries()) {
          const more = override && { name: names[i], ...overridden(config, override), until: NOW + until };
          if (more) await own.overrideRateLimit(more);
        }
        let now = NOW;
        for (const step of walk) {
          vi.setSystemTime((now += step.wait));
          if (step.paused > 0) await own.pauseRateLimit({ name: "a", until: now + step.paused });
          const { ok, retryAt } = await own.rateLimitAll(step.requests);
          if (ok || retryAt === END_OF_TIME) continue;
          denied++;
          vi.setSystemTime(retryAt);
          expect(await own.checkRateLimitAll(step.requests)).toMatchObject({ ok: true });
          vi.setSystemTime(retryAt - 1);
          if (all === configs) expect(await own.checkRateLimitAll(step.requests)).toMatchObject({ ok: false });
          vi.setSystemTime(now);
        }
      }),
      { numRuns: runs(500) },
    );
    expect(denied).toBeGreaterThan(20);
  });
});
