// @vitest-environment edge-runtime
/** What popular parsers make of each format: the table in docs/http-fields.md. */
import { parseRateLimit } from "ratelimit-header-parser";
import { parseDictionary, parseList } from "structured-headers";
import { MINUTE, type RateLimitConfig } from "convex-rate-limits";
import { type RateLimitFormat, rateLimitHeaders } from "convex-rate-limits/http";
import { describe, expect, it, vi } from "vitest";
import { START, useClock } from "./backend.js";

useClock();

const config: RateLimitConfig = { kind: "token bucket", rate: 100, period: MINUTE };
const status = { ok: true, remaining: 50, resetAt: START + 30_000 } as const;
const headersIn = (format: RateLimitFormat) =>
  rateLimitHeaders({ name: "api", status, config }, { formats: [format], now: START });

describe("ratelimit-header-parser", () => {
  const parse = (format: RateLimitFormat) => parseRateLimit(new Headers(headersIn(format)));
  const right = { limit: 100, used: 50, remaining: 50, reset: new Date(START + 30_000) };

  it("reads draft-6, draft-7 and x", () => {
    for (const format of ["draft-6", "draft-7", "x"] as const) expect(parse(format)).toEqual(right);
  });

  it("reads NaN from draft-11: it takes the field for draft 7", () => {
    expect(parse("draft-11")).toMatchObject({ limit: NaN, remaining: NaN });
  });

  it("reads a denial's reset from each of them", () => {
    vi.setSystemTime(START);
    const refused = { ok: false, retryAt: START + 1500, remaining: 0, resetAt: START + 60_000 } as const;
    for (const format of ["draft-6", "draft-7", "x"] as const) {
      const headers = rateLimitHeaders({ name: "api", status: refused, config }, { formats: [format], now: START });
      expect(parseRateLimit(new Headers(headers))?.reset).toEqual(new Date(START + 2000));
    }
  });
});

describe("structured-headers", () => {
  it("reads draft-11 whole", () => {
    const headers = headersIn("draft-11");
    expect(parseList(headers["RateLimit"] ?? "")).toEqual([["api", new Map(Object.entries({ r: 50, t: 30 }))]]);
    expect(parseList(headers["RateLimit-Policy"] ?? "")).toEqual([["api", new Map(Object.entries({ q: 100, w: 60 }))]]);
  });

  it("reads draft-7's field as a dictionary, and the policies of drafts 6 and 7 as a list", () => {
    const seven = headersIn("draft-7");
    const fields = Object.fromEntries(parseDictionary(seven["RateLimit"] ?? ""));
    expect(fields).toEqual({ limit: [100, new Map()], remaining: [50, new Map()], reset: [30, new Map()] });
    for (const format of ["draft-6", "draft-7"] as const) {
      expect(parseList(headersIn(format)["RateLimit-Policy"] ?? "")).toEqual([[100, new Map([["w", 60]])]]);
    }
  });
});
