// @vitest-environment edge-runtime
import { type RateLimitConfig, SECOND } from "convex-rate-limits";
import { fromQuery, type HttpLimit } from "convex-rate-limits/http";
import { describe, expect, it, vi } from "vitest";
import { placeNames } from "../support/places.js";
import type { Answer, Step, Story, Way } from "./backend.js";
import { byUser, forAll, openApp, pass, serve, START, tell, times, tokens, useClock, wrap } from "./backend.js";

useClock();

const perUser: HttpLimit = { limit: "user", by: byUser, without: "deny", config: tokens(5, SECOND, 10) };
const twice = tokens(2, 10 * SECOND);
const all = forAll("all", tokens(3));
const each: HttpLimit = { ...perUser, limit: "each", config: twice };
const hot = forAll("hot", { ...tokens(1000, 1000 * SECOND), shards: { atLeast: 8 } }, { cost: 100 });
const hotPolicies = '"all";q=90;w=90, "hot";q=1000;w=1000';
const bothPolicies = '"all";q=3;w=60, "each";q=2;w=10';
const asAda = { headers: { "X-User": "ada" } };

tell(
  {
    // If Ada's third request were charged to "all", nothing would be left for Grace.
    "several limits are charged together or not at all": {
      limits: [all, each],
      steps: [
        ...times(2, "ada 200"),
        "ada 429",
        ["grace", { left: '"all";r=0;t=60, "each";r=1;t=5' }],
        [
          "grace",
          {
            wait: "20",
            left: '"all";r=0;t=60, "each";r=1;t=5',
            policy: bothPolicies,
            body: { "violated-policies": ["all"] },
          },
        ],
      ],
    },
    // A call does not read all rows of the hot limit, so it does not know what is left.
    "a limit on several rows sends its policy alone, and its whole state with a denial": {
      limits: [{ ...all, config: tokens(90, 90 * SECOND) }, hot],
      steps: [
        ...times(10, ["", { policy: hotPolicies, left: expect.stringContaining('"all";r=') as string }]),
        ["", { wait: "100", policy: hotPolicies, left: '"hot";r=0;t=1000, "all";r=80;t=10' }],
      ],
    },
  },
  placeNames,
);

const reports: HttpLimit = {
  limit: "reports",
  identify: (_ctx, request) => {
    const key = request.headers.get("X-User") ?? "nobody";
    const period = request.url.includes("/slow") ? 100 * SECOND : 10 * SECOND;
    return { key, config: tokens(key === "pro" ? 100 : 10, period) };
  },
  cost: fromQuery("size", { default: 2, min: 1, max: 50 }),
};
const when = ({ request }: { request: Request }) => request.method === "POST";
const writes: HttpLimit = { ...perUser, limit: "writes", config: tokens(1, 10 * SECOND), when };
const EXPOSED = "Access-Control-Expose-Headers";
const HERE = "https://some.convex.site";
const elevenExposed = "ratelimit, ratelimit-policy, retry-after";
const exposed = "ratelimit-limit, ratelimit-policy, ratelimit-remaining, ratelimit-reset";
const origin = (request: Request) => ({ "Access-Control-Allow-Origin": new URL(request.url).origin, Vary: "Origin" });
const refusing = (status: number): Record<string, Story> => ({
  [`a request without a key gets ${status} if the options say so, and no limit is charged`]: {
    limits: [all, { ...perUser, without: { status, headers: { "WWW-Authenticate": "Basic" } } }],
    calls: 1,
    steps: [
      ["", { status, "WWW-Authenticate": "Basic", "Content-Type": "application/problem+json" }],
      ["ada", { left: '"all";r=2;t=20, "user";r=9;t=1' }],
    ],
  },
});
const tooMuch = { detail: "This request takes 11 of a quota of 10.", "violated-policies": ["reports"] };
const both = '"user";q=10;w=2, "writes";q=1;w=10';

tell({
  "scripts of other origins can read every answer, including refusals": {
    limits: { ...each, config: tokens(2, 10 * SECOND, 1) },
    cors: origin,
    formats: ["draft-6"],
    steps: [
      ["ada", { [EXPOSED]: exposed }],
      ["ada", { status: 429, "Access-Control-Allow-Origin": HERE, [EXPOSED]: `${exposed}, retry-after` }],
      ["", { status: 403, Vary: "Origin" }],
    ],
  },
  "a denial adds the fields that it exposes, and its Vary, to those of cors": {
    limits: { ...each, config: tokens(2, 10 * SECOND, 1) },
    cors: { "access-control-expose-headers": "X-Request-Id, Retry-After", Vary: "Origin" },
    onDenied: () => new Response("Later", { status: 429, headers: { Vary: "Accept" } }),
    steps: ["ada 200", ["ada", { status: 429, [EXPOSED]: `${elevenExposed}, X-Request-Id`, Vary: "Accept, Origin" }]],
  },
  ...refusing(400),
  ...refusing(401),
  ...refusing(403),
  "a request without a key shares one bucket with all others that have none": {
    limits: { ...each, without: "share" },
    steps: [...times(2, ["", { body: [{ key: "shared" }] }]), "429", "anonymous 200", "shared 200"],
  },
  "config and cost come from the request": {
    limits: reports,
    steps: [
      ["free /?size=4", { left: '"reports";r=6;t=4' }],
      ["pro /?size=4", { left: '"reports";r=96;t=1' }],
      ["free /slow?size=0", { policy: '"reports";q=10;w=100' }],
      ["free /?size=junk", { status: 400, left: null }],
      ["free /?size=9", { wait: "4" }],
    ],
  },
  "a cost that the limit can never hold is refused without a Retry-After, and nothing is charged": {
    limits: [all, reports],
    steps: [
      ["free /?size=11", { status: 403, wait: null, body: tooMuch }],
      ["free /?size=10", { left: '"reports";r=0;t=10, "all";r=2;t=20' }],
    ],
  },
  "a cost that the limit can never hold is a denial: onDenied is told, and may answer": {
    limits: reports,
    onDenied: ({ limits: [limited], retryAt }) =>
      Response.json({ reason: limited?.status.ok === false && limited.status.reason, retryAt }, { status: 413 }),
    steps: [["free /?size=11", { status: 413, wait: null, body: '{"reason":"too large"}' }]],
  },
  "a preflight is not counted, and never reaches the handler: it gets 204 and the fields of cors": {
    limits: perUser,
    cors: origin,
    handler: () => Promise.reject(new Error("This must not run.")),
    calls: 0,
    steps: times(20, [
      "OPTIONS",
      { status: 204, body: "", "Access-Control-Allow-Origin": HERE, left: null, policy: null, [EXPOSED]: null },
    ]),
  },
  "a function decides which requests are skipped: their handler runs, also for OPTIONS": {
    calls: 3,
    limits: each,
    skip: ({ url }) => Promise.resolve(new URL(url).pathname === "/health"),
    steps: [
      ...times(5, ["ada /health", { body: [] }]),
      ...times(2, "ada 200"),
      "ada 429",
      "OPTIONS 204",
      ["OPTIONS /health", { body: [] }],
    ],
  },
  "a HEAD request counts: the GET handler runs": { limits: each, steps: [...times(2, "ada HEAD 200"), "ada HEAD 429"] },
  "a limit may apply to some requests only": {
    limits: [perUser, writes],
    steps: [["ada", { policy: '"user";q=10;w=2' }], ["ada POST", { policy: both }], "ada POST 429", "ada 200"],
  },
  // The first denial is decided 9,900 ms before the token arrives, and sent 9,840 ms before.
  "a denial's wait counts from the time it is sent, however long the limits take to answer": {
    limits: { ...all, config: tokens(1, 10 * SECOND) },
    runMutation: async (call) => {
      pass(40);
      const answer = await call();
      pass(60);
      return answer;
    },
    steps: ["200", ["", { wait: "10" }], 841, ["", { wait: "9" }]],
  },
  "the fields count from the time the handler ends": {
    limits: { ...all, config: tokens(1) },
    handler: () => {
      pass(30 * SECOND);
      return Promise.resolve(new Response("a report"));
    },
    steps: [["", { left: '"all";r=0;t=30' }]],
  },
  "a request to which no limit applies passes": { limits: writes, calls: 0, steps: [["", { policy: null }]] },
});

const down = () => Promise.reject(new Error("down"));
let asked = 0;

tell({
  "if the limits cannot be asked, no request is served, and the error is reported": {
    limits: perUser,
    runMutation: down,
    cors: () => Promise.resolve({ "X-Cors": "1" }),
    steps: [["ada", { status: 503, wait: "10", "X-Cors": "1", body: { title: "Service unavailable", status: 503 } }]],
    reports: ["down"],
  },
  "jitter spreads the times at which callers return, over 10 to 20 s, also if the limits cannot be asked": {
    limits: { ...perUser, config: tokens(1, 10 * SECOND) },
    runMutation: async (call) => (asked++ < 2 ? await call() : await down()),
    jitter: 1,
    steps: [
      () => Promise.resolve(vi.spyOn(Math, "random").mockReturnValue(0.95)),
      "ada 200",
      ["ada", { wait: "20" }],
      ["ada", { status: 503, wait: "20" }],
    ],
    reports: ["down"],
  },
});

it.each<[string, number, object, string]>([
  ["the error is logged if there is no report", 503, {}, "The rate limits of a request could not be checked."],
  ["a report that fails changes no answer", 200, { onError: "open", report: down }, "The report of a failed rate"],
])("if the limits cannot be asked, %s", async (_, status, way, logged) => {
  const log = vi.spyOn(console, "error").mockReturnValue();
  expect((await serve({ limits: perUser, runMutation: down, ...way })("/", asAda)).status).toBe(status);
  expect(log).toHaveBeenCalledExactlyOnceWith(expect.stringContaining(logged), expect.any(Error));
});

describe("the handler's response", () => {
  const answered = async (response: Response) =>
    await serve({ limits: perUser }, () => Promise.resolve(response))("/", asAda);
  const LEFT = '"user";r=9;t=1';

  it("keeps the handler's status, headers and body", async () => {
    const headers: [string, string][] = [
      ["X-Own", "1"],
      ["RateLimit-Policy", '"own";q=1'],
      ["RateLimit", "in no known format, so it is not sent"],
      ["Set-Cookie", "a=1"],
      ["Set-Cookie", "b=2"],
      [EXPOSED, "X-Own, ratelimit"],
    ];
    const response = await answered(new Response("made", { status: 201, statusText: "Made", headers }));
    expect([response.status, response.statusText, await response.text()]).toEqual([201, "Made", "made"]);
    expect([...response.headers]).toEqual([
      ["access-control-expose-headers", "X-Own, ratelimit, ratelimit-policy"],
      ["content-type", "text/plain;charset=UTF-8"],
      ["ratelimit", LEFT],
      ["ratelimit-policy", '"own";q=1, "user";q=10;w=2'],
      ["set-cookie", "a=1"],
      ["set-cookie", "b=2"],
      ["x-own", "1"],
    ]);
  });

  it("may have immutable headers, or no body", async () => {
    const redirect = await answered(Response.redirect("https://api.example/elsewhere", 302));
    expect([redirect.status, redirect.headers.get("Location")]).toEqual([302, "https://api.example/elsewhere"]);
    expect(redirect.headers.get("RateLimit")).toBe(LEFT);
    // A wait alone is no denial by a limiter.
    for (const [status, headers] of [
      [204, {}],
      [599, { "Retry-After": "5" }],
    ] as const) {
      const empty = await answered(new Response(null, { status, statusText: "Done", headers }));
      expect([empty.status, empty.statusText, empty.headers.get("RateLimit")]).toEqual([status, "Done", LEFT]);
    }
    expect((await answered(Response.error())).type).toBe("error");
    for (const value of [600, 999]) {
      const strange = Object.defineProperty(Response.error(), "status", { value });
      expect((await answered(strange)).status).toBe(value);
    }
    const fetched = await fetch("data:text/plain,fetched");
    expect(() => {
      fetched.headers.set("X-Own", "1");
    }).toThrow("immutable");
    const response = await answered(fetched);
    expect([response.headers.get("RateLimit"), await response.text()]).toEqual([LEFT, "fetched"]);
  });

  it("is the same object if it has a body, since a copy would lose its length on Convex", async () => {
    let response = new Response("made", { headers: { "X-Own": "1" } });
    const action = wrap({ limits: perUser }, () => Promise.resolve(response));
    const { t } = openApp({ limits: perUser });
    const send = async () =>
      await t.action(async (ctx) => {
        const { headers } = await action(ctx, new Request("https://api.example/", asAda));
        return [headers.get("X-Own"), headers.get("RateLimit")];
      });
    expect(await send()).toEqual(["1", '"user";r=9;t=1']);
    expect(response.headers.get("RateLimit")).toBe('"user";r=9;t=1');
    // A handler may return one response without a body many times, so that response is not changed.
    response = new Response(null, { status: 204, headers: { "X-Own": "2" } });
    expect(await send()).toEqual(["2", '"user";r=8;t=1']);
    expect(await send()).toEqual(["2", '"user";r=7;t=1']);
    expect([...response.headers.keys()]).toEqual(["x-own"]);
  });
});

const inner: HttpLimit = { ...perUser, limit: "inner", config: tokens(100, 100 * SECOND) };
const outer: HttpLimit = { ...each, limit: "outer" };
/** A story in which the second limiter is the handler of the first. */
const nested = (a: Way, b: Way, answer: Answer, upstream: Record<string, string> = {}): Story => {
  const handler = wrap(b, () => Promise.resolve(new Response("made", { headers: upstream })));
  return { ...a, handler, steps: [["ada", answer]] };
};
/** Stories: the tighter limit is sent, whether its limiter is the outer or the inner one, and whatever an upstream sends in another format. */
const tighter = (formats: NonNullable<Way["formats"]>, answer: Answer): Record<string, Story> => {
  const [a, b] = [outer, inner].map((limits) => ({ limits, formats })) as [Way, Way];
  const [format] = formats;
  return {
    [`${format} sends the tighter limit if it is outside`]: nested(a, b, answer),
    [`${format} sends the tighter limit if it is inside`]: nested(b, a, answer),
    ...(format !== "x" && {
      [`${format} sends the outer limit if an upstream has none left in X`]: nested(a, b, answer, leftInX("0")),
      [`${format} sends the inner limit if an upstream has more left in X`]: nested(b, a, answer, leftInX("500")),
    }),
  };
};
const leftInX = (remaining: string) => ({ "X-RateLimit-Remaining": remaining });
/** A story of an upstream that has fewer tokens left than the limits, or as many. */
const upstreamHas = (left: string): Record<string, Story> => ({
  [`x sends no reset of its own beside what an upstream has left: ${left}`]: nested(
    { limits: outer, formats: ["x"] },
    { limits: inner, formats: ["x"] },
    { ...leftInX(left), "X-RateLimit-Reset": null },
    leftInX(left),
  ),
});
/** A story of a denial that already has a Retry-After: the later one is sent. */
const later = (given: string, sent: string): Story => ({
  limits: { ...outer, config: tokens(1, 7 * SECOND) },
  formats: ["x"],
  onDenied: () => new Response("Later", { status: 429, headers: { "Retry-After": given, ...leftInX("5") } }),
  steps: ["ada 200", ["ada", { wait: sent, "X-RateLimit-Remaining": "0" }]],
});
type Format = NonNullable<Way["formats"]>[0];
/** A story in which the inner limit denies, and the outer one has fewer tokens left. */
const deniedInside = (format: Format, answer: object, inside = format): Story => {
  const way = (limits: HttpLimit): Way => ({ limits, formats: [limits === outer ? format : inside] });
  const steps: Step[] = ["ada 200", ["ada", { wait: "20", ...answer }]];
  return { ...nested(way(outer), way({ ...inner, cost: 60 }), 200), steps };
};
const date = (ms: number) => new Date(START + ms).toUTCString();

tell({
  "nested limiters both send their limits, since the fields are lists": nested(
    { limits: { ...outer, limit: 'a",b' } },
    { limits: { ...inner, limit: 'a",c' } },
    { policy: '"a\\",c";q=100;w=100, "a\\",b";q=2;w=10', left: '"a\\",c";r=99;t=1, "a\\",b";r=1;t=5' },
  ),
  ...tighter(["x"], { "X-RateLimit-Remaining": "1" }),
  ...upstreamHas("0"),
  ...upstreamHas("1"),
  ...tighter(["draft-6"], { "RateLimit-Remaining": "1" }),
  ...tighter(["draft-7"], { left: "limit=2, remaining=1, reset=5" }),
  "x sends the inner limit if both have the same number left": nested(
    { limits: outer, formats: ["x"] },
    { limits: { ...inner, config: tokens(2, 40 * SECOND) }, formats: ["x"] },
    { "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": String(START / SECOND + 20) },
  ),
  "draft-11 within draft-7 sends the tighter limit, since the two formats do not form one list": nested(
    { limits: outer, formats: ["draft-7"] },
    { limits: inner },
    { left: "limit=2, remaining=1, reset=5" },
  ),
  "after a denial inside, both send their limits, and the wait is the inner one's": deniedInside("draft-11", {
    left: '"inner";r=40;t=60, "outer";r=0;t=10',
    policy: '"inner";q=100;w=100, "outer";q=2;w=10',
  }),
  "after a denial inside, x sends the tighter limit": deniedInside("x", { "X-RateLimit-Remaining": "0" }),
  "a shorter Retry-After is not sent": later("3", "7"),
  "a longer Retry-After is sent": later("9", "9"),
  "an earlier date is not sent": later(date(3000), "7"),
  "a later date is sent": later(date(9000), date(9000)),
  "an invalid Retry-After is not sent": later("soon", "7"),
});

const slides: RateLimitConfig = { kind: "sliding window", rate: 5, period: 20 * SECOND };
const sliding = forAll("sliding", slides);
const bucket = forAll("bucket", tokens(9, 9 * SECOND));
const other = forAll("other", { ...slides, rate: 3 });
const sizeOf = ({ url }: Request) => Number(new URL(url).searchParams.get("size") ?? 1);
/** A request whose answer says what is left of the sliding window. */
const left = (state: string, path = ""): Step => {
  return [path, { status: path.startsWith("/500") ? 500 : 200, left: `"sliding";${state}` }];
};

tell(
  {
    "t is the time until the window holds all of its tokens again": {
      limits: sliding,
      steps: [
        ...["r=4;t=20", "r=3;t=20", "r=2;t=20", "r=1;t=20", "r=0;t=20"].flatMap((state) => [left(state), 3 * SECOND]),
        5 * SECOND,
        left("r=0;t=20"),
      ],
    },
    "each of several limits sends its own t, and a denial sends the exact wait": {
      limits: [bucket, sliding, other],
      steps: [
        ["", { left: '"other";r=2;t=20, "sliding";r=4;t=20, "bucket";r=8;t=1' }],
        4 * SECOND,
        ["", { left: '"other";r=1;t=20, "sliding";r=3;t=20, "bucket";r=8;t=1' }],
        "200",
        ["", { wait: "16", left: '"other";r=0;t=20, "sliding";r=2;t=20, "bucket";r=7;t=2' }],
      ],
    },
    "after a refund, the fields say what is left then": {
      limits: { ...sliding, refund: "failed" },
      steps: [left("r=5;t=0", "/500"), left("r=4;t=20"), 6 * SECOND, left("r=4;t=14", "/500")],
    },
    "after a refund of three tokens, too": {
      limits: { ...sliding, cost: sizeOf, refund: "failed" },
      steps: [left("r=4;t=20"), 6 * SECOND, left("r=4;t=14", "/500?size=3")],
    },
    // Fault 18: r was 549, so that a client that spends r evenly over t keeps the rate.
    "of a monthly quota, r is what is left": {
      limits: forAll("monthly", { kind: "fixed window", rate: 1000, period: "month" }, { cost: 21 }),
      steps: [["", { policy: '"monthly";q=1000;w=2629746', left: expect.stringContaining('"monthly";r=979;t=') }]],
    },
  },
  placeNames,
);
