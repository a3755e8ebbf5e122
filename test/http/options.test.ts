/** What cannot work fails when the module is loaded, so that a deploy fails and no request does. */
import { type RateLimitConfig, SECOND } from "convex-rate-limits";
import {
  fromHeader,
  fromQuery,
  type HttpLimit,
  type LimitHttpOptions,
  address,
  apiKey,
  bearer,
  custom,
  limitHttp,
} from "convex-rate-limits/http";
import { describe, expect, it } from "vitest";
import { component } from "../support/places.js";
import { noConsume, served, wrap, byUser } from "./backend.js";

const plain: RateLimitConfig = { kind: "token bucket", rate: 2, period: 10 * SECOND };
const good: HttpLimit = {
  limit: "user",
  by: byUser,
  without: "deny",
  config: plain,
};
const load = (options: object) => () => wrap({ limits: good, consume: noConsume, ...options }, served);

it("all that can be said loads", () => {
  const all: LimitHttpOptions = {
    limits: [
      {
        limit: "user",
        by: "everyone",
        config: plain,
        when: () => true,
        cost: () => 1,
        unit: "content-bytes",
        partitionKey: () => "a",
      },
      { limit: "keyed", by: "everyone", config: { kind: "fixed window", rate: 1, period: SECOND, keyed: true } },
      {
        limit: "looked up",
        identify: () => ({ key: "ada", config: { kind: "token bucket", rate: 1, period: SECOND } }),
      },
    ],
    consume: inComponent(component),
    formats: ["draft-11", "x"],
    jitter: 0.5,
    skip: ["OPTIONS"],
    denial: { body: "Later", status: 503, headers: {} },
    onDenied: () => undefined,
    refund: "failed",
    remaining: "omit",
    cors: {},
    onError: "open",
    report: () => undefined,
  };
  expect(() => limitHttp(all, served)).not.toThrow();
  for (const open of [{ denial: () => new Response() }, { skip: () => false }, { cors: () => ({}) }]) {
    expect(load(open)).not.toThrow();
  }
});

describe("an option that cannot work", () => {
  it.each<[string, object, string]>([
    ["unknown", { limit: good }, 'Rate limit "limitHttp": "limit" is no field of limitHttp, which has limits, '],
    ["limits: absent", { limits: undefined }, "limits must be a limit or a list of limits, got undefined."],
    ["limits: none", { limits: [] }, "limits must have at least one limit."],
    ["consume: absent", { consume: undefined }, "consume must be a function, such as inComponent"],
    ["consume: no function", { consume: component }, "consume must be a function"],
    ["formats: unknown", { formats: ["draft-8"] }, 'formats must be a list of "draft-11", "draft-7", "draft-6", "x"'],
    ["formats: two drafts", { formats: ["draft-11", "draft-6"] }, "formats must be a list with one draft"],
    ["formats: no list", { formats: "x" }, "formats must be a list of formats"],
    ["jitter: beyond 1", { jitter: 50 }, "jitter must be a number from 0 to 1, got 50."],
    ["jitter: text", { jitter: "0.5" }, "jitter must be a number from 0 to 1"],
    ["skip: text", { skip: "OPTIONS" }, 'skip must be a list of methods in capitals, such as "OPTIONS", or a function'],
    ["skip: a method that no request has", { skip: ["options"] }, "skip must be a list of methods in capitals"],
    ["denial: text", { denial: "Later" }, "denial must be an object with body, status or headers, or a function"],
    ["denial: unknown field", { denial: { message: "Later" } }, '"message" is no field of denial, which has body'],
    ["denial: a status that says yes", { denial: { status: 200 } }, "status must be a whole number at least 400"],
    ["denial: bad header", { denial: { headers: { "a b": "1" } } }, "headers must be an object of header fields"],
    ["onDenied", { onDenied: true }, "onDenied must be a function"],
    ["refund", { refund: "denied" }, 'refund must be "successful" or "failed", or a function'],
    ["refund without giveBack", { refund: "failed" }, "refund needs a consume that can give back"],
    ["remaining", { remaining: false }, 'remaining must be "read" or "omit", got false.'],
    ["cors", { cors: "*" }, "cors must be an object of header fields, or a function"],
    ["cors: bad value", { cors: { Vary: "a\nb" } }, "cors must be an object of header fields, or a function"],
    ["onError", { onError: "opne" }, 'onError must be "closed" or "open", got "opne".'],
    ["report: absent where the gate opens", { onError: "open" }, 'report must be a function where onError is "open"'],
  ])("%s", (_, wrong, message) => {
    expect(load(wrong)).toThrow(message);
  });
});

describe("a limit that cannot work", () => {
  it.each<[string, object, string]>([
    ["bad config", { config: { ...plain, rate: -1 } }, 'Rate limit "user": rate must be'],
    ["unknown field", { costs: 3 }, 'Rate limit "user": "costs" is no field of a limit of limitHttp, which has name'],
    ["no name", { name: "" }, "name must be a non-empty string"],
    ["a name that no limit can have", { name: "\ud800", config: () => plain }, "well-formed string of 1 to 128 char"],
    ["no key", { key: undefined }, "key must be firstOf(…) or everyone, got undefined."],
    ["a key that is text", { key: "ada" }, 'key must be firstOf(…) or everyone, got "ada".'],
    ["no config", { config: undefined }, "config must be a config, or a function that returns one, got undefined."],
    ["a cost that is a number", { cost: 3 }, "cost must be a function, such as 1, got 3."],
    ["unknown unit", { unit: "bytes" }, 'unit must be "requests" or "content-bytes" or "concurrent-requests"'],
    ["when", { when: true }, "when must be a function"],
    ["identify beside key", { identify: () => ({}) }, "takes identify, or key and config, not both."],
  ])("%s", (_, wrong, message) => {
    expect(load({ limits: { ...good, ...wrong } })).toThrow(message);
  });

  it("no handler", () => {
    const options: LimitHttpOptions = { limits: good, consume: noConsume };
    expect(() => limitHttp(options, undefined as never)).toThrow("the handler must be a function, got undefined.");
  });

  it("one name twice", () => {
    expect(load({ limits: [good, { ...good, by: "everyone" }] })).toThrow('Rate limit "user": is listed twice');
  });

  it("none at all", () => {
    for (const limits of [[null], ["user"]]) {
      expect(load({ limits })).toThrow("limits must be a limit or a list of limits, got");
    }
  });
});

describe("what cannot be a part of an option", () => {
  /** As JavaScript may call it. */
  const ofAny = firstOf as (...parts: readonly unknown[]) => unknown;
  it.each<[string, () => unknown, string]>([
    ["a choice without an end", () => ofAny(byUser), "must end in deny, denyWith(…) or sharedBu"],
    ["a choice of nothing", () => ofAny(), "must end in deny, denyWith(…) or sharedBucket(…), got u"],
    ["a choice without a source", () => ofAny(deny, deny), "needs sources before its end, such as byAddr"],
    [
      "a shared bucket that no key can name",
      () => sharedBucket("\ud800"),
      "the name must be well-formed text of 1 to 128",
    ],
    ["a shared bucket of a number", () => sharedBucket(5 as never), "the name must be well-formed text of 1 to 128"],
    ["a status that is no refusal", () => denyWith(204 as never), "status must be 400, 401 or 403, got 204."],
    ["a refusal's header", () => denyWith(401, { "a b": "1" }), "headers must be an object of header fields"],
    ["a header's name, of a key", () => byHeader("X User"), 'header must be the name of a header field, got "X User".'],
    [
      "a header's name, of an API key",
      () => apiKey({ header: "" }),
      'header must be the name of a header field, got "".',
    ],
    ["a header's name, of an address", () => address({ header: "a:" }), "header must be the name of a header field"],
    [
      "a header's name, of a cost",
      () => fromHeader("a b", { default: 1 }),
      "header must be the name of a header field",
    ],
    [
      "a slip in known",
      () => apiKey({ isKnown: () => false } as never),
      '"isKnown" is no field of byApiKey, which has',
    ],
    ["a slip in known, again", () => bearer({ Known: () => false } as never), '"Known" is no field of byBearer'],
    ["known that is no function", () => bearer({ known: true as never }), "known must be a function of ctx and hash"],
    [
      "a slip in an address",
      () => address({ trustedProxies: 1, prefix: 64 } as never),
      '"prefix" is no field of byAdd',
    ],
    ["an address by nothing", () => address(undefined as never), "byAddress must be an object, got undefined."],
    ["a source without a function", () => custom("own", "ada" as never), "read must be a function of ctx and request"],
    [
      "a slip in the bounds",
      () => fromQuery("n", { default: 1, maximum: 9 } as never),
      '"maximum" is no field of the b',
    ],
    ["bounds without a default", () => fromQuery("n", {} as never), "default must be a finite number of at least 0"],
    [
      "a component that is not there",
      () => inComponent(undefined as never),
      "the component must be components.rateLimits",
    ],
    [
      "a mutation that is not there",
      () => inTables({} as never),
      "take must be a mutation, such as internal.gateway.take",
    ],
  ])("%s", (_, make, message) => {
    expect(make).toThrow(message);
  });
});
