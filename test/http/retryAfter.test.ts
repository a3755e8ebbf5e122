// @vitest-environment edge-runtime
/** The time at which a provider takes the next request, read from headers as providers send them. */
import { describe, expect, it } from "vitest";
import { rateLimitHeaders, retryAfterOf } from "convex-rate-limits/http";

const NOW = Date.UTC(2026, 10, 20, 12);
const at = (headers: Record<string, string>) => {
  const until = retryAfterOf(new Response(null, { status: 429, headers }), NOW);
  return until === undefined ? undefined : until - NOW;
};

type Headed = Record<string, string>;
/** Headers as OpenAI sends them. */
const openAi = (kind: string, reset: string, remaining?: string): Headed => ({
  [`x-ratelimit-reset-${kind}`]: reset,
  ...(remaining !== undefined && { [`x-ratelimit-remaining-${kind}`]: remaining }),
});
const anthropic = (kind: string, reset: string, remaining: string): Headed => ({
  [`anthropic-ratelimit-${kind}-reset`]: `2026-11-20T12:${reset}Z`,
  [`anthropic-ratelimit-${kind}-remaining`]: remaining,
});
const threeOfAnthropic: Headed = {
  ...anthropic("requests", "00:01", "49"),
  ...anthropic("input-tokens", "00:42", "0"),
  ...anthropic("output-tokens", "05:00", "8000"),
};
const spent = (reset: number): Headed => ({ "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": `${reset}` });

describe("retryAfterOf", () => {
  it("ignores spaces around a value, which the Headers of Convex keep", () => {
    const spaced = [
      ["x-ratelimit-reset-a", " 9 "],
      ["x-ratelimit-reset-b", "5 "],
      ["x-ratelimit-remaining-b", " 0"],
    ];
    expect(retryAfterOf({ headers: new Map(spaced as [string, string][]) as never }, NOW)).toBe(NOW + 5000);
  });

  it("needs no iterator of the headers, which TypeScript 5 does not know with the lib of Convex's own tsconfig", () => {
    const headers = new Headers({ "RateLimit-Reset": "30" });
    const known: Pick<Headers, "get" | "forEach"> = {
      get: (name) => headers.get(name),
      forEach: (run) => {
        headers.forEach(run);
      },
    };
    expect(retryAfterOf({ headers: known }, NOW)).toBe(NOW + 30_000);
  });

  it.each<[string, Headed, number | undefined]>([
    ["seconds (RFC 9110)", { "Retry-After": "20" }, 20_000],
    ["no wait", { "Retry-After": "0" }, 0],
    ["no wait in milliseconds", { "retry-after-ms": "0", "Retry-After": "1" }, 0],
    ["a fraction of a second, rounded up to a ms", { "retry-after": "1.0005" }, 1001],
    ["a date (RFC 9110)", { "Retry-After": "Fri, 20 Nov 2026 12:01:30 GMT" }, 90_000],
    ["a date of RFC 850", { "Retry-After": "Friday, 20-Nov-26 12:01:30 GMT" }, 90_000],
    ["a date of C's asctime, which is in GMT", { "Retry-After": "Fri Nov 20 12:01:30 2026" }, 90_000],
    ["a date that has passed", { "Retry-After": "Fri, 20 Nov 2026 11:59:00 GMT" }, -60_000],
    ["OpenAI and Azure: milliseconds outweigh seconds", { "retry-after-ms": "1250", "retry-after": "2" }, 1250],
    ["OpenAI, tokens spent", { ...openAi("requests", "120ms", "499"), ...openAi("tokens", "6m0s", "0") }, 360_000],
    ["OpenAI, requests spent", { ...openAi("requests", "1.5s", "0"), ...openAi("tokens", "6m0s", "90") }, 1500],
    ["OpenAI, nothing said to be spent", { ...openAi("requests", "1h2m3s"), ...openAi("tokens", "2s") }, 2000],
    ["Anthropic, by RFC 3339: the input tokens are spent", threeOfAnthropic, 42_000],
    ["Anthropic with Retry-After", { "retry-after": "7", ...anthropic("tokens", "05:00", "0") }, 7000],
    ["GitHub: seconds since the epoch, a second later: the fraction is cut off", spent(NOW / 1000 + 60), 61_000],
    ["OpenRouter: milliseconds since the epoch", spent(NOW + 5000), 5000],
    ["drafts 3 to 6: seconds", { "RateLimit-Remaining": "0", "RateLimit-Reset": "30" }, 30_000],
    ["drafts from 8 on", { RateLimit: '"burst";r=3;t=60, "day";r=0;t=40' }, 40_000],
    ["a draft's item with spaces", { RateLimit: '"day" ; r=0 ; t=40' }, 40_000],
    // Fault 15, row by row.
    [
      "Anthropic's unified windows: the one that rejected",
      {
        "anthropic-ratelimit-unified-5h-status": "rejected",
        "anthropic-ratelimit-unified-5h-reset": `${NOW / 1000 + 3600}`,
        "anthropic-ratelimit-unified-7d-status": "allowed",
        "anthropic-ratelimit-unified-7d-reset": `${NOW / 1000 + 6 * 86_400}`,
      },
      3_600_000,
    ],
    [
      "nothing spent: the earliest reset",
      { ...openAi("tokens", "59.9s", "17"), ...openAi("requests", "12h0m0s", "5000") },
      59_900,
    ],
    ["draft 7", { RateLimit: "limit=100, remaining=0, reset=30" }, 30_000],
    [
      "seconds since the epoch beside a Date that is 90 s ahead of ours: by the server's clock",
      { ...spent(NOW / 1000 + 120), Date: new Date(NOW + 90_000).toUTCString() },
      30_000,
    ],
    ["no limit of tokens", { ...openAi("tokens", "0", "-1"), "x-ratelimit-limit-tokens": "-1" }, undefined],
    ["X: epoch", { "x-rate-limit-remaining": "0", "x-rate-limit-reset": `${NOW / 1000 + 60}` }, 61_000],
    ["a reset after the budget", { "x-ratelimit-requests-remaining": "0", "x-ratelimit-requests-reset": "12" }, 12_000],
    ["a name with a parameter in it", { RateLimit: '"x;t=5";r=0;t=30' }, 30_000],
    ["a text among the parameters", { RateLimit: '"a";r=0;t=30;note="r=7;t=1, \\"b\\"", "b";r=5;t=2' }, 30_000],
    ["a text without an end", { RateLimit: '"a;r=0;t=30' }, undefined],
    // The same kinds.
    [
      "a date beside a Date that is 90 s ahead of ours",
      { "Retry-After": "Fri, 20 Nov 2026 12:02:00 GMT", Date: new Date(NOW + 90_000).toUTCString() },
      30_000,
    ],
    ["a Date that is none", { ...spent(NOW + 5000), Date: "now" }, 5000],
    ["resets that have passed", { "x-ratelimit-reset": `${NOW - 1000}`, "ratelimit-reset": "0" }, undefined],
    ["a reset that has passed and one ahead", { "x-ratelimit-reset": `${NOW - 1000}`, "ratelimit-reset": "9" }, 9000],
    ["draft 7, something left", { RateLimit: "limit=100, remaining=1, reset=30", "x-ratelimit-reset": "7" }, 7000],
    ["no header of limits", { age: "60" }, undefined],
    ["empty headers", { "retry-after": "", "retry-after-ms": "" }, undefined],
    ["no number and no date", { "retry-after": "soon", "x-ratelimit-reset": "later" }, undefined],
    ["a date before 1970", { "retry-after": "Fri, 20 Nov 1959 12:01:30 GMT", "ratelimit-reset": "5" }, 5000],
    ["a negative number", { "retry-after": "-5" }, undefined],
    ["a negative number of milliseconds", { "retry-after-ms": "-5", "retry-after": "7" }, 7000],
    ["a policy without t", { RateLimit: '"day";r=0' }, undefined],
    ["a century", { "retry-after": "36525d", "ratelimit-reset": "36525d", "x-ratelimit-reset": "5" }, 5000],
  ])("%s", (_what, headers, expected) => {
    expect(at(headers)).toBe(expected);
  });

  it.each([undefined, NaN, -1, "now"])("needs the time of the answer, which is not %j", (now) => {
    const message =
      "retryAfterOf: now must be a number of ms since the epoch at least 0 and at most 8640000000000000, got";
    expect(() => retryAfterOf(new Response(), now as never)).toThrow(message);
  });

  it("reads names in capitals", () => {
    expect(retryAfterOf({ headers: new Map([["RateLimit-Reset", "30"]]) as never }, NOW)).toBe(NOW + 30_000);
  });

  it("reads the headers of this package, rounded up to a second", () => {
    const status = { ok: false as const, retryAt: NOW + 12_300, remaining: 0, resetAt: NOW + 60_000 };
    const config = { kind: "token bucket", rate: 10, period: 60_000 } as const;
    for (const formats of [["draft-11"], ["draft-7"], ["x"], []] as const) {
      expect(at(rateLimitHeaders({ name: "api", status, config }, { formats, now: NOW }))).toBe(13_000);
    }
    for (const formats of [["draft-11"], ["draft-7"], ["draft-6"]] as const) {
      const headers = rateLimitHeaders({ name: "api", status, config }, { now: NOW, formats });
      expect(at({ ...headers, "Retry-After": "" })).toBe(60_000);
    }
  });
});
