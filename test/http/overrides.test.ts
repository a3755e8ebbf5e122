// @vitest-environment edge-runtime
/** Limits that are overridden at a key: the wrapper applies the override, and sends it to clients. */
import { DAY, MINUTE, type RateLimitConfig } from "convex-rate-limits";
import { type HttpDenial, httpKey, type LimitedBy, rateLimitHeaders, tooManyRequests } from "convex-rate-limits/http";
import { describe, expect, it, vi } from "vitest";
import { defineIn, type PlaceName, placeNames } from "../support/places.js";
import { byUser, forAll, play, START, type Step, times, tokens, useClock, type Way } from "./backend.js";

useClock();

const by = { by: byUser, without: "deny" } as const;
/** Limits that are defined by name, as docs/plans.md says. */
const definitions = { api: { ...tokens(60, MINUTE, 10), keyed: true } };
type How = { block: true; until?: number } | { unlimited: true } | { config: RateLimitConfig; until?: number };
const fields = (policy: string | null, state: string | null) => {
  return { policy: policy && `"api";${policy}`, left: state && `"api";${state}` };
};

describe.each(placeNames)("with the limits in the %s", (place: PlaceName) => {
  const { overrideRateLimit } = defineIn(place, definitions);
  const override = (user: string, how: How): Step => {
    return async ({ t }) => {
      const key = await httpKey("user", user);
      await t.mutation((ctx) => overrideRateLimit(ctx, { name: "api", key, ...how }));
    };
  };
  const story = async (steps: Step[], way: Partial<Way> = {}) => {
    await play({ limits: { limit: "api", ...by }, place, definitions, ...way, steps });
  };

  it("a sliding window that overrides another kind says when it holds all of its tokens, also if the override ends before", async () => {
    const config: RateLimitConfig = { kind: "sliding window", rate: 50, period: 20_000 };
    await story([
      override("ana", { config: { ...config, rate: 5 } }),
      ["ana", fields("q=5;w=20", "r=4;t=20")],
      12_000,
      "ana 200",
      5000,
      ["ana", fields("q=5;w=20", "r=2;t=20")],
      // t is longer than the override lasts, though the bucket holds 50 tokens only under the override.
      override("ben", { config, until: START + 22_000 }),
      ["ben", fields("q=50;w=20", "r=49;t=20")],
    ]);
  });

  it("a block denies its caller until the block ends, and no other caller", async () => {
    const until = START + DAY;
    await story([override("ada", { block: true, until }), ["ada", { wait: "86400" }], "grace 200", DAY, "ada 200"]);
  });

  it("a block without an end answers 403 without a wait, since no wait helps", async () => {
    const onDenied = vi.fn<(denial: HttpDenial) => void>();
    const detail = "No wait helps: the quota does not permit this request.";
    const body = { title: "Not permitted", detail, "violated-policies": ["api"] };
    const noWait = { wait: null, left: null, "X-RateLimit-Limit": "10", "X-RateLimit-Reset": null };
    const way: Partial<Way> = { onDenied, formats: ["draft-11", "x"], jitter: 1 };
    await story([override("ada", { block: true }), ["ada", { status: 403, ...noWait, body }]], way);
    const [{ retryAt, retryAfter, limits }] = onDenied.mock.lastCall as [HttpDenial];
    expect([retryAt, retryAfter, limits.map(({ name }) => name)]).toEqual([undefined, undefined, ["api"]]);
  });

  it("an unlimited caller is served, and gets no fields that it would have to obey", async () => {
    const nothing = fields(null, null);
    const steps: Step[] = [...times(25, ["ada", nothing]), ["ada /500", { status: 500, ...nothing }]];
    await story([override("ada", { unlimited: true }), ...steps], { refund: "failed" });
  });

  it("an override's config is sent to clients, and given to the handler", async () => {
    await story(
      [
        override("ada", { config: tokens(600) }),
        override("grace", { config: tokens(6) }),
        ["ada", { ...fields("q=600;w=60", "r=599;t=1"), body: [{ status: { policy: { tokens: 600 } } }] }],
        ["ada /500", { status: 500, ...fields("q=600;w=60", "r=599;t=1") }],
        ["bob", fields("q=10;w=10", "r=9;t=1")],
        ["grace", fields("q=6;w=60", "r=5;t=10")],
        ...times(4, "grace 200"),
        ["grace", fields("q=6;w=60", "r=0;t=60")],
        10_000,
        "grace 200",
        ["grace", { wait: "10" }],
      ],
      { refund: "failed" },
    );
  });

  it("a limit that is closed for good outweighs a limit that only has a wait", async () => {
    const hourly = { limit: "hourly", ...by, config: tokens(1, 60 * MINUTE) };
    const limits = [hourly, { limit: "api", ...by }];
    await story(["ada 200", override("ada", { block: true }), ["ada", { status: 403, wait: null }]], { limits });
  });

  it("a denial by another limit sends the override's policy, or none", async () => {
    const limits = [forAll("all", tokens(1)), { limit: "api", ...by }];
    const denied = (policy: string) => ["ada", { policy: `"all";q=1;w=60${policy}`, wait: "60" }] as const;
    const raised = override("ada", { config: tokens(600) });
    const steps: Step[] = ["ada 200", denied(', "api";q=10;w=10'), raised, denied(', "api";q=600;w=60')];
    await story([...steps, override("ada", { unlimited: true }), denied("")], { limits });
  });
});

it("tooManyRequests also answers 403 if one limit is closed for good, and names that limit alone", async () => {
  const config = tokens(1);
  const blocked: LimitedBy = { name: "blocked", config, status: { ok: false, retryAt: 8.64e15, remaining: 0 } };
  const waiting: LimitedBy = { name: "waiting", config, status: { ok: false, retryAt: START + MINUTE } };
  const options = { now: START };
  const response = tooManyRequests([waiting, blocked], options);
  expect([response.status, response.headers.get("Retry-After")]).toEqual([403, null]);
  expect(await response.json()).toMatchObject({ "violated-policies": ["blocked"] });
  expect(rateLimitHeaders(waiting, options)["Retry-After"]).toBe("60");
});
