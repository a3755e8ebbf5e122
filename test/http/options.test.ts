// @vitest-environment edge-runtime
/** Options that cannot work fail when the module is loaded, so the deploy fails instead of a request. */
import { defineRateLimits as inTables } from "convex-rate-limits";
import { defineRateLimits } from "convex-rate-limits/component";
import {
  address,
  apiKey,
  bearer,
  custom,
  fromHeader,
  fromQuery,
  httpMutation,
  limitHttp,
} from "convex-rate-limits/http";
import { expect, it } from "vitest";
import { component, defineIn } from "../support/places.js";
import { byUser, served, tokens, via } from "./backend.js";

const plain = tokens(2);
const good = { limit: "user", by: byUser, without: "deny", config: plain } as const;
const inComponent = defineIn("component", {
  keyed: { ...plain, keyed: true },
  one: { ...plain, keyed: false },
  planned: { kind: "token bucket", period: 1000, keyed: true, plans: { free: { rate: 2 }, pro: { rate: 10 } } },
});
/** Calls limitHttp without types, as JavaScript can. */
const load = (options: object) => () => limitHttp(inComponent, { ...good, ...options }, served);

it("a limit with slots is refused: nobody would release the slot of a request", () => {
  const slots = { kind: "concurrency", slots: 2, lease: 1000 } as const;
  const limits = defineRateLimits(
    { slots, planned: { kind: "concurrency", lease: 1000, plans: { free: { slots: 1 } } } },
    { component },
  );
  for (const limit of ["slots", "planned"] as const) {
    const problem = `Rate limit "${limit}": limitHttp is for limits with tokens`;
    expect(() => limitHttp(limits, { limit, identify: () => ({ key: "ada", plan: "free" }) }, served)).toThrow(problem);
    const plan = limit === "planned" ? { plan: "free" } : {};
    expect(() => limitHttp(limits, { limit, by: byUser, without: "deny", ...plan } as never, served)).toThrow(problem);
  }
});

it("an undefined limit and a missing decision do not compile", () => {
  const limits = defineRateLimits({ hello: plain }, { component });
  const identified = { limit: "hello", identify: () => ({ key: "ada" }) } as const;
  expect(() => limitHttp(limits, identified, served)).not.toThrow();
  const undefinedLimit = "is not one of your limits";
  // @ts-expect-error: no such limit, and no config.
  expect(() => limitHttp(limits, { limit: "helo", by: byUser, without: "deny" }, served)).toThrow(undefinedLimit);
  // @ts-expect-error: without is missing, which decides about requests without a key.
  expect(() => limitHttp(limits, { limit: "hello", by: byUser }, served)).toThrow("without must be");
  // @ts-expect-error: identify gives the config.
  expect(() => limitHttp(limits, { ...identified, config: plain }, served)).toThrow("needs by (key sources");
  const unreported = { limit: "hello", by: "everyone", onError: "open" } as const;
  // @ts-expect-error: nobody would learn of the failure.
  expect(() => limitHttp(limits, unreported, served)).toThrow('report must be a function if onError is "open"');
  const tables = inTables({ hello: plain });
  // @ts-expect-error: an HTTP action has no database.
  expect(() => limitHttp(tables, { limit: "hello", by: "everyone" }, served)).toThrow("via must be a reference to");
  const itself = { limit: "hello", by: "everyone", via: httpMutation(tables) as never } as const;
  expect(() => limitHttp(tables, itself, served)).toThrow("via must be a reference to the function");
});

const statuses = "{ status: 400, 401 or 403, headers? }";
const planned = { limit: "planned", config: undefined };
const alone = { by: undefined, without: undefined, config: undefined, identify: () => ({}) };
it.each<[string, object, string]>([
  ["unknown", { limitt: good }, 'limitHttp: "limitt" is not a field of limitHttp, which has limit, '],
  ["via in the component", { via }, "via must be left out: the component is called directly"],
  ...["skip", "onDenied", "report", "identify", "when"].map((name): [string, object, string] => {
    return [name, { [name]: true }, `${name} must be a function`];
  }),
  ["skip: a list", { skip: ["OPTIONS"] }, "skip must be a function"],
  ["mode", { mode: "shadows" }, 'mode must be "enforce" or "shadow"'],
  ["limits: none", { limits: [], limit: undefined }, "is not a field of limitHttp"],
  ["formats: unknown", { formats: ["draft-8"] }, 'formats must be a list of "draft-11", "draft-7", "draft-6", "x"'],
  ["formats: no list", { formats: "x" }, 'formats must be a list of "draft-11", '],
  ["jitter: beyond 1", { jitter: 50 }, "jitter must be a number at least 0 and at most 1, got 50."],
  ["jitter: text", { jitter: "0.5" }, "jitter must be a number at least 0 and at most 1"],
  ["refund", { refund: "denied" }, 'refund must be "successful" or "failed", or a function'],
  ["cors", { cors: "*" }, "cors must be an object of header fields, or a function"],
  ["cors: bad value", { cors: { Vary: "a\nb" } }, "cors must be an object of header fields, or a function"],
  ["onError", { onError: "opne" }, 'onError must be "closed" or "open", got "opne".'],
  ["bad config", { config: { ...plain, rate: -1 } }, 'Rate limit "user": rate must be'],
  ["no name", { limit: "" }, "limit must be the name of a limit"],
  ["a name that no limit can have", { limit: "\ud800" }, "well-formed string of 1 to 128 char"],
  [
    "a config that is a function",
    { config: () => plain },
    "config must be a config; identify returns that of a caller",
  ],
  ["a plan that is a function", { ...planned, plan: () => "pro" }, "plan must be the name of a plan; identify returns"],
  ["no key", { by: undefined }, "needs by (key sources"],
  ["a key that is text", { by: "ada" }, 'by must be "everyone", or one or more key sources'],
  ["no source of a key", { by: [] }, 'by must be "everyone", or one or more key sources'],
  ["a source without keys", { by: [byUser, { keyOf: "ada" }] }, "by must be"],
  ["a source that is null", { by: null }, "by must be"],
  ["without: missing", { without: undefined }, `without must be "deny", "share" or ${statuses}`],
  ["without: given for everyone", { by: "everyone" }, 'without must be left out with by: "everyone"'],
  ["without: a status that is no refusal", { without: { status: 204 } }, "without must be"],
  ["without: another status", { without: { status: 404 } }, "without must be"],
  ["without: no status", { without: {} }, "without must be"],
  ["without: bad header", { without: { status: 401, headers: { "a b": "1" } } }, "without must be"],
  ["no config", { config: undefined }, "is not one of your limits ("],
  ["a cost below 0", { cost: -1 }, "cost must be a finite number of at least 0, or a function, got -1."],
  ["without: unknown field", { without: { status: 401, header: {} } }, "without must be"],
  ["a plan, and no plans", { config: undefined, limit: "keyed", plan: "pro" }, "plan must be left out"],
  ["no plan, of several", planned, 'Rate limit "planned": plan must be "free" or "pro", got undefined'],
  ["an unknown plan", { ...planned, plan: "gold" }, 'plan must be "free" or "pro", got "gold"'],
  ["a plan and a config", { ...planned, plan: "pro", config: plain }, "plan and config cannot be combined"],
  ...[{ by: "everyone" }, { without: "deny" }, { config: plain }, { plan: "pro" }].map(
    (other): [string, object, string] => [
      "identify and another field",
      { ...alone, ...other },
      "needs by (key sources",
    ],
  ),
  ["keyed: true, for everyone", { limit: "keyed", by: "everyone", without: undefined }, 'by cannot be "everyone"'],
  ["keyed: false, by a key", { limit: "one" }, "by cannot be a key source"],
])("limitHttp refuses bad options: %s", (_, wrong, message) => {
  expect(load(wrong)).toThrow(message);
});

it.each<[unknown, string]>([
  [[good, { ...good, by: "everyone", without: undefined }], 'Rate limit "user": is listed twice'],
  [[], "limits must be a list of one or more limits"],
  [undefined, "limits must be a list of one or more limits"],
  [[{ ...good, when: true }], "when must be a function"],
  [[null], "limits must be a list of limits, got"],
  [["user"], "limits must be a list of limits, got"],
])("limits cannot be %j", (limits, message) => {
  expect(() => limitHttp(inComponent, { limits } as never, served)).toThrow(message);
});

it("limitHttp requires a handler and limits", () => {
  const noHandler = "the handler must be a function, got undefined.";
  expect(() => limitHttp(inComponent, good, undefined as never)).toThrow(noHandler);
  expect(() => limitHttp(inComponent, undefined as never, served)).toThrow("limitHttp must be an object");
  // Undefined: two modules that import each other.
  for (const wrong of [{}, undefined]) {
    expect(() => limitHttp(wrong as never, good, served)).toThrow(
      "limitHttp needs the object that defineRateLimits ret",
    );
  }
  expect(() => limitHttp(inComponent, { limit: "one", by: "everyone" }, served)).not.toThrow();
  expect(() => httpMutation(inComponent)).toThrow("httpMutation is for limits in your tables;");
});

/** Calls a function without types, as JavaScript can. */
const untyped = (make: (options: never) => unknown, options?: unknown) => () => make(options as never);
const header = "header must be the name of a header field";
const bounds = (given: object) => untyped((options) => fromQuery("n", options), given);
it.each<[string, () => unknown, string]>([
  ["an API key with a bad header name", untyped(apiKey, { header: "" }), `${header}, got "".`],
  ["an address with a bad header name", untyped(address, { header: "a:" }), header],
  ["an address with a header name that is no text", untyped(address, { header: 7 }), header],
  ["a cost with a bad header name", () => fromHeader("a b", { default: 1 }), header],
  ["a cost without a header name", () => fromHeader(undefined as never, { default: 1 }), header],
  ["an API key with a misspelt known", untyped(apiKey, { isKnown: () => true }), '"isKnown" is not a field of apiKey'],
  ["a bearer token with a misspelt known", untyped(bearer, { Known: () => true }), '"Known" is not a field of bearer'],
  ["a known that is not a function", untyped(bearer, { known: true }), "known must be a function of ctx and hash"],
  ["a misspelt address", untyped(address, { trustedProxies: 1, prefix: 64 }), '"prefix" is not a field of address'],
  ["an address without options", untyped(address), "address must be an object, got undefined."],
  ["a source without a function", () => custom("own", "ada" as never), "read must be a function of ctx and request"],
  ["bounds with a misspelt field", bounds({ default: 1, m: 9 }), '"m" is not a field of the bounds'],
  ["bounds without a default", bounds({}), "default must be a finite number of at least 0"],
])("a part of an option cannot be %s", (_, make, message) => {
  expect(make).toThrow(message);
  // It is part of no limit.
  expect(make).not.toThrow("Rate limit");
});
