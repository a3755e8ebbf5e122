// @vitest-environment edge-runtime
/**
 * Answers without the handler. An error in a request or in the app's own functions is no outage of the limiter, so `onError: "open"` never
 * serves the request. Denials have the body, status and headers that the app chooses.
 */
import { SECOND } from "convex-rate-limits";
import { custom, fromQuery, type HttpDenial } from "convex-rate-limits/http";
import { expect, it, vi } from "vitest";
import { show } from "../../src/engine/misuse.js";
import type { Answer, Step, Story, Way } from "./backend.js";
import { forAll, serve, START, tell, tokens, useClock } from "./backend.js";

useClock();

const five = forAll("five", tokens(5, 10 * SECOND));
const broken = () => {
  throw new Error("bug");
};
/** A story in which no limit is asked and the handler does not run, though `onError` is "open" unless `way` says otherwise. */
const refused = (limit: object, answer: Answer, way: Partial<Story> = {}): Story => ({
  limits: { ...five, ...limit },
  onError: "open",
  calls: 0,
  handler: () => Promise.reject(new Error("This must not run.")),
  ...way,
  steps: [["/?size=9", answer]],
});
const failed = (limit: object, report = "bug", way: Partial<Story> = {}) =>
  refused(limit, { status: 500, wait: null, body: { title: "Internal server error" } }, { reports: [report], ...way });
const found = (caller: unknown, report: string) =>
  failed({ by: undefined, config: undefined, identify: () => caller }, report);
const own = (value: unknown) => ({ by: custom("own", () => value as string), without: "deny" });
const detail = "The cost of this request is not a number of at least 0.";
const noCost = { status: 400, body: { status: 400, title: "Bad request", detail } };
const noText = 'The key source "own.own" must give text, got';
const noKey = "identify's key must be a non-empty string";
const notDefined = "is not one of your limits (none is defined); give its config to use it";

/** A story for each of these values. */
const each = (what: string, values: readonly unknown[], tellOf: (value: unknown) => Story): Record<string, Story> =>
  Object.fromEntries(values.map((value) => [`${what} ${show(value)}`, tellOf(value)]));
const noCosts = [NaN, -1, -Infinity, Infinity, "3", null, undefined, {}, 3n];
const noLists = [undefined, null, {}, []];
const noStatuses = [undefined, { retryAt: 5 }, { ok: "yes" }, { ok: false }, { ok: false, retryAt: NaN }];
const noTwoStatuses = [...noLists, ...noStatuses.map((one) => [{ ok: true }, one]), [{ ok: true }]];
/** A story whose answer is sent without the fields of a `cors` that fails. */
const badCors = (cors: () => unknown, report: string) => {
  return refused({ cost: () => NaN }, noCost, { cors: cors as never, reports: [report] });
};
/** A story in which `via` gives an answer that is not that of the limits. */
const answeredBy = (answer: unknown) => {
  const reports = ["The limits must answer with a list of 2 statuses, got"];
  const way = { onError: "closed", calls: 1, runMutation: () => Promise.resolve(answer), reports } as const;
  return refused({}, 503, { ...way, limits: [five, { ...five, limit: "six" }] });
};
/** A story whose handler returns no response. The error says so. */
const returning = (answer: unknown): Story => ({
  limits: five,
  handler: () => Promise.resolve(answer as Response),
  steps: [["", `The handler of limitHttp must return a Response, got ${show(answer)}.`]],
});

tell({
  ...each("a cost is not a number of at least 0:", noCosts, (cost) => refused({ cost: () => cost }, noCost)),
  "a cors that throws is reported": badCors(broken, "bug"),
  "a cors that returns undefined is reported": badCors(() => undefined, "what cors returned must be"),
  "a cors that returns an invalid header is reported": badCors(() => ({ "a b": "1" }), "what cors returned must be"),
  ...each("via answers no list of two statuses but", noTwoStatuses, answeredBy),
  "a key is not well-formed text": refused(own("a\ud800"), 400),
  "cost throws": failed({ cost: broken }),
  "by throws": failed({ by: { keyOf: broken }, without: "deny" }),
  "identify returns an invalid config": found({ key: "ada", config: { ...tokens(-1), capacity: 1 } }, "rate must be"),
  "identify returns slots, which nobody would release": found(
    { key: "ada", config: { kind: "concurrency", slots: 2, lease: SECOND } },
    "limitHttp is for limits with tokens",
  ),
  "identify throws": failed({ by: undefined, config: undefined, identify: broken }),
  "when throws": failed({ when: broken }),
  "when returns nothing": refused({ when: () => undefined, cost: () => NaN }, noCost),
  "skip throws": failed({}, "bug", { skip: broken }),
  "skip returns a text": refused({ cost: () => NaN }, noCost, { skip: (() => "no") as never }),
  "identify gives a misspelt field": found(
    { key: "ada", confg: five.config },
    '"confg" is not a field of what identify',
  ),
  "identify finds nothing": found(undefined, noKey),
  "identify finds no config": found({ key: "ada" }, notDefined),
  "identify finds no key": found({ config: five.config }, `${noKey}, or left out with`),
  "identify finds an empty key": found({ key: "", config: five.config }, noKey),
  "identify finds an id that is a number": found({ key: 7, config: five.config }, noKey),
  ...each("a source finds", [undefined, null, ""], (value) => refused(own(value), 403)),
  ...each("a source gives no text but", [7, {}, true], (value) => failed(own(value), noText)),
  "the handler's error is thrown: no outage": { limits: five, onError: "open", calls: 1, steps: [["/throw", "bug"]] },
  "a cost within a rounding error of the capacity is no outage": {
    limits: { ...five, config: tokens(1, SECOND, 1 / 3), cost: fromQuery("size", { default: 0.1, min: 0 }) },
    onError: "open",
    // The second cost is below the capacity in tokens, but not in units: counts are rounded up, capacities down.
    steps: ["/?size=0.33333 200", "/?size=0.3333333332031 403", "/?size=0.3333333333333333 429", "/?size=0.33331 429"],
  },
  ...each("a handler returns no response but", [undefined, null, "text"], returning),
});

const once = forAll("once", tokens(1, 7 * SECOND));
const roomy = forAll("roomy", tokens(9, SECOND));

/** A story whose second request is denied. The denial always has these fields. */
const denied = (way: Omit<Way, "limits">, answer: object, reports: string[] = []): Story => {
  const step: Step = ["", { wait: "7", left: '"once";r=0;t=7, "roomy";r=8;t=1', ...answer }];
  return { limits: [roomy, once], ...way, steps: ["200", step], reports };
};
const problem = { "Content-Type": "application/problem+json" };
const words = { title: "Too many requests", "violated-policies": ["once"] };
const fails = (what: string) => () => Promise.reject(new Error(what));
const redirect = ({ retryAfter }: HttpDenial) =>
  Promise.resolve(new Response(null, { status: 302, headers: { Location: `/wait/${String(retryAfter)}` } }));

tell({
  "onDenied may return the whole response, and the fields are added to it": denied(
    { onDenied: redirect, cors: new Headers({ "X-Cors": "1" }) as never },
    { status: 302, Location: "/wait/7", "X-Cors": "1" },
  ),
  "an onDenied that fails is reported, and the client gets the same answer": denied(
    { onDenied: fails("no log") },
    { ...problem, body: words },
    ["no log"],
  ),
});

it("onDenied is called for each denial, and for no other request", async () => {
  const onDenied = vi.fn(() => "not a response");
  // @ts-expect-error: the text would not be sent.
  const send = serve({ limits: [roomy, once], onDenied });
  await send();
  expect(onDenied).not.toHaveBeenCalled();
  await send("/a");
  const limit = { name: "once", count: 1, status: expect.objectContaining({ ok: false }) as object };
  const denial = {
    ctx: expect.any(Object) as object,
    request: expect.objectContaining({ url: "https://some.convex.site/a" }) as Request,
    limits: [expect.objectContaining(limit)],
    retryAt: START + 7 * SECOND,
    retryAfter: 7,
  };
  expect(onDenied.mock.calls).toEqual([[denial]]);
});
