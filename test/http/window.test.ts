/**
 * What r and t promise together (draft-ietf-httpapi-ratelimit-headers-11, sections 4.1.2, 6 and 8.5): a client that spends r
 * over t in either way is never denied, gets what the policy says, and does not infer a rate far above it.
 */
import fc from "fast-check";
import { httpActionGeneric, httpRouter } from "convex/server";
import { parseList } from "structured-headers";
import type { RateLimitConfig } from "convex-rate-limits";
import { everyone, fixed, limitHttp } from "convex-rate-limits/http";
import { describe, expect, it } from "vitest";
import { consumeIn, openHttpBackend, pass, useClock } from "./backend.js";

useClock();

interface Scene {
  config: RateLimitConfig & { period: number };
  count: number;
  /** Where in a second the client begins: clocks and windows do not begin together. */
  offsetMs: number;
}

const anyScene: fc.Arbitrary<Scene> = fc
  .record({
    kind: fc.constantFrom("token bucket" as const, "fixed window" as const, "sliding window" as const),
    rate: fc.constantFrom(0.5, 1, 3, 4, 10),
    period: fc.constantFrom(130, 999, 1000, 1300, 2500, 10_000, 60_000, 3_600_000),
    requests: fc.integer({ min: 1, max: 12 }),
    spare: fc.constantFrom(0, 0.5, 1, 3),
    count: fc.constantFrom(1, 2, 5),
    offsetMs: fc.nat({ max: 2000 }),
  })
  .map(({ kind, rate, period, requests, spare, count, offsetMs }) => {
    const capacity = requests * count + spare;
    // What a sliding window holds is its rate.
    const config = kind === "sliding window" ? { kind, rate: capacity, period } : { kind, rate, period, capacity };
    return { config, count, offsetMs };
  });

interface Told {
  r: number;
  t: number;
  q: number;
  w: number;
}

function open({ config, count, offsetMs }: Scene) {
  const limits = { name: "api", key: everyone, config, cost: fixed(count) };
  const router = httpRouter();
  const action = limitHttp({ limits, consume: consumeIn("tables") }, () => Promise.resolve(new Response("served")));
  router.route({ path: "/", method: "GET", handler: httpActionGeneric(action) });
  const t = openHttpBackend(router);
  pass(offsetMs);
  return async (): Promise<Told> => {
    const response = await t.fetch("/");
    expect(response.status).toBe(200);
    const read = (field: string) => Object.fromEntries(parseList(response.headers.get(field) ?? "")[0]?.[1] ?? []);
    return { ...read("RateLimit-Policy"), ...read("RateLimit") } as unknown as Told;
  };
}

/** Spends what is there, so that a full start cannot make up for what is lost later. */
async function drain(send: () => Promise<Told>, count: number): Promise<Told> {
  let told = await send();
  while (told.r >= count) told = await send();
  return told;
}

/**
 * What the policy promises, in requests. Windows below a second are told as one: more could not be said in whole seconds. A
 * fixed window begins within a second, so a client that is told whole ones may be up to a second late for each. Of a sliding
 * window what is spent comes back a period later: who spends evenly has little left when the period is over, and waits for the next.
 */
function promised({ q, w }: Told, { config, count }: Scene, seconds: number, part: number): number {
  const lateness = config.kind === "fixed window" ? 1 : 0;
  const ofKind = config.kind === "sliding window" ? part : 0.95;
  return ((ofKind * Math.floor(q / count)) / (w + lateness)) * seconds;
}

const CYCLES = 12;

describe.each<[string, number, (requests: number, t: number) => number[]]>([
  ["at once, and then waits for t", 0.95, (requests, t) => [...new Array<number>(requests).fill(0), t * 1000]],
  [
    "evenly over t",
    0.5,
    (requests, t) => {
      const moments = Array.from({ length: requests + 2 }, (_, i) => Math.floor((i * t * 1000) / (requests + 1)));
      return moments.slice(1).map((moment, i) => moment - (moments[i] ?? 0));
    },
  ],
])("a client that spends r %s", (_, ofSlidingWindow, pausesFor) => {
  it(
    "is never denied, and loses less than 5 % of what the policy promises, or a sliding window half",
    { timeout: 120_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(anyScene, async (scene) => {
          const { count } = scene;
          const send = open(scene);
          const { t } = await drain(send, count);
          // A window below a second runs over while the client waits its first whole second, once and for all.
          pass(t * 1000);
          let told = await send();
          const start = Date.now();
          let served = 0;
          for (let cycle = 0; cycle < CYCLES; cycle++) {
            for (const pause of pausesFor(Math.floor(told.r / count), told.t)) {
              pass(pause);
              told = await send();
              served++;
            }
          }
          const seconds = (Date.now() - start) / 1000;
          // The last request of all may stand just before the next: hence one more.
          expect(served + 1).toBeGreaterThanOrEqual(promised(told, scene, seconds, ofSlidingWindow));
        }),
        { numRuns: 100 },
      );
    },
  );
});

it("r divided by t is the sustained rate, as far as whole seconds and requests can say it", async () => {
  await fc.assert(
    fc.asyncProperty(anyScene, fc.nat({ max: 5 }), async (scene, more) => {
      const { config, count } = scene;
      const send = open(scene);
      let told = await send();
      for (let i = 0; i < more && told.r >= count; i++) told = await send();
      const arriving = (seconds: number) => (config.rate * seconds * 1000) / config.period;
      // Not more than arrives by the end of the second after t, or one request.
      expect(told.r).toBeLessThanOrEqual(Math.max(count, arriving(told.t + 1) + 1 + count));
      expect(told.t).toBeLessThanOrEqual(told.w);
    }),
  );
});

it("the draft's warning: 10,000 in 1,000 s is never told as thousands within seconds", () => {
  // Section 8.5: r=10000;t=10 makes a client infer 1,000 a second.
  return fc.assert(
    fc.asyncProperty(
      fc.constantFrom("token bucket" as const, "fixed window" as const, "sliding window" as const),
      fc.nat({ max: 999_000 }),
      async (kind, offsetMs) => {
        const config = { kind, rate: 10_000, period: 1_000_000 };
        const { r, t } = await open({ config, count: 1, offsetMs })();
        expect(r / (t + 1)).toBeLessThanOrEqual(11);
      },
    ),
    { numRuns: 30 },
  );
});
