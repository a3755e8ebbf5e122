// @vitest-environment edge-runtime
/** `throws: true`: one error in both places, for denials only, recognised wherever it is caught. */
import {
  actionGeneric,
  type GenericActionCtx,
  type GenericDataModel,
  httpRouter,
  makeFunctionReference,
  httpActionGeneric,
  mutationGeneric,
} from "convex/server";
import { ConvexError } from "convex/values";
import { convexTest } from "convex-test";
import { isRateLimitError } from "convex-rate-limits";
import { register } from "convex-rate-limits/test";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { NOW, useClock } from "../support/jobs.js";
import { useBackend } from "../support/limits.js";
import {
  component,
  defineIn,
  type PlaceName,
  placeNames,
  type MutationCtx,
  openBackend,
  schema,
} from "../support/places.js";
import { defineRateLimits as defineInComponent } from "convex-rate-limits/component";

useClock();

const definitions = {
  send: { kind: "token bucket", rate: 2, period: 1000, maxReserved: 3 },
  mine: { kind: "fixed window", rate: 2, period: 1000, start: 0, keyed: true },
} as const;
const denied = { kind: "RateLimited", name: "send", retryAt: NOW + 500, retryAfter: 500 };
const deniedMine = { kind: "RateLimited", name: "mine", retryAt: NOW + 1000, retryAfter: 1000 };

describe.each(placeNames)("in the %s", (place) => {
  const { define, mutation } = useBackend(place);
  const limits = define(definitions);
  const { rateLimit } = limits;
  const [send, mine] = [{ name: "send" }, { name: "mine", key: "a" }];
  /** The two tokens of both limits are gone. */
  const useUp = async () => {
    for (const name of [send, mine]) await rateLimit({ ...name, count: 2 });
  };

  it("a denial is thrown as a ConvexError whose data says what and when, at that moment", async () => {
    await useUp();
    for (const call of [rateLimit, limits.checkRateLimit]) {
      expect(await caught(call({ ...send, throws: true }))).toBeInstanceOf(ConvexError);
      for (const later of [0, 1, 499]) {
        vi.setSystemTime(NOW + later);
        expect(await denialOf(call({ ...send, throws: true }))).toEqual({ ...denied, retryAfter: 500 - later });
        const then = { ...deniedMine, retryAfter: 1000 - later };
        expect(await denialOf(call({ ...mine, throws: true }))).toEqual(then);
      }
      vi.setSystemTime(NOW);
    }
  });

  it.each([
    [true, { ...deniedMine, key: "a" }],
    [false, deniedMine],
    [undefined, deniedMine],
  ])("with errorKeys: %s the data is %o: the error reaches the client", async (errorKeys, data) => {
    await useUp();
    const { rateLimit, checkRateLimitAll, rateLimitAll } = define(definitions, { errorKeys });
    expect(await denialOf(rateLimit({ ...mine, throws: true }))).toStrictEqual(data);
    expect(await denialOf(rateLimitAll([send, mine], { throws: true }))).toStrictEqual(data);
    expect(await denialOf(checkRateLimitAll([mine, send], { throws: true }))).toStrictEqual(data);
    // A limit without keys has none to carry.
    expect(await denialOf(rateLimit({ ...send, throws: true }))).toStrictEqual(denied);
  });

  it("without throws, or with throws: false, a denial is returned", async () => {
    await useUp();
    for (const throws of [{}, { throws: false }]) {
      expect(await rateLimit({ ...send, ...throws })).toMatchObject({ ok: false, retryAt: NOW + 500 });
    }
  });

  it("what is allowed or reserved is returned", async () => {
    const call = (args: object) => rateLimit({ ...send, throws: true, ...args });
    expect(await call({ count: 2 })).toMatchObject({ ok: true });
    expect(await call({ reserve: true })).toMatchObject({ ok: true, retryAt: NOW + 500 });
    expect(await call({ count: 0, reserve: true })).toMatchObject({ ok: true });
  });

  it.each([{ ...send, count: 3 }, { name: "mine" }, { name: "none" }, { ...send, count: -1 }])(
    "misuse, %o, is another error, with throws and without",
    async (args) => {
      for (const throws of [true, false]) {
        const error = await caught(rateLimit({ ...args, throws }));
        expect(error).toBeInstanceOf(Error);
        expect(error).not.toBeInstanceOf(ConvexError);
        expect(isRateLimitError(error)).toBe(false);
      }
    },
  );

  it("it is recognised in the mutation that was denied, which may go on", async () => {
    await useUp();
    expect(await mutation((ctx) => denialOf(limits.within(ctx).rateLimit({ ...send, throws: true })))).toEqual(denied);
  });
});

describe.each(placeNames)("thrown by a registered function over the %s, it is recognised by", (place) => {
  const expected = { kind: "RateLimited", name: "app", retryAt: NOW + 1000, retryAfter: 1000 };
  type App = ReturnType<typeof openApp>;
  it.each<[string, (app: App) => Promise<unknown>]>([
    [
      "the client that called the mutation",
      (app) => app.mutation(send, {}).then(() => denialOf(app.mutation(send, {}))),
    ],
    [
      "a mutation that called it as a sub-transaction",
      (app) => app.mutation((ctx) => ctx.runMutation(send, {}).then(() => denialOf(ctx.runMutation(send, {})))),
    ],
    ["an action that called the mutation", (app) => app.action(sendTwice, {})],
    [
      "an HTTP action that called the mutation",
      async (app): Promise<unknown> => (await app.fetch("/sendTwice")).json(),
    ],
  ])("%s", async (_who, call) => {
    expect(await call(openApp(place))).toEqual(expected);
  });
});

it("with the component it is recognised in an action that was denied itself, and with the config in the call", async () => {
  const defined = defineIn("component", definitions);
  const free = defineInComponent({}, { component });
  for (const [limit, args] of [
    [defined.rateLimit, { name: "send" }],
    [free.rateLimit as typeof defined.rateLimit, { name: "send", config: definitions.send }],
  ] as const) {
    const denial = openBackend().action(async (ctx) => {
      const mutationCtx = ctx as unknown as MutationCtx;
      await limit(mutationCtx, { ...args, count: 2 });
      return await denialOf(limit(mutationCtx, { ...args, throws: true }));
    });
    expect(await denial).toEqual(denied);
  }
});

describe("isRateLimitError", () => {
  const data = { kind: "RateLimited", name: "a", retryAt: 1, retryAfter: 1 };
  const throwing = () => {
    throw new Error("hands off");
  };

  it("knows the data whatever carries it: a second copy of convex, another realm, a plain object", () => {
    expect(isRateLimitError(new ConvexError(data))).toBe(true);
    expect(isRateLimitError(new ConvexError({ ...data, key: "k" }))).toBe(true);
    expect(isRateLimitError(Object.assign(new Error("another copy"), { data }))).toBe(true);
    expect(isRateLimitError({ data })).toBe(true);
  });

  it.each<[string, unknown]>([
    ...[undefined, null, 7, JSON.stringify(data), 7n].map((value): [string, unknown] => [typeof value, value]),
    ["a symbol", Symbol("RateLimited")],
    ["a function with the data", Object.assign(() => 1, { data })],
    ["an error", new Error("RateLimited")],
    ["the data alone", data],
    ["another ConvexError", new ConvexError("RateLimited")],
    ["a ConvexError of another kind", new ConvexError({ ...data, kind: "NotFound" })],
    ["no data", { data: undefined }],
    ["null as data", { data: null }],
    ["a string as data", { data: JSON.stringify(data) }],
    ["an array as data", { data: ["RateLimited"] }],
    ...(
      [
        ["name", undefined],
        ["name", 7],
        ["retryAt", undefined],
        ["retryAt", "1"],
        ["retryAfter", undefined],
        ["retryAfter", "1"],
        ["key", null],
      ] as const
    ).map(([field, value]): [string, unknown] => [`the ${field} ${value}`, { data: { ...data, [field]: value } }]),
  ])("is false for %s", (_what, value) => {
    expect(isRateLimitError(value)).toBe(false);
  });

  it("is false, and does not throw, for proxies and getters that do", () => {
    const { proxy, revoke } = Proxy.revocable({ data }, {});
    revoke();
    const hostile = [
      proxy,
      new Proxy({}, { has: throwing }),
      new Proxy({ data }, { get: throwing }),
      Object.defineProperty({}, "data", { get: throwing }),
      { data: Object.defineProperty({}, "kind", { get: throwing }) },
      { data: new Proxy({}, { get: throwing }) },
    ];
    expect(hostile.map((value) => isRateLimitError(value))).toEqual(hostile.map(() => false));
  });

  it("never throws, and is true only for what carries the data", () => {
    const oddData = fc.record(
      {
        kind: fc.oneof(fc.constant("RateLimited"), fc.anything()),
        name: fc.anything(),
        key: fc.anything(),
        retryAt: fc.oneof(fc.double(), fc.anything()),
        retryAfter: fc.oneof(fc.double(), fc.anything()),
      },
      { requiredKeys: [] },
    );
    const anyValue = fc.anything({ withBigInt: true, withNullPrototype: true, withMap: true, withDate: true });
    fc.assert(
      fc.property(fc.oneof(anyValue, fc.record({ data: fc.oneof(anyValue, oddData) })), (value) => {
        if (!isRateLimitError(value)) return;
        const { kind, name, retryAt, retryAfter } = value.data;
        const types = [kind, typeof name, typeof retryAt, typeof retryAfter];
        expect(types).toEqual(["RateLimited", "string", "number", "number"]);
      }),
      { numRuns: 2000 },
    );
  });
});

const send = makeFunctionReference<"mutation", Record<string, never>>("app:send");
const sendTwice = makeFunctionReference<"action", Record<string, never>>("app:sendTwice");

/** An app with registered functions: a mutation that may be denied, an action and an HTTP action that call it twice. */
function openApp(place: PlaceName) {
  const limits = defineIn(place, { app: { kind: "token bucket", rate: 1, period: 1000 } });
  const denialOfTwo = async (ctx: Pick<GenericActionCtx<GenericDataModel>, "runMutation">): Promise<unknown> => {
    await ctx.runMutation(send, {});
    return await denialOf(ctx.runMutation(send, {}));
  };
  const functions = {
    send: mutationGeneric({
      args: {},
      handler: async (ctx) => {
        await limits.rateLimit(ctx, { name: "app", key: "user", throws: true });
      },
    }),
    sendTwice: actionGeneric({ args: {}, handler: async (ctx) => await denialOfTwo(ctx) }),
  };
  const http = httpRouter();
  http.route({
    path: "/sendTwice",
    method: "GET",
    handler: httpActionGeneric(async (ctx) => Response.json(await denialOfTwo(ctx))),
  });
  const t = convexTest({
    schema,
    modules: {
      "./_generated/api.ts": () => Promise.resolve({}),
      "./app.ts": () => Promise.resolve(functions),
      "./http.ts": () => Promise.resolve({ default: http }),
    },
  });
  register(t);
  return t;
}

/** What a call throws; that it throws nothing fails the test. */
async function caught(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

async function denialOf(call: Promise<unknown>): Promise<unknown> {
  const error = await caught(call);
  return isRateLimitError(error) ? error.data : String(error);
}
