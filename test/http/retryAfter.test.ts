// @vitest-environment edge-runtime
/** When a provider takes the next request: headers as providers send them. */
import { describe, expect, it } from "vitest";
import { rateLimitHeaders, retryAfterOf } from "convex-rate-limits/http";

const NOW = Date.UTC(2026, 10, 20, 12);
const at = (headers: Record<string, string>) => {
  const until = retryAfterOf(new Response(null, { status: 429, headers }), NOW);
  return until === undefined ? undefined : until - NOW;
};

describe("retryAfterOf", () => {
  it.each<[string, Record<string, string>, number | undefined]>([
    ["seconds (RFC 9110)", { "Retry-After": "20" }, 20_000],
    ["no wait", { "Retry-After": "0" }, 0],
    ["a fraction of a second, rounded up to a ms", { "retry-after": "1.0005" }, 1001],
    ["a date (RFC 9110)", { "Retry-After": "Fri, 20 Nov 2026 12:01:30 GMT" }, 90_000],
    ["a date that has passed", { "Retry-After": "Fri, 20 Nov 2026 11:59:00 GMT" }, -60_000],
    ["OpenAI and Azure, whose milliseconds are the truth", { "retry-after-ms": "1250", "retry-after": "2" }, 1250],
    [
      "OpenAI, tokens spent",
      {
        "x-ratelimit-limit-requests": "500",
        "x-ratelimit-remaining-requests": "499",
        "x-ratelimit-reset-requests": "120ms",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "6m0s",
      },
      360_000,
    ],
    [
      "OpenAI, requests spent and tokens not",
      {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1.5s",
        "x-ratelimit-remaining-tokens": "90",
        "x-ratelimit-reset-tokens": "6m0s",
      },
      1500,
    ],
    [
      "nothing says what is spent",
      { "x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "1h2m3s" },
      3_723_000,
    ],
    [
      "Anthropic, by RFC 3339",
      {
        "anthropic-ratelimit-requests-remaining": "49",
        "anthropic-ratelimit-requests-reset": "2026-11-20T12:00:01Z",
        "anthropic-ratelimit-input-tokens-remaining": "0",
        "anthropic-ratelimit-input-tokens-reset": "2026-11-20T12:00:42Z",
        "anthropic-ratelimit-output-tokens-remaining": "8000",
        "anthropic-ratelimit-output-tokens-reset": "2026-11-20T12:05:00Z",
      },
      42_000,
    ],
    [
      "Anthropic with Retry-After",
      { "retry-after": "7", "anthropic-ratelimit-tokens-reset": "2026-11-20T12:05:00Z" },
      7000,
    ],
    [
      "GitHub: seconds since the epoch",
      { "x-ratelimit-remaining": "0", "x-ratelimit-reset": `${NOW / 1000 + 60}` },
      60_000,
    ],
    [
      "OpenRouter: milliseconds since the epoch",
      { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": `${NOW + 5000}` },
      5000,
    ],
    ["drafts 3 to 6: seconds", { "RateLimit-Remaining": "0", "RateLimit-Reset": "30" }, 30_000],
    ["drafts from 8 on", { RateLimit: '"burst";r=3;t=60, "day";r=0;t=40' }, 40_000],
    ["a draft's item with spaces", { RateLimit: '"day" ; r=0 ; t=40' }, 40_000],
    ["no header", {}, undefined],
    ["an empty one", { "retry-after": "", "retry-after-ms": "" }, undefined],
    ["no number and no date", { "retry-after": "soon", "x-ratelimit-reset": "later" }, undefined],
    ["a negative number", { "retry-after": "-5" }, undefined],
    ["a policy without t", { RateLimit: '"day";r=0' }, undefined],
    ["a wait of a century is a mistake", { "retry-after": "99999999999d", "x-ratelimit-reset": "5" }, 5000],
  ])("%s", (_what, headers, expected) => {
    expect(at(headers)).toBe(expected);
  });

  it("reads what this package itself writes, to the second, rounded up", () => {
    const status = { ok: false as const, retryAt: NOW + 12_300, remaining: 0, resetAt: NOW + 60_000 };
    const config = { kind: "token bucket", rate: 10, period: 60_000 } as const;
    for (const formats of [["draft-11"], ["x"], []] as const) {
      expect(at(rateLimitHeaders({ name: "api", status, config }, { formats, now: NOW }))).toBe(13_000);
    }
    const headers = rateLimitHeaders({ name: "api", status, config }, { now: NOW });
    delete headers["Retry-After"];
    expect(at(headers)).toBe(13_000);
  });
});
