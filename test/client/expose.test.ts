// @vitest-environment edge-runtime
import { anyApi, type FunctionReference } from "convex/server";
import { ConvexError } from "convex/values";
import { convexTest } from "convex-test";
import {
  type ExposedRateLimit,
  MINUTE,
  projectRateLimit,
  type RateLimitConfig,
  type RateLimitSnapshot,
} from "convex-rate-limits";
import { register } from "convex-rate-limits/test";
import { afterEach, assert, describe, expect, it, vi } from "vitest";
import { defineIn, placeNames, type PlaceName, type QueryCtx, schema } from "../support/places.js";

const perMinute: RateLimitConfig = { kind: "token bucket", rate: 6, period: MINUTE };
const pro: RateLimitConfig = { kind: "token bucket", rate: 600, period: MINUTE };

/** The app under attack: a client signs in as some subject, and may call the exposed functions with whatever it likes. */
function openApp(place: PlaceName) {
  const limits = defineIn(place, {
    send: { ...perMinute, keyed: true },
    signUp: { ...perMinute, keyed: false },
    hot: { kind: "token bucket", rate: 1000, period: MINUTE, shards: 8, keyed: false },
    loose: perMinute,
    /** Nobody has exposed it. */
    secret: { ...perMinute, keyed: true },
  });
  const subject = async (ctx: QueryCtx) => {
    const identity = await ctx.auth.getUserIdentity();
    if (!identity) throw new ConvexError("Sign in first.");
    return identity.subject;
  };
  const exposed = {
    own: limits.exposeRateLimit("send", { key: subject }),
    team: limits.exposeRateLimit("send", {
      key: async (ctx: QueryCtx, requested) => {
        const user = await subject(ctx);
        if (requested !== undefined && requested !== `${user}'s team`) throw new ConvexError("Not your team.");
        return requested ?? user;
      },
    }),
    signUp: limits.exposeRateLimit("signUp", {}),
    hot: limits.exposeRateLimit("hot", {}),
    nobody: limits.exposeRateLimit("loose", { key: () => "" }),
    nothing: limits.exposeRateLimit("loose", { key: () => undefined as unknown as string }),
    byPlan: limits.exposeRateLimit("send", {
      key: subject,
      config: (_ctx, key) => (key === "ann" ? pro : perMinute),
    }),
    inline: defineIn(place, {}).exposeRateLimit("inline", { config: pro }),
  };
  const modules = Object.fromEntries(Object.entries(exposed).map(([name, module]) => [`./${name}.ts`, load(module)]));
  const t = convexTest({ schema, modules: { "./_generated/api.ts": load({}), ...modules } });
  register(t);
  return { t, limits };
}

function load<Module>(module: Module): () => Promise<Module> {
  return async () => await Promise.resolve(module);
}

/** The reference to an exposed function, without its types: a client can send anything. */
function getterOf(module: string): FunctionReference<"query", "public", Record<string, unknown>, RateLimitSnapshot> {
  const api = anyApi as unknown as Record<string, Record<keyof ExposedRateLimit, FunctionReference<"query">>>;
  const functions = api[module];
  assert(functions);
  return functions.getRateLimit;
}

afterEach(() => vi.useRealTimers());

describe.each(placeNames)("exposed from the %s", (place) => {
  it("each client sees its own bucket, and projects it to the status that the server would give", async () => {
    const { t, limits } = openApp(place);
    await t.mutation((ctx) => limits.rateLimit(ctx, { name: "send", key: "ann", count: 6 }));

    const anns = await t.withIdentity({ subject: "ann" }).query(getterOf("own"), {});
    const bobs = await t.withIdentity({ subject: "bob" }).query(getterOf("own"), {});

    expect(anns).toMatchObject({ name: "send", value: 0, config: { ...perMinute, capacity: 6 } });
    expect(bobs).toMatchObject({ name: "send", value: 6 });
    const inAMinute = anns.ts + MINUTE / 6;
    expect(projectRateLimit(anns, { now: inAMinute - 1 })).toMatchObject({ ok: false, retryAt: inAMinute });
    expect(projectRateLimit(anns, { now: inAMinute })).toMatchObject({ ok: true });
  });

  it("a request for another's key changes nothing where the server ignores it", async () => {
    const { t, limits } = openApp(place);
    await t.mutation((ctx) => limits.rateLimit(ctx, { name: "send", key: "ann", count: 6 }));
    const seen = await t.withIdentity({ subject: "bob" }).query(getterOf("own"), { key: "ann" });
    expect(seen.value).toBe(6);
  });

  it("a requested key is granted or refused by the server's function", async () => {
    const { t, limits } = openApp(place);
    await t.mutation((ctx) => limits.rateLimit(ctx, { name: "send", key: "ann's team", count: 2 }));
    const ann = t.withIdentity({ subject: "ann" });
    expect(await ann.query(getterOf("team"), { key: "ann's team" })).toMatchObject({ value: 4 });
    expect(await ann.query(getterOf("team"), {})).toMatchObject({ value: 6 });
    await expect(ann.query(getterOf("team"), { key: "bob's team" })).rejects.toThrow("Not your team.");
    await expect(ann.query(getterOf("team"), { key: "" })).rejects.toThrow("Not your team.");
    await expect(t.query(getterOf("team"), { key: "ann's team" })).rejects.toThrow("Sign in first.");
  });

  it.each([
    ["name", "secret"],
    ["config", { kind: "token bucket", rate: 1e9, period: 1 }],
    ["shards", 256],
    ["count", 5],
    ["reserve", true],
    ["component", "rateLimits"],
    ["__proto__.key", "ann"],
  ])("a client that sends %s is refused", async (field, value) => {
    const { t } = openApp(place);
    const ann = t.withIdentity({ subject: "ann" });
    for (const module of ["own", "team", "signUp", "byPlan", "inline"]) {
      await expect(ann.query(getterOf(module), { [field]: value })).rejects.toThrow(/[Vv]alidator/);
    }
  });

  it.each([
    ["null", null],
    ["a number", 1],
    ["a boolean", true],
    ["an array", ["ann"]],
    ["an object", { subject: "ann" }],
    ["a bigint", 1n],
  ])("a key that is %s is refused", async (_what, key) => {
    const { t } = openApp(place);
    await expect(t.withIdentity({ subject: "ann" }).query(getterOf("team"), { key })).rejects.toThrow(/[Vv]alidator/);
  });

  it("where the server looks at no key, a client that sends one is refused", async () => {
    const { t } = openApp(place);
    for (const module of ["signUp", "hot", "inline"]) {
      await expect(t.query(getterOf(module), { key: "ann" })).rejects.toThrow(/[Vv]alidator/);
    }
  });

  it("a key function that finds nobody is an error, never the bucket that belongs to everybody", async () => {
    const { t } = openApp(place);
    for (const module of ["nobody", "nothing"]) {
      await expect(t.query(getterOf(module), {})).rejects.toThrow(/loose.*key function returns.*non-empty string/);
    }
  });

  it("the server may choose the config by key", async () => {
    const { t } = openApp(place);
    expect(await t.withIdentity({ subject: "ann" }).query(getterOf("byPlan"), {})).toMatchObject({ value: 600 });
    expect(await t.withIdentity({ subject: "bob" }).query(getterOf("byPlan"), {})).toMatchObject({ value: 6 });
  });

  it("a limit without a definition is exposed with its config", async () => {
    const { t } = openApp(place);
    expect(await t.query(getterOf("inline"), {})).toMatchObject({ name: "inline", value: 600 });
  });

  it("a sharded limit is shown whole", async () => {
    const { t, limits } = openApp(place);
    for (let call = 0; call < 20; call++) await t.mutation((ctx) => limits.rateLimit(ctx, { name: "hot", count: 10 }));
    const snapshot = await t.query(getterOf("hot"), {});
    expect(projectRateLimit(snapshot, { now: snapshot.ts, count: 0 }).remaining).toBeGreaterThanOrEqual(800);
    expect(projectRateLimit(snapshot, { now: snapshot.ts, count: 800 }).ok).toBe(true);
  });

  it("looking changes nothing", async () => {
    const { t, limits } = openApp(place);
    await t.mutation((ctx) => limits.rateLimit(ctx, { name: "signUp" }));
    const first = await t.query(getterOf("signUp"), {});
    expect(await t.query(getterOf("signUp"), {})).toEqual(first);
  });

  it("what cannot fit fails when the module loads", () => {
    const { limits } = openApp(place);
    const { exposeRateLimit: expose } = limits;
    expect(() => expose("send", {})).toThrow(/"send".*keyed/);
    expect(() => expose("signUp", { key: () => "ann" })).toThrow(/"signUp".*one bucket for all/);
    expect(() => expose("sned", {})).toThrow(/"sned".*is not one of your limits/);
    expect(() => expose("constructor", {})).toThrow(/"constructor".*is not one of your limits/);
    expect(() => expose("loose", { config: { ...perMinute, rate: Number.NaN } })).toThrow(/"loose".*rate/);
  });

  it("the server's time is the server's clock", async () => {
    const { t } = openApp(place);
    vi.setSystemTime(1_700_000_000_123);
    const { own } = anyApi;
    assert(own?.["getServerTime"]);
    expect(await t.mutation(own["getServerTime"] as FunctionReference<"mutation">, {})).toBe(1_700_000_000_123);
  });
});
