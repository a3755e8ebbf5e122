// @vitest-environment edge-runtime
/** How popular parsers read each format: the table in docs/http-fields.md. */
import { parseRateLimit } from "ratelimit-header-parser";
import { parseDictionary, parseList } from "structured-headers";
import { type HttpStatus, type RateLimitFormat, rateLimitHeaders } from "convex-rate-limits/http";
import { expect, it } from "vitest";
import { START, tokens, useClock } from "./backend.js";

useClock();

const half: HttpStatus = { ok: true, remaining: 50, resetAt: START + 30_000 };
const denied: HttpStatus = { ok: false, retryAt: START + 1500, remaining: 0, resetAt: START + 60_000 };
const headersIn = (format: RateLimitFormat, status: HttpStatus = half) =>
  rateLimitHeaders({ name: "api", status, config: tokens(100) }, { formats: [format], now: START });
const parse = (format: RateLimitFormat, status?: HttpStatus) => parseRateLimit(new Headers(headersIn(format, status)));

it.each(["draft-6", "draft-7", "x"] as const)(
  "ratelimit-header-parser reads %s, and the reset of a denial",
  (format) => {
    expect(parse(format)).toEqual({ limit: 100, used: 50, remaining: 50, reset: new Date(START + 30_000) });
    expect(parse(format, denied)?.reset).toEqual(new Date(START + 2000));
  },
);

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
