// @vitest-environment edge-runtime
/**
 * What the fields promise (draft-ietf-httpapi-ratelimit-headers-11, sections 4.1.2, 6 and 8.5), to clients that are alone with their limit,
 * on a clock that only they move. One that waits for Retry-After is never denied twice. One that spends r over t, in either way, is never
 * denied, gets what the policy says, and does not infer a rate far above it.
 */
import fc from "fast-check";
import { parseList } from "structured-headers";
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import type { PlaceName } from "../support/places.js";
import { runs } from "../support/random.js";
import { forAll, pass, serve, tokens, useClock } from "./backend.js";

useClock();

const anyKind = fc.constantFrom("token bucket" as const, "fixed window" as const, "sliding window" as const);
type Fields = { kind: RateLimitConfig["kind"]; rate: number; period: number; capacity: number };
/** What a sliding window holds is its rate. */
const configOf = ({ kind, rate, period, capacity }: Fields): RateLimitConfig & { period: number } =>
  kind === "sliding window" ? { kind, rate: capacity, period } : { kind, rate, period, capacity };

interface Scene {
  config: RateLimitConfig & { period: number };
  count: number;
  /** Where in a second the client begins: clocks and windows do not begin together. */
  offsetMs: number;
  home: PlaceName;
}

const anyScene: fc.Arbitrary<Scene> = fc
  .record({
    kind: anyKind,
    rate: fc.constantFrom(0.5, 1, 3, 4, 10),
    period: fc.constantFrom(130, 999, 1000, 1300, 2500, 10_000, 60_000, 3_600_000),
    requests: fc.integer({ min: 1, max: 12 }),
    spare: fc.constantFrom(0, 0.5, 1, 3),
    count: fc.constantFrom(1, 2, 5),
    offsetMs: fc.nat({ max: 2000 }),
    home: fc.constantFrom<PlaceName>("tables", "component"),
  })
  .map(({ requests, spare, count, offsetMs, home, ...fields }) => {
    return { config: configOf({ ...fields, capacity: requests * count + spare }), count, offsetMs, home };
  });

const anySlidingScene = anyScene.filter(({ config }) => config.kind === "sliding window");

/** Up to 20 requests: the pauses before them, in periods. Most are so short that bursts come about. */
const anyHistory = fc.array(
  fc.oneof(fc.constant(0), fc.double({ min: 0, max: 0.02, noNaN: true }), fc.double({ min: 0, max: 0.6, noNaN: true })),
  { maxLength: 20 },
);

type Told = Record<"r" | "t" | "q" | "w", number>;

/** The requests of a client that does not obey, and what it is answered. */
function openRaw({ config, count, offsetMs, home }: Scene): () => Promise<Response> {
  pass(offsetMs);
  return serve({ limits: forAll("api", config, { cost: count }), place: home });
}

/** The requests of a client that obeys, and what it is told. */
const open = (scene: Scene) => obeying(openRaw(scene));

function obeying(request: () => Promise<Response>): () => Promise<Told> {
  return async () => {
    const response = await request();
    expect(response.status).toBe(200);
    return read(response);
  };
}

function read({ headers }: Response): Told {
  const parameters = (field: string) => Object.fromEntries(parseList(headers.get(field) ?? "")[0]?.[1] ?? []);
  return { ...parameters("RateLimit-Policy"), ...parameters("RateLimit") } as unknown as Told;
}

/** Spends what is there, so that a full start cannot make up for what is lost later. */
async function drain(send: () => Promise<Told>, count: number): Promise<Told> {
  let told = await send();
  while (told.r >= count) told = await send();
  return told;
}

/** How a client spends r over t: the pauses before each of its requests, the last of which stands at t. */
const MANNERS = [
  {
    name: "at once, and then waits for t",
    isEven: false,
    pauses: (requests: number, t: number) => [...new Array<number>(requests).fill(0), t * 1000],
  },
  {
    name: "evenly over t",
    isEven: true,
    pauses: (requests: number, t: number) => {
      const at = (i: number) => Math.floor((i * t * 1000) / (requests + 1));
      return Array.from({ length: requests + 1 }, (_, i) => at(i + 1) - at(i));
    },
  },
];
type Manner = (typeof MANNERS)[number];

/**
 * What the policy promises, in requests. Windows below a second are told as one: more could not be said in whole seconds.
 * - A fixed window begins within a second, so a client that is told whole ones may be up to a second late for each.
 * - A token of a sliding window comes back a period after it was taken. A client that spends at once takes all on the seconds that it was
 *   told, so they come back on them. A client that spends evenly takes some between, and is told of them at the end of that second.
 */
function promised({ q, w }: Told, { config, count }: Scene, seconds: number, { isEven }: Manner): number {
  const isLate = config.kind === "fixed window" || (config.kind === "sliding window" && isEven);
  return ((0.95 * Math.floor(q / count)) / (w + (isLate ? 1 : 0))) * seconds;
}

/** Goes on as the last answer says, for so many cycles and seconds at least. */
async function obey(send: () => Promise<Told>, last: Told, { count }: Scene, manner: Manner, cycles: number, ms = 0) {
  const start = Date.now();
  let told = last;
  let served = 0;
  for (let cycle = 0; cycle < cycles || Date.now() - start < ms; cycle++) {
    for (const pause of manner.pauses(Math.floor(told.r / count), told.t)) {
      pass(pause);
      told = await send();
      served++;
    }
  }
  return { told, served, seconds: (Date.now() - start) / 1000 };
}

const CYCLES = 12;

describe.each(MANNERS)("a client that spends r $name", (manner) => {
  it("is never denied, and loses less than 5 % of what the policy promises", async () => {
    await fc.assert(
      fc.asyncProperty(anyScene, async (scene) => {
        const send = open(scene);
        const { t } = await drain(send, scene.count);
        // A window below a second runs over while the client waits its first whole second, once and for all.
        pass(t * 1000);
        const { told, served, seconds } = await obey(send, await send(), scene, manner, CYCLES);
        // The last request of all may stand just before the next: hence one more.
        expect(served + 1).toBeGreaterThanOrEqual(promised(told, scene, seconds, manner));
      }),
      { numRuns: runs(60) },
    );
  });

  it("is never denied, nor loses more, whatever was taken of a sliding window before", async () => {
    let busy = 0;
    await fc.assert(
      fc.asyncProperty(anySlidingScene, anyHistory, async (scene, history) => {
        const request = openRaw(scene);
        for (const part of history) {
          pass(Math.floor(part * scene.config.period));
          await request();
        }
        let response = await request();
        if (response.status === 429) {
          busy++;
          pass(Number(response.headers.get("Retry-After")) * 1000);
          response = await request();
        }
        const send = obeying(request);
        let told = read(response);
        const { period } = scene.config;
        // What was taken in bursts is spread once, over the time that t says, by who spends evenly.
        ({ told } = await obey(send, told, scene, manner, 1, 2 * period));
        const { served, seconds } = await obey(send, told, scene, manner, CYCLES, 6 * period);
        expect(served + 1).toBeGreaterThanOrEqual(promised(told, scene, seconds, manner));
      }),
      { numRuns: runs(40) },
    );
    expect(busy).toBeGreaterThan(0);
  });

  it("is never denied, nor loses more, where a sliding window has more moments than its log", async () => {
    const config = { kind: "sliding window" as const, rate: 80, period: 60_000 };
    const scene: Scene = { config, count: 1, offsetMs: 0, home: "tables" };
    const send = open(scene);
    const { told } = await obey(send, await send(), scene, manner, 1, 2 * config.period);
    const { served, seconds } = await obey(send, told, scene, manner, 4, 3 * config.period);
    expect(served + 1).toBeGreaterThanOrEqual(promised(told, scene, seconds, manner));
  });
});

it("r / t is the sustained rate, as far as whole seconds and requests can say it, and from windows of 10 s on at most 1.5 times it", async () => {
  let long = 0;
  await fc.assert(
    fc.asyncProperty(anyScene, anyHistory, async (scene, history) => {
      const { config, count } = scene;
      const perSecond = (config.rate * 1000) / config.period;
      const request = openRaw(scene);
      for (const part of [0, ...history]) {
        pass(Math.floor(part * config.period));
        const response = await request();
        const { r, t, w } = read(response);
        // A denial says the exact wait.
        if (response.status === 429) continue;
        // Not more than arrives by the end of the second after t, or one request.
        expect(r).toBeLessThanOrEqual(Math.max(count, perSecond * (t + 1) + 1 + count));
        expect(t).toBeLessThanOrEqual(w);
        // Whole seconds say less of shorter windows, and of a small capacity.
        if (config.period < 10_000 || w < 10 || r < count) continue;
        long++;
        expect(r / t).toBeLessThanOrEqual(1.5 * perSecond + 1e-9);
      }
    }),
  );
  expect(long).toBeGreaterThan(0);
});

it("the 95 % are for clients that spend r over t: one that divides t by r after each answer gets half of a small limit", async () => {
  for (const config of [tokens(3, 1000), tokens(4, 1000), tokens(10, 10_000), tokens(60, 60_000)]) {
    const send = open({ config, count: 1, offsetMs: 0, home: "tables" });
    let told = await send();
    const start = Date.now();
    let served = 0;
    for (; served < 200; served++) {
      pass(Math.ceil((told.t * 1000) / Math.max(1, told.r)));
      told = await send();
    }
    const share = served / ((config.rate * (Date.now() - start)) / config.period);
    expect(share).toBeGreaterThanOrEqual(0.5);
    expect(share).toBeLessThanOrEqual(1);
  }
});

/** Limits that hold at least one request of the size, and what the client does besides waiting: ms between one request and the next. */
const anyPatience = fc
  .record({
    kind: anyKind,
    rate: fc.constantFrom(0.1, 0.5, 1, 3, 7, 1000),
    period: fc.constantFrom(1, 130, 999, 1000, 1001, 60_000, 86_400_000),
    spare: fc.nat({ max: 3 }),
    count: fc.constantFrom(0.5, 1, 2, 5),
    jitter: fc.constantFrom(0, 0.5, 1),
    pauses: fc.array(fc.constantFrom(0, 1, 137, 1000, 59_000), { minLength: 6, maxLength: 12 }),
  })
  .map(({ spare, count, jitter, pauses, ...fields }) => {
    const config = configOf({ ...fields, capacity: count + spare });
    return { way: { limits: forAll("api", config, { cost: count }), jitter }, count, pauses };
  });

it("a client that waits for Retry-After is never denied twice", async () => {
  let denials = 0;
  await fc.assert(
    fc.asyncProperty(anyPatience, async ({ way, pauses }) => {
      const send = serve(way);
      for (const pause of pauses) {
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

it("a client that waits for t when r does not suffice is never denied at all", async () => {
  let waits = 0;
  await fc.assert(
    fc.asyncProperty(anyPatience, async ({ way, count, pauses }) => {
      const send = obeying(serve(way));
      for (const pause of pauses) {
        const { r, t } = await send();
        const isShort = r < count;
        if (isShort) waits++;
        pass(isShort ? t * 1000 : pause);
      }
    }),
    { numRuns: runs(400) },
  );
  expect(waits).toBeGreaterThan(runs(400));
});
