// @vitest-environment edge-runtime
/** An error in a request or in the app's own functions is no outage of the limiter, so `onError: "open"` never serves the request. */
import { SECOND } from "convex-rate-limits";
import { custom, fromQuery } from "convex-rate-limits/http";
import { show } from "../../src/engine/misuse.js";
import { type Answer, forAll, type Story, tell, tokens, useClock } from "./backend.js";

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

const costs = [NaN, -1, -Infinity, Infinity, "3", null, undefined, {}, 3n].map(
  (cost, i) =>
    [`a cost is not a number of at least 0 (${i}): ${show(cost)}`, refused({ cost: () => cost }, noCost)] as const,
);
/** A story whose answer is sent without the fields of a `cors` that fails. */
const badCors = (cors: () => unknown, report: string) => {
  return refused({ cost: () => NaN }, noCost, { cors: cors as never, reports: [report] });
};
/** A story in which `via` gives an answer that is not that of the limits. */
const answeredBy = (answer: unknown) => {
  const reports = ["The limits must answer with a list of 1 statuses, got"];
  return refused({}, 503, { onError: "closed", calls: 1, runMutation: () => Promise.resolve(answer), reports });
};
/** A story whose handler returns no response. The error says so. */
const returning = (answer: unknown): Story => ({
  limits: five,
  handler: () => Promise.resolve(answer as Response),
  steps: [["", `The handler of limitHttp must return a Response, got ${show(answer)}.`]],
});

tell({
  ...Object.fromEntries(costs),
  "a cors that throws is reported": badCors(broken, "bug"),
  "a cors that returns undefined is reported": badCors(() => undefined, "what cors returned must be"),
  "a cors that returns an invalid header is reported": badCors(() => ({ "a b": "1" }), "what cors returned must be"),
  "via answers nothing": answeredBy(undefined),
  "via answers null": answeredBy(null),
  "via answers no list": answeredBy({}),
  "via answers too few statuses": answeredBy([]),
  "via answers too many statuses": answeredBy([{ ok: true }, { ok: true }]),
  "via answers an undefined status": answeredBy([undefined]),
  "via answers a status without an answer": answeredBy([{ remaining: 5 }]),
  "via answers a status of another form": answeredBy([{ ok: "yes" }]),
  "via answers a denial without its time": answeredBy([{ ok: false, retryAt: NaN }]),
  "a key is not well-formed text": refused(own("a\ud800"), 400),
  "cost throws": failed({ cost: broken }),
  "by throws": failed({ by: { keyOf: broken }, without: "deny" }),
  "config throws": failed({ config: broken }),
  "config returns an invalid config": failed({ config: () => ({ ...tokens(-1), capacity: 1 }) }, "rate must be"),
  "identify throws": failed({ by: undefined, config: undefined, identify: broken }),
  "when throws": failed({ when: broken }),
  "partitionKey throws": failed({ partitionKey: broken }),
  "partitionKey is a number": failed({ partitionKey: () => 7 }, "text must be a string, got 7"),
  "skip throws": failed({}, "bug", { skip: broken }),
  "identify finds nothing": found(undefined, noKey),
  "identify finds no config": found({ key: "ada" }, notDefined),
  "identify finds no key": found({ config: five.config }, `${noKey}, or left out with`),
  "identify finds an id that is a number": found({ key: 7, config: five.config }, noKey),
  "a source finds undefined": refused(own(undefined), 403),
  "a source finds null": refused(own(null), 403),
  "a source finds no text": refused(own(""), 403),
  "a source gives a number": failed(own(7), noText),
  "a source gives an object": failed(own({}), noText),
  "a source gives true": failed(own(true), noText),
  "an error of the handler is thrown once, and is no outage": {
    limits: five,
    onError: "open",
    calls: 1,
    steps: [["/throw", "bug"]],
  },
  "a cost within a rounding error of the capacity is no outage": {
    limits: { ...five, config: tokens(1, SECOND, 1 / 3), cost: fromQuery("size", { default: 0.1, min: 0 }) },
    onError: "open",
    // The second cost is below the capacity in tokens, but not in units: counts are rounded up, capacities down.
    steps: ["/?size=0.33333 200", "/?size=0.3333333332031 403", "/?size=0.3333333333333333 429", "/?size=0.33331 429"],
  },
  "a handler that returns undefined fails": returning(undefined),
  "a handler that returns null fails": returning(null),
  "a handler that returns text fails": returning("text"),
});
