// @vitest-environment edge-runtime
/**
 * The behaviours that the test suites of express-rate-limit and hono-rate-limiter check, checked for this package. The table in
 * docs/comparison.md lists those that an option decides, and those that are refused.
 */
import { MINUTE, type RateLimitConfig } from "convex-rate-limits";
import { address, custom, type HttpDenial, type HttpLimit, limitHttp } from "convex-rate-limits/http";
import { expect, it } from "vitest";
import { play, serve, served, START, type Step, type Story, times, useClock, type Way } from "./backend.js";
import { defineIn } from "../support/places.js";

useClock();

const pages = import.meta.glob<string>("../../docs/comparison.md", { query: "?raw", import: "default", eager: true });

/** A window as the suites use it: `rate` requests per `period`, from the first request on. */
const window = (rate: number, period = MINUTE): RateLimitConfig => {
  return { kind: "fixed window", rate, period, start: START };
};
const limitOf = (rate: number, rest: object = {}): HttpLimit => {
  return { limit: "api", by: "everyone", config: window(rate), ...rest };
};
const query = custom("query", (_ctx, request) => new URL(request.url).searchParams.get("key") ?? undefined);
const byQuery = { by: query, without: "deny" } as const;
const sent = { policy: `"1m";q=1;w=60, "api";q=5;w=7200`, left: `"1m";r=0;t=60, "api";r=4;t=7200` };

const policy = "5;w=60";
/** A story in which the first request passes, and the second is denied with this answer. */
const denied = (onDenied: Way["onDenied"], answer: object): Story => {
  return {
    limits: limitOf(1),
    ...(onDenied && { onDenied }),
    steps: ["200", ["", { status: 429, wait: "60", ...answer }]],
  };
};

const behaviours: Record<string, Story | (() => Promise<void> | void)> = {
  "The options object is not changed": () => {
    const options = Object.freeze(limitOf(5));
    const before = Object.entries(options);
    limitHttp(defineIn("component", {}), options as never, served);
    expect(Object.entries(options)).toEqual(before);
  },
  "A denial's body: text, JSON, a function, an asynchronous function": async () => {
    const text = "Enhance your calm";
    const plain = { body: text, "Content-Type": expect.stringMatching(/^text\/plain/) as string };
    const error = { error: { code: "too-many-requests" } };
    const json = { body: error, "Content-Type": "application/json" };
    const status = { status: 429 };
    await play(denied(() => new Response(text, status), plain));
    const say = ({ limits, retryAfter }: HttpDenial) =>
      Promise.resolve(new Response(`${limits[0]?.name}: ${retryAfter} s`, status));
    await play(denied(say, { body: "api: 60 s" }));
    await play(denied(() => Response.json(error, status), json));
  },
  "A denial's status": denied(() => new Response(null, { status: 420 }), { status: 420 }),
  "A key from a function of the request": {
    limits: limitOf(2, byQuery),
    steps: [...times(2, "/?key=1 200"), "/?key=2 200", "/?key=1 429", "/?key=2 200", "/?key=2 429"],
  },
  "A limit from a function of the request, also an asynchronous one": async () => {
    const caller = { key: "ada", config: window(2) };
    for (const identify of [() => caller, () => Promise.resolve(caller)]) {
      await play({ limits: { limit: "api", identify }, steps: [...times(2, "200"), "429"] });
    }
  },
  "`X-RateLimit-*`, with the reset since the epoch": {
    limits: limitOf(5),
    formats: ["x"],
    steps: [["", { "X-RateLimit-Limit": "5", "X-RateLimit-Reset": String(START / 1000 + 60) }]],
  },
  "Draft 6, with its policy": {
    limits: limitOf(5),
    formats: ["draft-6"],
    steps: [["", { policy, "RateLimit-Limit": "5", "RateLimit-Remaining": "4", "RateLimit-Reset": "60" }]],
  },
  "Draft 7, combined": {
    limits: limitOf(5),
    formats: ["draft-7"],
    steps: [["", { policy, left: "limit=5, remaining=4, reset=60" }]],
  },
  "Later drafts: named policies, several limits in one field": {
    limits: [limitOf(1, { limit: "1m" }), limitOf(5, { config: window(5, 7200_000) })],
    steps: [["", sent]],
  },
  "Later drafts: a partition key": () => {
    expect(() => serve({ limits: limitOf(1, { partitionKey: () => "foo" }) })).toThrow("is not a field of limitHttp");
  },
  "Successful requests do not count": {
    limits: limitOf(2),
    refund: "successful",
    steps: [...times(3, "200", "/302 302"), ...times(2, "/400 400"), "429"],
  },
  "A function says which requests do not count, also an asynchronous one": {
    limits: limitOf(1),
    refund: (_response, { url }) => Promise.resolve(url.endsWith("success=1")),
    steps: [...times(2, "/?success=1 200"), "/?success=0 200", "/?success=1 429"],
  },
  "The handler is told the limit and what remains": {
    limits: limitOf(5, { cost: 2 }),
    steps: [3, 1].map((remaining) => {
      return ["", { body: [{ name: "api", count: 2, config: { rate: 5 }, status: { remaining } }] }];
    }),
  },
  "An IPv6 address counts by its subnet, configurable or off; IPv4 in IPv6 is IPv4": async () => {
    const expectAnswers = async (ipv6Prefix: number | false, ...steps: Step[]) => {
      await play({ limits: limitOf(1, { by: address({ header: "X-User", ipv6Prefix }), without: "deny" }), steps });
    };
    await expectAnswers(56, "2001:db8:0:1::1 200", "2001:db8:0:2::1 429", "2001:db8:0:100::1 200");
    await expectAnswers(64, "2001:db8:0:1::1 200", "2001:db8:0:2::1 200");
    await expectAnswers(false, "2001:db8::1 200", "2001:db8::2 200", "2001:db8::1 429");
    await expectAnswers(56, "1.2.3.4 200", "::ffff:1.2.3.4 429");
  },
  "A store that fails stops requests, or lets them pass by choice": async () => {
    const way: Way = { limits: limitOf(1), runMutation: () => Promise.reject(new Error("down")) };
    await play({ ...way, steps: ["503"], reports: ["down"] });
    await play({ ...way, onError: "open", steps: ["200"], reports: ["down"] });
  },
  "A request costs several tokens, also known afterwards": {
    limits: limitOf(5, { cost: 4 }),
    refund: (_response, _request, { count }) => count - 1,
    steps: [...times(2, "200"), "429"],
  },
  "An unknown draft is ignored": () => {
    expect(() => serve({ limits: limitOf(1), formats: ["draft-8" as "draft-7"] })).toThrow("formats must be a list of");
  },
  "Without any header fields there is no `Retry-After` either": {
    limits: limitOf(1),
    formats: [],
    steps: [
      ["", { left: null, policy: null, "Access-Control-Expose-Headers": null }],
      ["", { wait: "60", left: null, policy: null }],
    ],
  },
  "A denied request is given back if failed ones do not count": {
    limits: limitOf(1),
    refund: "failed",
    calls: 3,
    steps: ["200", ...times(2, "429")],
  },
  "Two limiters in a row: the first is charged, although the second denies": {
    limits: [limitOf(3, { limit: "own", ...byQuery }), limitOf(2)],
    steps: [
      "/?key=1 200",
      "/?key=2 200",
      ...times(2, "/?key=1 429"),
      MINUTE,
      ["/?key=1", { left: '"api";r=1;t=60, "own";r=2;t=60' }],
    ],
  },
  "A caller without an address is counted under `undefined`, with a warning": async () => {
    const by = address({ trustedProxies: 1 });
    await play({ limits: limitOf(5, { by, without: "deny" }), steps: ["403"] });
    // @ts-expect-error: without is missing.
    const open: HttpLimit = { limit: "api", by, config: window(5) };
    expect(() => serve({ limits: open })).toThrow('without must be "deny", "share" or');
  },
  "A policy's name from a function of the request": () => {
    expect(() => serve({ limits: limitOf(1, { limit: () => "api" }) })).toThrow("limit must be the name of a limit");
  },
};

it.each(Object.entries(behaviours))("%s", async (_, behaviour) => {
  await (typeof behaviour === "function" ? behaviour() : play(behaviour));
});

it("each row of the page that is held or refused has a test", () => {
  const page = Object.values(pages).join();
  const rows = [...page.matchAll(/^\| ([^|]+?) +\| (held|refused)[^|]*\|$/gm)];
  expect(rows.length).toBeGreaterThan(15);
  expect(Object.keys(behaviours)).toEqual(expect.arrayContaining(rows.map(([, behaviour]) => behaviour)));
});
