// @vitest-environment edge-runtime
/**
 * What the fields say to a client that is alone with its limit, on a clock that only this client moves: r is what it can
 * spend at once, and no token more; after Retry-After the same request is served; after t nothing is missing.
 */
import fc from "fast-check";
import { parseList } from "structured-headers";
import { expect, it } from "vitest";
import type { TokensConfig } from "../support/configs.js";
import type { PlaceName } from "../support/places.js";
import { forAnyAsync, runs } from "../support/random.js";
import { forAll, pass, serve, useClock } from "./backend.js";

useClock();

const anyKind = fc.constantFrom("token bucket" as const, "fixed window" as const, "sliding window" as const);
type Fields = { kind: TokensConfig["kind"]; rate: number; period: number; capacity: number };
/** The config of these fields. A sliding window holds its rate, so its rate is the capacity. */
const configOf = ({ kind, rate, period, capacity }: Fields): TokensConfig & { period: number } =>
  kind === "sliding window" ? { kind, rate: capacity, period } : { kind, rate, period, capacity };

interface Scene {
  config: TokensConfig & { period: number };
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

/** The pauses before each of up to 12 requests, in periods. Most are short enough for bursts. */
const anyHistory = fc.array(
  fc.oneof(fc.constant(0), fc.double({ min: 0, max: 0.02, noNaN: true }), fc.double({ min: 0, max: 0.6, noNaN: true })),
  { maxLength: 12 },
);

type Answer = Record<"status" | "r" | "t" | "q" | "w" | "wait", number>;

function open({ config, count, offsetMs, home }: Scene): () => Promise<Answer> {
  pass(offsetMs);
  const send = serve({ limits: forAll("api", config, { cost: count }), place: home });
  return async () => {
    const { headers, status } = await send();
    // Parsers of structured fields (RFC 9651) refuse decimals of more than three digits, and the draft takes integers only.
    expect(headers.get("RateLimit")).toMatch(/;r=\d+;t=\d+$/);
    const parameters = (field: string) => Object.fromEntries(parseList(headers.get(field) ?? "")[0]?.[1] ?? []);
    const wait = Number(headers.get("Retry-After"));
    return { status, wait, ...parameters("RateLimit-Policy"), ...parameters("RateLimit") } as unknown as Answer;
  };
}

it("r tokens can be spent at once and no more, Retry-After is enough, and t seconds later nothing is missing", async () => {
  let busy = 0;
  let full = 0;
  await forAnyAsync([anyScene, anyHistory], runs(200), async (scene, history) => {
    const { config, count } = scene;
    const request = open(scene);
    for (const part of history) {
      pass(Math.floor(part * config.period));
      await request();
    }
    let answer = await request();
    const served = async () => {
      answer = await request();
      return answer.status === 200;
    };
    // A bucket may hold up to a token more than it says, and a request may take a half.
    for (let left = answer.r; left >= count; left -= count) expect(await served()).toBe(true);
    if (answer.r < count - 1) {
      busy++;
      expect(await served()).toBe(false);
      expect(answer.r).toBeLessThan(count);
      pass(answer.wait * 1000);
      expect(await served()).toBe(true);
    }
    pass(answer.t * 1000);
    if (config.kind === "fixed window" && config.rate < (config.capacity ?? 0)) return;
    full++;
    const { r, q } = await request();
    expect(r).toBe(Math.floor((config.capacity ?? config.rate) - count));
    expect(q).toBe(Math.floor(config.capacity ?? config.rate));
  });
  expect([busy > 0, full > 0]).toEqual([true, true]);
});

it("the policy is the capacity, and a time in which an empty bucket is full again", async () => {
  await forAnyAsync([anyScene], runs(200), async (scene) => {
    const { config, count } = scene;
    const capacity = config.capacity ?? config.rate;
    const request = open({ ...scene, count: capacity });
    let answer = await request();
    if (answer.status === 200) answer = await request();
    expect([answer.status, answer.r, answer.q]).toEqual([429, 0, Math.floor(capacity)]);
    expect(count).toBeLessThanOrEqual(capacity);
    pass(answer.w * 1000);
    expect((await request()).status).toBe(200);
  });
});
