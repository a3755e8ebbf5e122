import fc from "fast-check";
import { parseList } from "structured-headers";
import { DAY, HOUR, MINUTE, SECOND, type RateLimitConfig, type RateLimitStatus } from "convex-rate-limits";
import { type LimitedBy, rateLimitHeaders, tooManyRequests } from "convex-rate-limits/http";
import { describe, expect, it } from "vitest";

const NOW = Date.UTC(2026, 0, 1);
const perMinute: RateLimitConfig = { kind: "token bucket", rate: 100, period: MINUTE };

function allowed(remaining: number, resetInMs: number): RateLimitStatus {
  return { ok: true, remaining, resetAt: NOW + resetInMs };
}

function denied(waitMs: number, resetInMs = waitMs): RateLimitStatus {
  return { ok: false, retryAt: NOW + waitMs, remaining: 0, resetAt: NOW + resetInMs };
}

/** The items of a structured field as the library reads them: `{ name: { q: 100, w: 60 } }`. */
function read(field: string | undefined): Record<string, Record<string, unknown>> {
  const items = parseList(field ?? "").map(([name, parameters]) => [name, Object.fromEntries(parameters)] as const);
  return Object.fromEntries(items) as Record<string, Record<string, unknown>>;
}

function headersOf(limit: Omit<LimitedBy, "name"> & { name?: string }, jitter = 0) {
  return rateLimitHeaders({ name: "api", ...limit }, { now: NOW, jitter });
}

describe("the fields of draft 11", () => {
  it("are the draft's own example", () => {
    expect(headersOf({ name: "default", status: allowed(50, 30 * SECOND), config: perMinute })).toEqual({
      "RateLimit-Policy": '"default";q=100;w=60',
      RateLimit: '"default";r=50;t=30',
    });
  });

  it("carry the quota unit and the partition key when there are any", () => {
    const headers = headersOf({
      status: allowed(3e8, MINUTE),
      config: { kind: "token bucket", rate: 5e8, period: HOUR },
      unit: "content-bytes",
      partitionKey: "App-999",
    });
    expect(headers["RateLimit-Policy"]).toBe('"api";q=500000000;qu="content-bytes";w=3600;pk=:QXBwLTk5OQ==:');
    expect(headers["RateLimit"]).toBe('"api";r=300000000;t=60;pk=:QXBwLTk5OQ==:');
  });

  it("list the policies as given and the service limits by tightness", () => {
    const daily: RateLimitConfig = { kind: "fixed window", rate: 1000, period: DAY };
    const headers = rateLimitHeaders(
      [
        { name: "daily", status: allowed(900, HOUR), config: daily },
        { name: "burst", status: allowed(3, 2 * SECOND), config: perMinute },
      ],
      { now: NOW },
    );
    expect(headers["RateLimit-Policy"]).toBe('"daily";q=1000;w=86400, "burst";q=100;w=60');
    expect(headers["RateLimit"]).toBe('"burst";r=3;t=2, "daily";r=900;t=3600');
  });

  it("list after a denial only what denied it, so that no window outlasts Retry-After", () => {
    const headers = rateLimitHeaders(
      [
        { name: "daily", status: allowed(900, HOUR), config: { kind: "fixed window", rate: 1000, period: DAY } },
        { name: "short", status: denied(1500), config: perMinute },
        { name: "long", status: denied(7001), config: perMinute },
      ],
      { now: NOW },
    );
    expect(headers["RateLimit"]).toBe('"long";r=0;t=8, "short";r=0;t=2');
    expect(headers["Retry-After"]).toBe("8");
    expect(Object.keys(read(headers["RateLimit-Policy"]))).toEqual(["daily", "short", "long"]);
  });

  it("are not there when nothing was limited", () => {
    expect(rateLimitHeaders([])).toEqual({});
  });

  it.each([
    ['say "hi"', 'say "hi"'],
    ["back\\slash", "back\\slash"],
    ["50% off", "50%25 off"],
    ["größe", "gr%C3%B6%C3%9Fe"],
    ["line\r\nX-Evil: 1", "line%0D%0AX-Evil: 1"],
    ["\ud800", "%EF%BF%BD"],
  ])("carry the name %j as the string %j", (name, sent) => {
    const headers = headersOf({ name, status: allowed(1, 0), config: perMinute });
    expect(Object.keys(read(headers["RateLimit"]))).toEqual([sent]);
    expect(Object.keys(read(headers["RateLimit-Policy"]))).toEqual([sent]);
  });
});

describe("a policy", () => {
  const policyOf = (config: RateLimitConfig) =>
    read(headersOf({ status: allowed(0, 0), config })["RateLimit-Policy"])["api"];

  it.each<[string, RateLimitConfig, { q: number; w: number }]>([
    ["is rate and period when the capacity is the rate", perMinute, { q: 100, w: 60 }],
    ["is the capacity and the time it takes to fill", { ...perMinute, capacity: 200 }, { q: 200, w: 120 }],
    [
      "of a fixed window counts whole windows",
      { kind: "fixed window", rate: 10, period: MINUTE, capacity: 25 },
      { q: 25, w: 180 },
    ],
    [
      "of a fixed window is never shorter than one",
      { kind: "fixed window", rate: 10, period: MINUTE, capacity: 5 },
      { q: 5, w: 60 },
    ],
    [
      "rounds windows below a second up to one",
      { kind: "token bucket", rate: 10, period: SECOND, capacity: 1 },
      { q: 1, w: 1 },
    ],
    ["rounds its quota down", { kind: "token bucket", rate: 2.5, period: SECOND }, { q: 2, w: 1 }],
    [
      "is not a second longer for the sake of a rounding error",
      { kind: "token bucket", rate: 0.1, period: SECOND, capacity: 0.3 },
      { q: 0, w: 3 },
    ],
    ["without capacity has the window of one period", { ...perMinute, capacity: 0 }, { q: 0, w: 60 }],
    [
      "keeps to fifteen digits",
      { kind: "token bucket", rate: 1e-300, period: 1e15, capacity: 1e12 },
      { q: 1e12, w: 999_999_999_999_999 },
    ],
  ])("%s", (_, config, expected) => {
    expect(policyOf(config)).toEqual(expected);
  });
});

describe("waits", () => {
  it.each([
    [1, 1],
    [999, 1],
    [1000, 1],
    [1001, 2],
    [3 * 365 * DAY + 1, 3 * 365 * 86_400 + 1],
  ])("of %i ms are %i s, in t and in Retry-After", (ms, seconds) => {
    const headers = headersOf({ status: denied(ms), config: perMinute });
    expect(headers["RateLimit"]).toBe(`"api";r=0;t=${seconds}`);
    expect(headers["Retry-After"]).toBe(String(seconds));
  });

  it("that are over already are 0 in t and 1 in Retry-After", () => {
    const headers = headersOf({ status: denied(-5), config: perMinute });
    expect(headers["RateLimit"]).toBe('"api";r=0;t=0');
    expect(headers["Retry-After"]).toBe("1");
  });

  it("are not named when the request was let through", () => {
    expect(headersOf({ status: allowed(0, MINUTE), config: perMinute })).not.toHaveProperty("Retry-After");
  });

  it("span as many windows as the next request of this size takes", () => {
    const config: RateLimitConfig = { kind: "fixed window", rate: 4, period: MINUTE, capacity: 10 };
    const status = allowed(1, 20 * SECOND);
    expect(headersOf({ status, config, count: 5 })["RateLimit"]).toBe('"api";r=1;t=20');
    expect(headersOf({ status, config, count: 10 })["RateLimit"]).toBe('"api";r=1;t=140');
  });
});

describe("the older formats", () => {
  const limits: LimitedBy[] = [
    { name: "roomy", status: allowed(90, MINUTE), config: perMinute },
    {
      name: "tight",
      status: allowed(4, 1500),
      config: { kind: "token bucket", rate: 5, period: SECOND, capacity: 10 },
    },
  ];

  it("tell of the tightest limit: draft 6 in seconds from now", () => {
    expect(rateLimitHeaders(limits, { now: NOW, formats: ["draft-6"] })).toEqual({
      "RateLimit-Limit": "10",
      "RateLimit-Remaining": "4",
      "RateLimit-Reset": "2",
    });
  });

  it("tell of the tightest limit: X- in seconds since the epoch, rounded up", () => {
    expect(rateLimitHeaders(limits, { now: NOW, formats: ["x"] })).toEqual({
      "X-RateLimit-Limit": "10",
      "X-RateLimit-Remaining": "4",
      "X-RateLimit-Reset": String(NOW / 1000 + 2),
    });
  });

  it("hold what is left against what a request takes", () => {
    const [roomy, tight] = limits as [LimitedBy, LimitedBy];
    const headers = rateLimitHeaders([{ ...roomy, count: 50 }, tight], { now: NOW, formats: ["draft-6"] });
    expect(headers["RateLimit-Limit"]).toBe("100");
  });

  it("can be sent together", () => {
    const headers = rateLimitHeaders(limits, { now: NOW, formats: ["draft-11", "draft-6", "x"] });
    expect(Object.keys(headers)).toHaveLength(8);
  });
});

it("a 429 names the violated policies as the header does", async () => {
  const response = tooManyRequests(
    [
      { name: "täglich", status: denied(2000), config: perMinute },
      { name: "other", status: allowed(1, 0), config: perMinute },
    ],
    { now: NOW },
  );
  expect(response.status).toBe(429);
  expect(response.headers.get("Content-Type")).toBe("application/problem+json");
  expect(await response.json()).toEqual({
    type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
    title: "Too many requests",
    status: 429,
    detail: "Try again in 2 seconds.",
    "violated-policies": ["t%C3%A4glich"],
  });
  expect(read(response.headers.get("RateLimit") ?? "")).toEqual({ "t%C3%A4glich": { r: 0, t: 2 } });
});

/** Any status that a limit could answer, up to the end of time. */
const anyStatus = fc
  .record({
    ok: fc.boolean(),
    remaining: fc.nat({ max: 1e12 }),
    retryIn: fc.integer({ min: 1, max: 8e15 }),
    resetIn: fc.integer({ min: 0, max: 8e15 }),
  })
  .map(({ ok, remaining, retryIn, resetIn }): RateLimitStatus =>
    ok ? allowed(remaining, resetIn) : { ...denied(retryIn, resetIn), remaining },
  );

const anyConfig = fc.record<RateLimitConfig>({
  kind: fc.constant("token bucket"),
  rate: fc.double({ min: 1e-9, max: 1e12, noNaN: true }),
  period: fc.double({ min: 1e-3, max: 1e15, noNaN: true }),
});

it("what a parser reads is the status, within a second, and never too early", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", minLength: 1 }), anyStatus, anyConfig, (name, status, config) => {
      const headers = rateLimitHeaders({ name, status, config }, { now: NOW });
      const [[sent, { r, t }]] = Object.entries(read(headers["RateLimit"])) as [[string, { r: number; t: number }]];
      expect(decodeURIComponent(sent)).toBe(name);
      expect(r).toBe(status.remaining);
      const moment = status.ok ? status.resetAt : status.retryAt;
      expect(NOW + t * 1000).toBeGreaterThanOrEqual(moment);
      expect(NOW + (t - 1) * 1000).toBeLessThan(moment);
      expect(headers["Retry-After"]).toBe(status.ok ? undefined : String(t));
      const { q, w } = read(headers["RateLimit-Policy"])[sent] as { q: number; w: number };
      expect(q).toBe(Math.floor(config.rate));
      expect(w).toBeGreaterThanOrEqual(Math.max(1, Math.floor(config.period / 1000)));
      expect(w).toBeLessThanOrEqual(Math.floor(config.period / 1000) + 1);
    }),
  );
});

it("refuses a jitter that is no fraction", () => {
  const limit = { status: denied(1), config: perMinute };
  for (const jitter of [-0.1, 1.1, NaN]) {
    expect(() => headersOf(limit, jitter)).toThrow('Rate limit "api": jitter must be a number from 0 to 1');
  }
});
