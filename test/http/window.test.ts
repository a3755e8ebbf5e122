// @vitest-environment edge-runtime
/**
 * The promises of the fields (draft-ietf-httpapi-ratelimit-headers-11, sections 4.1.2, 6 and 8.5) to a client that is alone with its limit,
 * on a clock that only this client moves. A client that waits for Retry-After is never denied twice. A client that spends r over t, at once
 * or evenly, is never denied, gets what the policy says, and does not infer a rate far above it.
 */
import fc from "fast-check";
import { parseList } from "structured-headers";
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import type { PlaceName } from "../support/places.js";
import { forAnyAsync, runs } from "../support/random.js";
import { forAll, pass, serve, useClock } from "./backend.js";

useClock();

const anyKind = fc.constantFrom("token bucket" as const, "fixed window" as const, "sliding window" as const);
type Fields = { kind: RateLimitConfig["kind"]; rate: number; period: number; capacity: number };
/** The config of these fields. A sliding window holds its rate, so its rate is the capacity. */
const configOf = ({ kind, rate, period, capacity }: Fields): RateLimitConfig & { period: number } =>
  kind === "sliding window" ? { kind, rate: capacity, period } : { kind, rate, period, capacity };

interface Scene {
  config: RateLimitConfig & { period: number };
  count: number;
  /** The ms after START at which the client begins, since clocks and windows do not begin together. */
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
    count: fc.constantFrom(1, 2, 2.5, 5),
    offsetMs: fc.nat({ max: 2000 }),
    home: fc.constantFrom<PlaceName>("tables", "component"),
  })
  .map(({ requests, spare, count, offsetMs, home, ...fields }) => {
    return { config: configOf({ ...fields, capacity: requests * count + spare }), count, offsetMs, home };
  });

/** The pauses before each of up to 20 requests, in periods. Most are short enough for bursts. */
const anyHistory = fc.array(
  fc.oneof(fc.constant(0), fc.double({ min: 0, max: 0.02, noNaN: true }), fc.double({ min: 0, max: 0.6, noNaN: true })),
  { maxLength: 20 },
);

type Answer = Record<"r" | "t" | "q" | "w", number>;

/** Sends the requests of a client that does not obey the fields, and returns the answers. */
function openRaw({ config, count, offsetMs, home }: Scene): () => Promise<Response> {
  pass(offsetMs);
  return serve({ limits: forAll("api", config, { cost: count }), place: home });
}

/** Sends the requests of a client that obeys the fields, and returns the fields. */
function obeying(request: () => Promise<Response>): () => Promise<Answer> {
  return async () => {
    const response = await request();
    expect(response.status).toBe(200);
    return read(response);
  };
}

function read({ headers }: Response): Answer {
  // Parsers of structured fields (RFC 9651) refuse decimals of more than three digits, and the draft takes integers only.
  expect(headers.get("RateLimit")).toMatch(/;r=\d+;t=\d+$/);
  const parameters = (field: string) => Object.fromEntries(parseList(headers.get(field) ?? "")[0]?.[1] ?? []);
  return { ...parameters("RateLimit-Policy"), ...parameters("RateLimit") } as unknown as Answer;
}

/** The manners in which a client spends r over t: the pauses before each of its requests. The last request is made at t. */
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
 * The number of requests that the policy promises. Windows below a second are sent as one second, since the fields have whole seconds.
 * - A fixed window may begin within a second. The client gets whole seconds, so it may be up to a second late for each window.
 * - A token of a sliding window comes back a period after it was taken. A client that spends at once takes all tokens at the whole seconds
 *   of its fields, so they come back at these seconds. A client that spends evenly takes some in between. Its fields count those at the end
 *   of that second.
 */
function promised({ q, w }: Answer, { config, count }: Scene, seconds: number, { isEven }: Manner): number {
  const isLate = config.kind === "fixed window" || (config.kind === "sliding window" && isEven);
  return ((0.95 * Math.floor(q / count)) / (w + (isLate ? 1 : 0))) * seconds;
}

/** Obeys the last answer, and then each new one, for at least `cycles` cycles and `ms` ms. */
async function obey(
  send: () => Promise<Answer>,
  last: Answer,
  { count }: Scene,
  manner: Manner,
  cycles: number,
  ms = 0,
) {
  const start = Date.now();
  let answer = last;
  let served = 0;
  for (let cycle = 0; cycle < cycles || Date.now() - start < ms; cycle++) {
    for (const pause of manner.pauses(Math.floor(answer.r / count), answer.t)) {
      pass(pause);
      answer = await send();
      served++;
    }
  }
  return { answer, served, seconds: (Date.now() - start) / 1000 };
}

const CYCLES = 12;

describe.each(MANNERS)("a client that spends r $name", (manner) => {
  it("is never denied, and loses less than 5 % of what the policy promises, after any earlier requests", async () => {
    let busy = 0;
    await forAnyAsync([anyScene, anyHistory], runs(100), async (scene, history) => {
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
      let answer = read(response);
      const { period } = scene.config;
      // A bucket that is full at the start must not make up for later losses. A client that spends evenly spreads the tokens that were
      // taken in bursts over t, once.
      ({ answer } = await obey(send, answer, scene, manner, 1, 2 * period));
      const { served, seconds } = await obey(send, answer, scene, manner, CYCLES, 6 * period);
      // The run may end just before the next request, hence one more.
      expect(served + 1).toBeGreaterThanOrEqual(promised(answer, scene, seconds, manner));
    });
    expect(busy).toBeGreaterThan(0);
  });

  it("is never denied, and loses no more, if a sliding window has more times than its log holds", async () => {
    const config = { kind: "sliding window" as const, rate: 80, period: 60_000 };
    const scene: Scene = { config, count: 1, offsetMs: 0, home: "tables" };
    const send = obeying(openRaw(scene));
    const { answer } = await obey(send, await send(), scene, manner, 1, 2 * config.period);
    const { served, seconds } = await obey(send, answer, scene, manner, 4, 3 * config.period);
    expect(served + 1).toBeGreaterThanOrEqual(promised(answer, scene, seconds, manner));
  });
});

it("r / t is the sustained rate, rounded to whole seconds and requests, and at most 1.5 times it for windows of 10 s or more", async () => {
  let long = 0;
  await forAnyAsync([anyScene, anyHistory], 100, async (scene, history) => {
    const { config, count } = scene;
    const perSecond = (config.rate * 1000) / config.period;
    const request = openRaw(scene);
    for (const part of [0, ...history]) {
      pass(Math.floor(part * config.period));
      const response = await request();
      const { r, t, w } = read(response);
      // A denial sends the exact wait.
      if (response.status === 429) continue;
      // r is at most what arrives by the end of the second after t, or one request.
      expect(r).toBeLessThanOrEqual(Math.max(count, perSecond * (t + 1) + 1 + count));
      expect(t).toBeLessThanOrEqual(w);
      // Whole seconds are too coarse for shorter windows, and for a small capacity.
      if (config.period < 10_000 || w < 10 || r < count) continue;
      long++;
      expect(r / t).toBeLessThanOrEqual(1.5 * perSecond + 1e-9);
    }
  });
  expect(long).toBeGreaterThan(0);
});
