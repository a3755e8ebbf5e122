// @vitest-environment edge-runtime
import fc from "fast-check";
import { parseRateLimit } from "ratelimit-header-parser";
import { parseDictionary, parseList } from "structured-headers";
import { DAY, HOUR, MINUTE, SECOND, type RateLimitConfig, type RateLimitStatus } from "convex-rate-limits";
import { type LimitedBy, rateLimitHeaders, tooManyRequests } from "convex-rate-limits/http";
import { describe, expect, it } from "vitest";
import { tokens, useClock } from "./backend.js";
import { forAny } from "../support/random.js";

type RateLimitFormat = NonNullable<NonNullable<Parameters<typeof rateLimitHeaders>[1]>["formats"]>[number];
const NOW = Date.UTC(2026, 0, 1);
const windows = (rate: number, period: number, capacity = rate, start?: number): RateLimitConfig => ({
  ...{ kind: "fixed window", rate, period, capacity },
  ...(start !== undefined && { start }),
});
const perMinute = tokens(100, MINUTE);
const perDay = windows(1000, DAY);

type Known = RateLimitStatus & { remaining: number; resetAt: number };
/** A status. `resetInMs` is the time until the bucket is full again, or until the next window begins. */
function allowed(remaining: number, resetInMs: number): Known {
  return { ok: true, remaining, resetAt: NOW + resetInMs };
}

function denied(waitMs: number, resetInMs = waitMs, remaining = 0): Known {
  return { ok: false, retryAt: NOW + waitMs, remaining, resetAt: NOW + resetInMs };
}

/** The items of a structured field as the library reads them: `{ name: { q: 100, w: 60 } }`. */
function read(field: string | undefined): Record<string, Record<string, unknown>> {
  const items = parseList(field ?? "").map(([name, parameters]) => [name, Object.fromEntries(parameters)] as const);
  return Object.fromEntries(items) as Record<string, Record<string, unknown>>;
}

/** As a call answers whose count the bucket can never hold. */
const tooLarge = { ok: false, reason: "too large", retryAt: 8.64e15 } as const;

type Limited = Omit<LimitedBy, "name"> & { name?: string };
const named = (limit: Limited): LimitedBy => ({ name: "api", ...limit });
const headersOf = (limit: Limited, jitter = 0) => rateLimitHeaders(named(limit), { now: NOW, jitter });

const daily: LimitedBy = { name: "daily", status: allowed(900, HOUR), config: perDay };
const hot: LimitedBy = { name: "hot", status: { ok: true }, config: perMinute };
const roomy: LimitedBy = { name: "roomy", status: allowed(90, 6 * SECOND), config: perMinute };
const tight: LimitedBy = { name: "tight", status: allowed(6, 2 * SECOND), config: tokens(2, SECOND, 10) };
const both = [roomy, tight];
const large: LimitedBy = { ...roomy, count: 50 };
const free: LimitedBy = { ...hot, status: allowed(0, MINUTE), count: 0 };
const halves = [{ remaining: 5 }, { resetAt: NOW }].map((half) => ({ ...hot, status: { ok: true as const, ...half } }));
const hourly: LimitedBy = { name: "hourly", status: allowed(3600, 10 * SECOND), config: windows(3600, HOUR) };
const [twoPolicies, twice] = ["100;w=60, 10;w=5", "100;w=60, 100;w=60"];
const three = (prefix: string, limit: number, remaining: number, reset: number) => ({
  [`${prefix}-Limit`]: String(limit),
  [`${prefix}-Remaining`]: String(remaining),
  [`${prefix}-Reset`]: String(reset),
});
const x = (limit: number, left: number, resetIn: number) => three("X-RateLimit", limit, left, NOW / 1000 + resetIn);
const six = (policies: string, ...state: [number, number, number]) => ({
  ...{ "RateLimit-Policy": policies, ...three("RateLimit", ...state) },
});
const eleven = (policies: string, states?: string, wait?: number) => ({
  "RateLimit-Policy": policies,
  ...(states !== undefined && { RateLimit: states }),
  ...(wait !== undefined && { "Retry-After": String(wait) }),
});
const example: LimitedBy = { name: "default", status: allowed(50, 30 * SECOND), config: perMinute };
const deniedFor = (name: string, ms: number, left = 0) => ({ ...hot, name, status: denied(ms, ms, left) });
const burst: LimitedBy = { name: "burst", status: allowed(5, 57 * SECOND), config: perMinute };
const untold: LimitedBy = { ...hot, status: { ok: false, retryAt: NOW + 1500 } };

type Row = [what: string, LimitedBy | LimitedBy[], fields: object, formats?: RateLimitFormat[], later?: number];
it.each<Row>([
  ["a request without limits", [], {}],
  ["the draft's own example", example, eleven('"default";q=100;w=60', '"default";r=50;t=30')],
  [
    "several limits: the policies in the given order, the states with the tightest first",
    [daily, burst],
    eleven('"daily";q=1000;w=86400, "burst";q=100;w=60', '"burst";r=5;t=57, "daily";r=900;t=3600'),
  ],
  [
    "a denial: the states of the limits that denied first, the longest wait before the others",
    [daily, deniedFor("short", 1500), deniedFor("long", 7001, 2)],
    eleven(
      '"daily";q=1000;w=86400, "short";q=100;w=60, "long";q=100;w=60',
      '"long";r=2;t=8, "short";r=0;t=2, "daily";r=900;t=3600',
      8,
    ),
  ],
  [
    "a status that does not say what is left: the policy alone",
    [hot, { ...daily, status: allowed(900, DAY) }],
    eleven('"hot";q=100;w=60, "daily";q=1000;w=86400', '"daily";r=900;t=86400'),
  ],
  ["limits that do not say both what is left and until when", halves, eleven('"hot";q=100;w=60, "hot";q=100;w=60')],
  ["the same in draft 6: the limit alone", hot, { ...eleven("100;w=60"), "RateLimit-Limit": "100" }, ["draft-6"]],
  ["the same in x: the limit alone", hot, { "X-RateLimit-Limit": "100" }, ["x"]],
  ["a denial that does not say what is left", [roomy, untold], eleven(twice, undefined, 2), ["draft-7"]],
  ["the tightest limit in draft 6, with a reset in seconds from now", both, six(twoPolicies, 10, 6, 2), ["draft-6"]],
  ["the tightest limit in draft 7", both, eleven(twoPolicies, "limit=10, remaining=6, reset=2"), ["draft-7"]],
  ["the tightest limit in x, with a reset since the epoch", [hot, ...both], x(10, 6, 2), ["x"]],
  ["a reset since the epoch, rounded up", both, x(10, 6, 2), ["x"], 1],
  ["the tightest for its count", [free, large, tight], six(`100;w=60, ${twoPolicies}`, 100, 90, 6), ["draft-6"]],
  ["a fixed window: all that is left, and its end", hourly, eleven('"hourly";q=3600;w=3600', '"hourly";r=3600;t=10')],
  ["a fixed window in x: all that is left", hourly, x(3600, 3600, 10), ["x"]],
  ["drafts 6 and x side by side", tight, { ...six("10;w=5", 10, 6, 2), ...x(10, 6, 2) }, ["draft-6", "x"]],
  ["no format", both, {}, []],
  ["no format, and a denial", deniedFor("api", 1), { "Retry-After": "1" }, []],
])("the fields of %s", (_, limits, fields, formats, later = 0) => {
  expect(rateLimitHeaders(limits, { now: NOW + later, formats })).toEqual(fields);
});

it("the fields depend on a definition's config only, not on its other options", () => {
  const config = { kind: "token bucket", rate: 1, period: 1000 } as const;
  const definition = { ...config, keyed: true, throws: true, mode: "enforce" } as const;
  const status = { ok: true, remaining: 1, resetAt: NOW } as const;
  const [plain, ...defined] = [config, { ...definition, overrides: true }, { ...definition, queue: {} }].map((one) =>
    headersOf({ status, config: one }),
  );
  expect(defined).toEqual([plain, plain]);
});

it.each([
  ['say "hi"', 'say "hi"'],
  ["back\\slash", "back\\slash"],
  ["50% off", "50%25 off"],
  ["größe", "gr%C3%B6%C3%9Fe"],
  ["line\r\nX-Evil: 1", "line%0D%0AX-Evil: 1"],
])("the name %j is sent as the string %j", (name, sent) => {
  const headers = headersOf({ name, status: allowed(1, 0), config: perMinute });
  expect(Object.keys(read(headers["RateLimit"]))).toEqual([sent]);
  expect(Object.keys(read(headers["RateLimit-Policy"]))).toEqual([sent]);
});

type Refused = [Limited, object, string];
const api = { status: denied(1), config: perMinute };
const noName = "A rate limit's name must be a well-formed string of 1 to 128 characters";
const noJitter = 'Rate limit "api": jitter must be a number at least 0 and at most 1';
const noFormats = 'formats must be a list of "draft-11", "draft-7", "draft-6", "x"';
it.each<Refused>([
  ...["\ud800", "", "n".repeat(129)].map((name): Refused => [{ ...api, name }, {}, noName]),
  ...[-0.1, 1.1, NaN].map((jitter): Refused => [api, { jitter }, noJitter]),
  ...[NaN, -1, "now"].map((now): Refused => [
    api,
    { now },
    'Rate limit "api": now must be a number of ms since the epoch',
  ]),
  [api, { format: ["x"] }, '"format" is not a field of the options of rateLimitHeaders'],
  ...[["draft-12"], ["toString"], "x", [undefined]].map((formats): Refused => [api, { formats }, noFormats]),
  [
    api,
    { formats: ["draft-6", "draft-11"] },
    `Rate limit "api": ${noFormats}, with one draft at most: they write the same fields, got ["draft-6","draft-11"].`,
  ],
])("rateLimitHeaders refuses the limit %o with the options %o", (limit, options, message) => {
  expect(() => rateLimitHeaders(named(limit), options)).toThrow(message);
});

it.each<[string, RateLimitConfig, q: number, w: number]>([
  ["is the capacity and the time it takes to fill", tokens(100, MINUTE, 200), 200, 120],
  ["of a fixed window counts whole windows", windows(10, MINUTE, 25), 25, 180],
  ["of a fixed window is never shorter than one", windows(10, MINUTE, 5), 5, 60],
  ["rounds windows below a second up to one", tokens(10, SECOND, 1), 1, 1],
  ["rounds its quota down", tokens(2.5, SECOND), 2, 1],
  ["is not a second longer because of a rounding error", tokens(0.1, SECOND, 0.3), 0, 3],
  ["without capacity has the window of one period", tokens(100, MINUTE, 0), 0, 60],
  ["has at most fifteen digits", tokens(1e-300, 1e15, 1e12), 1e12, 999_999_999_999_999],
])("a policy %s", (_, config, q, w) => {
  const headers = headersOf({ status: allowed(0, 0), config });
  expect(read(headers["RateLimit-Policy"])["api"]).toEqual({ q, w });
});

describe("waits", () => {
  it.each([
    [-5, 0],
    [1, 1],
    [1000, 1],
    [1001, 2],
    [3 * 365 * DAY + 1, 3 * 365 * 86_400 + 1],
  ])("of %i ms are %i s in t, and in Retry-After, which is at least 1", (ms, seconds) => {
    const headers = headersOf({ status: denied(ms), config: perMinute });
    expect(headers["RateLimit"]).toBe(`"api";r=0;t=${seconds}`);
    expect(headers["Retry-After"]).toBe(String(Math.max(1, seconds)));
  });

  it.each([
    ["from when the answer is sent, not when the limit was asked", 1000, 2],
    ["0 when they are over", 5000, 0],
  ])("are %s", (_, later, t) => {
    const limited = named({ status: allowed(0, 3 * SECOND), config: tokens(1, 3 * SECOND) });
    expect(rateLimitHeaders(limited, { now: NOW + later })["RateLimit"]).toBe(`"api";r=0;t=${t}`);
  });

  it("of a denial are those of resetAt in t, and those of retryAt in Retry-After", () => {
    const headers = headersOf({ status: denied(1500, MINUTE), config: perMinute });
    expect([headers["RateLimit"], headers["Retry-After"]]).toEqual(['"api";r=0;t=60', "2"]);
  });

  it.each<[string, RateLimitStatus, string]>([
    ["a block without an end", { ok: false, retryAt: 8.64e15, remaining: 0, resetAt: 8.64e15 }, ""],
    ["more than the bucket holds", { ...tooLarge, remaining: 7, resetAt: NOW + 5000 }, '"api";r=7;t=5'],
    ["more than a bucket of several rows holds", tooLarge, ""],
  ])("are none after %s, since no wait helps", (_, status, state) => {
    const headers = headersOf({ status, config: perMinute });
    const policy = { "RateLimit-Policy": '"api";q=100;w=60' };
    expect(headers).toEqual({ ...policy, ...(state && { RateLimit: state }) });
  });
});

describe("jitter", () => {
  const secondsOf = (waitMs: number, jitter: number) => {
    return Number(headersOf({ status: denied(waitMs), config: perMinute }, jitter)["Retry-After"]);
  };
  const anyJitter = fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true }));

  it("makes Retry-After later by at most its fraction of the wait, in whole seconds, and never earlier", () => {
    forAny([fc.integer({ min: 1, max: 1e12 }), anyJitter], 100, (waitMs, jitter) => {
      const truth = Math.ceil(waitMs / 1000);
      const seconds = secondsOf(waitMs, jitter);
      expect(seconds).toBeGreaterThanOrEqual(truth);
      expect(seconds).toBeLessThanOrEqual(truth + Math.ceil((waitMs * jitter) / 1000));
    });
  });

  it.each([
    // [wait in s, jitter, mean lateness in s]: the mean is half of the jitter's fraction of the wait.
    [1, 0.5, 0.25],
    [1, 1, 0.5],
    [2, 0.5, 0.5],
    [3, 0.1, 0.15],
  ])("with a wait of %i s and a jitter of %f, callers are %f s late on average", (seconds, jitter, lateness) => {
    const late = Array.from({ length: 10_000 }, () => secondsOf(seconds * 1000, jitter) - seconds);
    const mean = late.reduce((sum, each) => sum + each, 0) / late.length;
    // One caller's lateness deviates by at most 1 s here, so the mean of 10,000 deviates by 0.01 s. The bound is four such deviations.
    expect(Math.abs(mean - lateness)).toBeLessThan(0.04);
    expect([late.includes(0), late.includes(1)]).toEqual([true, true]);
  });
});

it("a request of more than the bucket holds is a 403 that says how much that is", async () => {
  const limits = [deniedFor("waiting", 1000), named({ status: tooLarge, config: perMinute, count: 101 })];
  const response = tooManyRequests(limits, { now: NOW });
  expect([response.status, response.headers.get("Retry-After")]).toEqual([403, null]);
  expect(await response.json()).toMatchObject({
    title: "More than the quota",
    detail: "This request takes 101 of a quota of 100.",
    "violated-policies": ["api"],
  });
});

it.each([
  [1000, "Try again in 1 second."],
  [1001, "Try again in 2 seconds."],
])("a 429 names the violated policies as the header does; a wait of %i ms is: %s", async (waitMs, detail) => {
  const limits = [deniedFor("täglich", waitMs), { ...roomy, name: "other" }];
  const response = tooManyRequests(limits, { now: NOW });
  expect([response.status, response.headers.get("Content-Type")]).toEqual([429, "application/problem+json"]);
  expect(await response.json()).toEqual({
    type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
    title: "Too many requests",
    status: 429,
    detail,
    "violated-policies": ["t%C3%A4glich"],
  });
  expect(response.headers.get("RateLimit")).toBe(`"t%C3%A4glich";r=0;t=${Math.ceil(waitMs / 1000)}, "other";r=90;t=6`);
});

it("a 429 of limits that allow the call, as an app may send it, says a second", async () => {
  expect(await tooManyRequests(roomy).json()).toMatchObject({ status: 429, detail: "Try again in 1 second." });
});

/** How popular parsers read each format, as docs/http.md says. The parsers read the clock. */
describe("as popular parsers read them,", () => {
  useClock();
  const headersIn = (format: RateLimitFormat, status = allowed(50, 30_000)) =>
    rateLimitHeaders(named({ status, config: perMinute }), { formats: [format], now: NOW });
  const parse = (...given: Parameters<typeof headersIn>) => parseRateLimit(new Headers(headersIn(...given)));

  it.each(["draft-6", "draft-7", "x"] as const)("ratelimit-header-parser reads %s, also a denial's reset", (format) => {
    expect(parse(format)).toEqual({ limit: 100, used: 50, remaining: 50, reset: new Date(NOW + 30_000) });
    expect(parse(format, denied(1500, 60_000))?.reset).toEqual(new Date(NOW + 60_000));
  });

  it("ratelimit-header-parser reads NaN from draft-11, which it takes for draft 7", () => {
    expect(parse("draft-11")).toMatchObject({ limit: NaN, remaining: NaN });
  });

  const map = (entries: object) => new Map(Object.entries(entries));
  it("structured-headers reads draft-11 whole, draft-7 as a dictionary, and the policies of drafts 6 and 7 as a list", () => {
    const { RateLimit = "", "RateLimit-Policy": policy = "" } = headersIn("draft-11");
    expect([parseList(RateLimit), parseList(policy)]).toEqual([
      [["api", map({ r: 50, t: 30 })]],
      [["api", map({ q: 100, w: 60 })]],
    ]);
    const seven = parseDictionary(headersIn("draft-7")["RateLimit"] ?? "");
    expect(seven).toEqual(map({ limit: [100, map({})], remaining: [50, map({})], reset: [30, map({})] }));
    for (const format of ["draft-6", "draft-7"] as const) {
      expect(parseList(headersIn(format)["RateLimit-Policy"] ?? "")).toEqual([[100, map({ w: 60 })]]);
    }
  });
});

/** Any status that a limit can answer, with times almost up to the last one that a Date holds. */
const anyStatus = fc
  .record({
    ok: fc.boolean(),
    remaining: fc.nat({ max: 1e12 }),
    retryIn: fc.integer({ min: 1, max: 8e15 }),
    resetIn: fc.integer({ min: 0, max: 8e15 }),
  })
  .map(({ ok, remaining, retryIn, resetIn }) =>
    ok ? allowed(remaining, resetIn) : denied(retryIn, resetIn, remaining),
  );

const anyConfig = fc
  .record({
    kind: fc.constantFrom("token bucket" as const, "fixed window" as const),
    rate: fc.double({ min: 1e-9, max: 1e12, noNaN: true }),
    period: fc.integer({ min: 1, max: 1e15 }),
  })
  // A window of fewer tokens has too few units for its rate, so its config is refused.
  .map((config) => ({ ...config, rate: Math.max(config.kind === "fixed window" ? 1e-5 : 0, config.rate) }));

it("for every status, a parser reads whole numbers, and a denial's wait is late by less than a second and never early", () => {
  const anyName = fc.string({ unit: "binary", minLength: 1, maxLength: 64 });
  forAny([anyName, anyStatus, anyConfig], 100, (name, status, config) => {
    const headers = rateLimitHeaders({ name, status, config }, { now: NOW });
    const [[sent, { r, t }]] = Object.entries(read(headers["RateLimit"])) as [[string, { r: number; t: number }]];
    expect(decodeURIComponent(sent)).toBe(name);
    expect(Number.isSafeInteger(r) && r >= 0 && r <= status.remaining).toBe(true);
    expect(Number.isSafeInteger(t) && t >= 0).toBe(true);
    expect([r, t]).toEqual([status.remaining, Math.ceil((status.resetAt - NOW) / 1000)]);
    if (status.ok) {
      expect(headers["Retry-After"]).toBeUndefined();
    } else {
      const wait = Number(headers["Retry-After"]);
      expect(NOW + wait * 1000).toBeGreaterThanOrEqual(status.retryAt);
      expect(NOW + (wait - 1) * 1000).toBeLessThan(status.retryAt);
    }
    const { q, w } = read(headers["RateLimit-Policy"])[sent] as { q: number; w: number };
    expect(q).toBe(Math.floor(config.rate));
    expect(w).toBe(Math.max(1, Math.ceil(config.period / 1000)));
  });
});
