/** Of a sliding window, a status does not say when tokens come back; the wrapper reads it with a query beside the call. */
import { type RateLimitConfig, SECOND } from "convex-rate-limits";
import {
  type Consume,
  everyone,
  fixed,
  type HttpLimit,
  inComponent,
  type LimitRequest,
  rateLimitHeaders,
  type LimitedBy,
} from "convex-rate-limits/http";
import { describe, expect, it, vi } from "vitest";
import { component } from "../support/places.js";
import { consumeIn, pass, serve, START, useClock } from "./backend.js";

useClock();

const config: RateLimitConfig = { kind: "sliding window", rate: 5, period: 20 * SECOND };
const sliding: HttpLimit = { name: "sliding", key: everyone, config };
const bucket: HttpLimit = {
  name: "bucket",
  key: everyone,
  config: { kind: "token bucket", rate: 9, period: 9 * SECOND },
};

/** The same, and which limits its query is asked for. */
function watched(consume: Consume) {
  const reads = vi.fn((requests: LimitRequest[]) => requests.map(({ name }) => name));
  const snapshots: Consume["snapshots"] = async (ctx, requests) => {
    reads(requests);
    return (await consume.snapshots?.(ctx, requests)) ?? [];
  };
  const take: Consume = (ctx, requests) => consume(ctx, requests);
  const read = () => reads.mock.results.map(({ value }) => value as string[]);
  return { consume: Object.assign(take, consume, { snapshots }) as Consume, read };
}

describe.each<[string, Consume]>([
  ["your tables", consumeIn("tables")],
  ["the component", inComponent(component)],
])("in %s", (_, ofPlace) => {
  it("t is when the next is served once r is spent, and at least the time in which r comes back", async () => {
    const send = serve({ limits: sliding, consume: ofPlace });
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
    const send = serve({ limits: sliding, consume: ofPlace });
    await send();
    pass(15 * SECOND);
    await send();
    // In 5 s the first is back; three tokens take 12 s.
    expect((await send()).headers.get("RateLimit")).toBe('"sliding";r=2;t=8');
    pass(6 * SECOND);
    expect((await send()).headers.get("RateLimit")).toBe('"sliding";r=2;t=14');
  });

  it("a request of several tokens waits for as many, and a fraction of a token for none", async () => {
    const limits = { ...sliding, config: { ...config, rate: 5.5 }, cost: fixed(2) } as HttpLimit;
    const send = serve({ limits, consume: ofPlace });
    expect((await send()).headers.get("RateLimit")).toBe('"sliding";r=3;t=20');
    pass(5 * SECOND);
    expect((await send()).headers.get("RateLimit")).toBe('"sliding";r=1;t=15');
    const half = serve({ limits: { ...limits, cost: fixed(0.5) }, consume: ofPlace });
    for (let i = 0; i < 9; i++) await half();
    expect((await half()).headers.get("RateLimit")).toBe('"sliding";r=0;t=0');
    expect((await half()).headers.get("RateLimit")).toBe('"sliding";r=0;t=20');
  });

  it("a request that takes nothing, of a full window, says that what is spent comes back a period later", async () => {
    const send = serve({ limits: { ...sliding, cost: fixed(0) }, consume: ofPlace });
    expect((await send()).headers.get("RateLimit")).toBe('"sliding";r=5;t=20');
  });

  it("is read once for an allowed answer, and for limits that need it", async () => {
    const { consume, read } = watched(ofPlace);
    const other: HttpLimit = { ...sliding, name: "other", config: { ...config, rate: 3 } };
    const send = serve({ limits: [bucket, sliding, other], consume });
    expect((await send()).headers.get("RateLimit")).toBe('"other";r=2;t=20, "sliding";r=4;t=20, "bucket";r=8;t=8');
    pass(4 * SECOND);
    expect((await send()).headers.get("RateLimit")).toBe('"other";r=1;t=16, "sliding";r=3;t=16, "bucket";r=8;t=8');
    expect(read()).toEqual([
      ["sliding", "other"],
      ["sliding", "other"],
    ]);
  });

  it("nothing is read for a denial, whichever limit denied: Retry-After is the exact wait", async () => {
    const { consume, read } = watched(ofPlace);
    const send = serve({ limits: [sliding, { ...bucket, cost: fixed(2) }], consume, formats: ["draft-6", "x"] });
    for (let i = 0; i < 4; i++) expect((await send()).status).toBe(200);
    expect(read()).toHaveLength(4);
    const denied = await send();
    expect([denied.status, denied.headers.get("Retry-After")]).toEqual([429, "1"]);
    pass(5 * SECOND);
    await send();
    pass(3 * SECOND);
    const full = await send();
    expect([full.status, full.headers.get("Retry-After"), full.headers.get("RateLimit-Reset")]).toEqual([
      429,
      "12",
      "12",
    ]);
    expect(read()).toHaveLength(5);
  });

  it("is told in every format", async () => {
    const told = async (formats: ("draft-6" | "draft-7" | "x")[], field: string) => {
      const send = serve({ limits: sliding, consume: ofPlace, formats });
      await send();
      pass(4500);
      return (await send()).headers.get(field);
    };
    expect(await told(["draft-6"], "RateLimit-Reset")).toBe("16");
    expect(await told(["draft-7"], "RateLimit")).toBe("limit=5, remaining=3, reset=16");
    const before = Date.now();
    expect(await told(["x"], "X-RateLimit-Reset")).toBe(String((before + 20 * SECOND) / 1000));
  });

  it("is read again after a refund, for what is left then", async () => {
    const { consume, read } = watched(ofPlace);
    const send = serve({ limits: sliding, consume, refund: "failed" }, (_ctx, request) =>
      Promise.resolve(new Response(null, { status: request.url.endsWith("/fail") ? 500 : 200 })),
    );
    expect((await send("/fail")).headers.get("RateLimit")).toBe('"sliding";r=5;t=20');
    expect((await send()).headers.get("RateLimit")).toBe('"sliding";r=4;t=20');
    pass(6 * SECOND);
    expect((await send("/fail")).headers.get("RateLimit")).toBe('"sliding";r=4;t=16');
    expect(read()).toHaveLength(5);
  });

  it("nothing is read of a limit in shadow, which tells nothing", async () => {
    const { consume, read } = watched(ofPlace);
    const send = serve({ limits: { ...sliding, config: { ...config, mode: "shadow" } } as HttpLimit, consume });
    expect((await send()).headers.has("RateLimit")).toBe(false);
    expect(read()).toEqual([]);
  });

  it("on several rows it is the same", async () => {
    const split = { kind: "sliding window", rate: 1000, period: 1000 * SECOND, shards: { atLeast: 8 } } as const;
    const send = serve({ limits: { ...sliding, config: split, cost: fixed(100) }, consume: ofPlace });
    const told: (string | null)[] = [];
    for (let i = 0; i < 10; i++) {
      if (i > 0) pass(50 * SECOND);
      told.push((await send()).headers.get("RateLimit"));
    }
    // The first is back after 1000 s.
    const left = (r: number) => `"sliding";r=${r};t=${550 + r / 2}`;
    expect(told).toEqual([900, 800, 700, 600, 500, 400, 300, 200, 100, 0].map(left));
  });
});

it("without the query, t is the period: by an option, without snapshots, and where it fails", async () => {
  const report = vi.fn();
  const failing = Object.assign(consumeIn("tables").bind(undefined), {
    snapshots: () => Promise.reject(new Error("no query")),
  });
  const { consume, read } = watched(consumeIn("tables"));
  const ways = [
    { consume, remaining: "omit" as const },
    { consume: consumeIn("tables").bind(undefined) },
    { consume: failing, report },
  ];
  for (const way of ways) {
    const send = serve({ limits: sliding, ...way });
    for (let left = 4; left >= 0; left--) {
      expect((await send()).headers.get("RateLimit")).toBe(`"sliding";r=${left};t=20`);
      pass(SECOND);
    }
  }
  expect(read()).toEqual([]);
  expect(report).toHaveBeenCalledTimes(5);
});

it("rateLimitHeaders takes a snapshot of the app's own, and reckons from the moment of the answer", async () => {
  let limited: readonly LimitedBy[] = [];
  const send = serve({ limits: sliding, consume: consumeIn("tables") }, (_ctx, _request, limits) => {
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
  const [{ snapshot, ...without } = {} as LimitedBy] = limited;
  expect(snapshot?.name).toBe("sliding");
  expect(rateLimitHeaders(without, { now: START + 12 * SECOND })["RateLimit"]).toBe('"sliding";r=3;t=20');
});
