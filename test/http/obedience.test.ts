// @vitest-environment edge-runtime
/** Clients that do what the headers say, alone with their limit, on a clock that only they move. */
import fc from "fast-check";
import { httpActionGeneric, httpRouter } from "convex/server";
import { parseList } from "structured-headers";
import type { RateLimitConfig } from "convex-rate-limits";

import { expect, it } from "vitest";
import { runs } from "../support/random.js";
import { openHttpBackend, pass, useClock, wrap } from "./backend.js";

useClock();

interface Scene {
  config: RateLimitConfig;
  count: number;
  jitter: number;
  /** What the client does besides waiting: ms between one request and the next. */
  pauses: number[];
}

/** Limits that hold at least one request of the size. Windows shorter and longer than a second, carry-over, slow trickles. */
const anyScene: fc.Arbitrary<Scene> = fc
  .record({
    kind: fc.constantFrom("token bucket" as const, "fixed window" as const, "sliding window" as const),
    rate: fc.constantFrom(0.1, 0.5, 1, 3, 7, 1000),
    period: fc.constantFrom(1, 130, 999, 1000, 1001, 60_000, 86_400_000),
    spare: fc.nat({ max: 3 }),
    count: fc.constantFrom(0.5, 1, 2, 5),
    jitter: fc.constantFrom(0, 0.5, 1),
    pauses: fc.array(fc.constantFrom(0, 1, 137, 1000, 59_000), { minLength: 6, maxLength: 12 }),
  })
  .map(({ kind, rate, period, spare, count, jitter, pauses }) => {
    const capacity = count + spare;
    // What a sliding window holds is its rate.
    const config = kind === "sliding window" ? { kind, rate: capacity, period } : { kind, rate, period, capacity };
    return { config, count, jitter, pauses };
  });

function open({ config, count, jitter }: Scene) {
  const limits = { limit: "api", by: "everyone" as const, config, cost: count };
  const action = wrap({ limits, jitter }, () => Promise.resolve(new Response("served")));
  const router = httpRouter();
  router.route({ path: "/", method: "GET", handler: httpActionGeneric(action) });
  const t = openHttpBackend(router);
  return async () => await t.fetch("/");
}

it("whoever waits for Retry-After is never denied twice", async () => {
  let denials = 0;
  await fc.assert(
    fc.asyncProperty(anyScene, async (scene) => {
      const send = open(scene);
      for (const pause of scene.pauses) {
        const response = await send();
        if (response.status === 429) {
          denials++;
          pass(Number(response.headers.get("Retry-After")) * 1000);
          expect((await send()).status).toBe(200);
        }
        pass(pause);
      }
    }),
    { numRuns: runs(400) },
  );
  // The scenes are tight enough to be about something.
  expect(denials).toBeGreaterThan(runs(400));
});

it("whoever waits for t when r does not suffice is never denied at all", async () => {
  let waits = 0;
  await fc.assert(
    fc.asyncProperty(anyScene, async (scene) => {
      const send = open(scene);
      for (const pause of scene.pauses) {
        const response = await send();
        expect(response.status).toBe(200);
        const [[, parameters] = ["", new Map()]] = parseList(response.headers.get("RateLimit") ?? "");
        if (Number(parameters.get("r")) < scene.count) {
          waits++;
          pass(Number(parameters.get("t")) * 1000);
        } else {
          pass(pause);
        }
      }
    }),
    { numRuns: runs(400) },
  );
  expect(waits).toBeGreaterThan(runs(400));
});
