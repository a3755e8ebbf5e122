// @vitest-environment edge-runtime
/** The status of a sliding window says when tokens come back, since the call has the row in its hands. */
import { type RateLimitConfig, SECOND } from "convex-rate-limits";
import { type HttpLimit, rateLimitHeaders, type LimitedBy } from "convex-rate-limits/http";
import { describe, expect, it } from "vitest";
import type { PlaceName } from "../support/places.js";
import { pass, serve, START, useClock } from "./backend.js";

useClock();

const config: RateLimitConfig = { kind: "sliding window", rate: 5, period: 20 * SECOND };
const sliding: HttpLimit = { limit: "sliding", by: "everyone", config };
const bucket: HttpLimit = {
  limit: "bucket",
  by: "everyone",
  config: { kind: "token bucket", rate: 9, period: 9 * SECOND },
};

describe.each<[string, PlaceName]>([
  ["your tables", "tables"],
  ["the component", "component"],
])("in %s", (_, place) => {
  it("t is when the next is served once r is spent, and at least the time in which r comes back", async () => {
    const send = serve({ limits: sliding, place });
    const told: (string | null)[] = [];
    for (const pause of [0, 3, 3, 3, 3, 8, 3, 3]) {
      pass(pause * SECOND);
      told.push((await send()).headers.get("RateLimit"));
    }
    expect(told).toEqual([
      // Only what was taken just now is missing: it comes back after the period.
      '"sliding";r=4;t=20',
      '"sliding";r=3;t=17',
      '"sliding";r=2;t=14',
      '"sliding";r=1;t=11',
      '"sliding";r=0;t=8',
      '"sliding";r=0;t=3',
      '"sliding";r=0;t=3',
      '"sliding";r=0;t=3',
    ]);
  });

  it("what r brings back in counts where the next comes sooner", async () => {
    const send = serve({ limits: sliding, place });
    await send();
    pass(15 * SECOND);
    await send();
    // In 5 s the first is back; three tokens take 12 s.
    expect((await send()).headers.get("RateLimit")).toBe('"sliding";r=2;t=8');
    pass(6 * SECOND);
    expect((await send()).headers.get("RateLimit")).toBe('"sliding";r=2;t=14');
  });

  it("a request of several tokens waits for as many, and a fraction of a token for none", async () => {
    const limits = { ...sliding, config: { ...config, rate: 5.5 }, cost: 2 } as HttpLimit;
    const send = serve({ limits, place });
    expect((await send()).headers.get("RateLimit")).toBe('"sliding";r=3;t=20');
    pass(5 * SECOND);
    expect((await send()).headers.get("RateLimit")).toBe('"sliding";r=1;t=15');
    const half = serve({ limits: { ...limits, cost: 0.5 }, place });
    for (let i = 0; i < 9; i++) await half();
    expect((await half()).headers.get("RateLimit")).toBe('"sliding";r=0;t=0');
    expect((await half()).headers.get("RateLimit")).toBe('"sliding";r=0;t=20');
  });

  it("a request that takes nothing, of a full window, says that what is spent comes back a period later", async () => {
    const send = serve({ limits: { ...sliding, cost: 0 }, place });
    expect((await send()).headers.get("RateLimit")).toBe('"sliding";r=5;t=20');
    const larger = serve({
      limits: { ...sliding, config: { ...config, rate: 5.5 }, cost: 0 },
      place,
    });
    expect((await larger()).headers.get("RateLimit")).toBe('"sliding";r=5;t=20');
  });

  it("of several limits each says its own, and a denial the exact wait", async () => {
    const other: HttpLimit = { limit: "other", by: "everyone", config: { ...config, rate: 3 } };
    const send = serve({ limits: [bucket, sliding, other], place });
    expect((await send()).headers.get("RateLimit")).toBe('"other";r=2;t=20, "sliding";r=4;t=20, "bucket";r=8;t=8');
    pass(4 * SECOND);
    expect((await send()).headers.get("RateLimit")).toBe('"other";r=1;t=16, "sliding";r=3;t=16, "bucket";r=8;t=8');
    await send();
    expect((await send()).headers.get("Retry-After")).toBe("16");
  });

  it("is told in every format", async () => {
    const told = async (formats: ("draft-6" | "draft-7" | "x")[], field: string) => {
      const send = serve({ limits: sliding, place, formats });
      await send();
      pass(4500);
      return (await send()).headers.get(field);
    };
    expect(await told(["draft-6"], "RateLimit-Reset")).toBe("16");
    expect(await told(["draft-7"], "RateLimit")).toBe("limit=5, remaining=3, reset=16");
    const before = Date.now();
    expect(await told(["x"], "X-RateLimit-Reset")).toBe(String((before + 20 * SECOND) / 1000));
  });

  it("after a refund it is what is left then", async () => {
    const send = serve({ limits: { ...sliding, refund: "failed" }, place }, (_ctx, request) =>
      Promise.resolve(new Response(null, { status: request.url.endsWith("/fail") ? 500 : 200 })),
    );
    expect((await send("/fail")).headers.get("RateLimit")).toBe('"sliding";r=5;t=20');
    expect((await send()).headers.get("RateLimit")).toBe('"sliding";r=4;t=20');
    pass(6 * SECOND);
    expect((await send("/fail")).headers.get("RateLimit")).toBe('"sliding";r=4;t=16');
  });
});

it("without renewsAt, t is the period; rateLimitHeaders reckons from the time of the answer", async () => {
  let limited: readonly LimitedBy[] = [];
  const send = serve({ limits: sliding }, (_ctx, _request, limits) => {
    limited = limits;
    return Promise.resolve(new Response(null));
  });
  await send();
  pass(12 * SECOND);
  await send();
  const told = (now: number) => rateLimitHeaders(limited, { now })["RateLimit"];
  expect(told(START + 12 * SECOND)).toBe('"sliding";r=3;t=12');
  // The first is back after 20 s. Three tokens take 12 s to come back, whenever they are spent.
  expect(told(START + 7 * SECOND)).toBe('"sliding";r=3;t=13');
  expect(told(START + 30 * SECOND)).toBe('"sliding";r=3;t=12');
  const without = limited.map((limit) => {
    const status = { ...limit.status };
    delete status.renewsAt;
    return { ...limit, status };
  });
  expect(rateLimitHeaders(without, { now: START + 12 * SECOND })["RateLimit"]).toBe('"sliding";r=3;t=20');
});
