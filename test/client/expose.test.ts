// @vitest-environment edge-runtime
import { makeFunctionReference } from "convex/server";
import { ConvexError } from "convex/values";
import { MINUTE, projectRateLimit, type RateLimitConfig, type RateLimitSnapshot } from "convex-rate-limits";
import { describe, expect, it, vi } from "vitest";
import { NOW, useClock } from "../support/clock.js";
import { defineIn, openBackend, placeNames, type PlaceName, type QueryCtx } from "../support/places.js";

const perMinute: RateLimitConfig = { kind: "token bucket", rate: 6, period: MINUTE };
const pro: RateLimitConfig = { kind: "token bucket", rate: 600, period: MINUTE };

/** Opens the app under attack: a client signs in as a subject, and may call the exposed functions with any arguments. */
function openApp(place: PlaceName) {
  const limits = defineIn(place, {
    send: { ...perMinute, keyed: true },
    signUp: { ...perMinute, keyed: false },
    loose: perMinute,
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
    nobody: limits.exposeRateLimit("loose", { key: () => "" }),
    nothing: limits.exposeRateLimit("loose", { key: () => undefined as unknown as string }),
    byPlan: limits.exposeRateLimit("send", { key: subject, config: (_ctx, key) => (key === "ann" ? pro : perMinute) }),
    inline: defineIn(place, {}).exposeRateLimit("inline", { config: pro }),
  };
  const modules = Object.entries(exposed).map(([name, module]) => [`./${name}.ts`, () => Promise.resolve(module)]);
  const t = openBackend(Object.fromEntries(modules) as Record<string, () => Promise<object>>);
  /** The bucket that a client sees. The client can send any arguments, and may be signed in as `who`. */
  const see = async (module: keyof typeof exposed, args: Record<string, unknown> = {}, who?: string) => {
    const getter = makeFunctionReference<"query", Record<string, unknown>, RateLimitSnapshot>(`${module}:getRateLimit`);
    return await (who === undefined ? t : t.withIdentity({ subject: who })).query(getter, args);
  };
  const take = (args: { name: string; key?: string; count: number }) =>
    t.mutation((ctx) => limits.rateLimit(ctx, args));
  return { t, ...limits, see, take };
}

useClock();

describe.each(placeNames)("exposed from the %s", (place) => {
  it("each client sees only its own bucket for any request, and its projection equals the server's answer", async () => {
    const { see, take } = openApp(place);
    await take({ name: "send", key: "ann", count: 6 });
    const anns = await see("own", {}, "ann");
    expect(anns).toMatchObject({ name: "send", value: 0, config: { ...perMinute, capacity: 6 } });
    expect(await see("own", { key: "ann" }, "bob")).toMatchObject({ name: "send", value: 6 });
    const inAMinute = NOW + MINUTE / 6;
    expect(projectRateLimit(anns, { now: inAMinute - 1 })).toMatchObject({ ok: false, retryAt: inAMinute });
    expect(projectRateLimit(anns, { now: inAMinute })).toMatchObject({ ok: true });
  });

  it("a requested key is granted or refused by the server's function", async () => {
    const { see, take } = openApp(place);
    await take({ name: "send", key: "ann's team", count: 2 });
    expect(await see("team", { key: "ann's team" }, "ann")).toMatchObject({ value: 4 });
    expect(await see("team", {}, "ann")).toMatchObject({ value: 6 });
    for (const key of ["bob's team", ""]) await expect(see("team", { key }, "ann")).rejects.toThrow("Not your team.");
    await expect(see("team", { key: "ann's team" })).rejects.toThrow("Sign in first.");
  });

  it("a client can send only a key, and only if the server reads it", async () => {
    const { see } = openApp(place);
    const readingKeys = ["own", "team", "byPlan"] as const;
    const others = ["signUp", "inline"] as const;
    const refused = async (module: Parameters<typeof see>[0], args: Record<string, unknown>) => {
      await expect(see(module, args, "ann"), `${module} ${JSON.stringify(args)}`).rejects.toThrow(/[Vv]alidator/);
    };
    for (const args of [{ name: "secret" }, { config: pro }, { shards: 256 }, { count: 5 }, { key: null }]) {
      for (const module of [...readingKeys, ...others]) await refused(module, args);
    }
    for (const module of others) await refused(module, { key: "ann" });
  });

  it("a key function that returns no key is an error, and never shows the bucket that all callers share", async () => {
    const { see } = openApp(place);
    for (const module of ["nobody", "nothing"] as const) {
      await expect(see(module)).rejects.toThrow(/loose.*key function returns.*non-empty string/);
    }
  });

  it("the server may choose the config by key, and a limit without a definition is exposed with its config", async () => {
    const { see } = openApp(place);
    expect(await see("byPlan", {}, "ann")).toMatchObject({ value: 600 });
    expect(await see("byPlan", {}, "bob")).toMatchObject({ value: 6 });
    expect(await see("inline")).toMatchObject({ name: "inline", value: 600 });
  });

  it("options that do not fit the limit fail when the module loads", () => {
    const { exposeRateLimit: expose } = openApp(place);
    expect(() => expose("send", {})).toThrow(/"send".*keyed/);
    expect(() => expose("signUp", { key: () => "ann" })).toThrow(/"signUp".*one bucket for all/);
    for (const name of ["sned", "constructor"]) {
      expect(() => expose(name, {})).toThrow(`"${name}": is not one of your limits`);
    }
    expect(() => expose("loose", { config: { ...perMinute, rate: Number.NaN } })).toThrow(/"loose".*rate/);
  });

  it("getServerTime returns the time of the server's clock", async () => {
    const time = makeFunctionReference<"mutation", Record<string, never>, number>("own:getServerTime");
    vi.setSystemTime(NOW + 123);
    expect(await openApp(place).t.mutation(time, {})).toBe(NOW + 123);
  });
});
