/** Public queries of limits and queues: a client sees what the app shows it, and nothing else, for any arguments. */
import { makeFunctionReference } from "convex/server";
import { ConvexError } from "convex/values";
import { MINUTE, type RateLimitConfig } from "convex-rate-limits";
import { projectRateLimit } from "convex-rate-limits/client";
import type { RateLimitSnapshot } from "convex-rate-limits/live";
import type { RateLimitQueuedJob, RateLimitQueuePosition } from "convex-rate-limits/queue";
import { describe, expect, it, vi } from "vitest";
import { NOW, useClock } from "../support/clock.js";
import { defineIn, openBackend, placeNames, type PlaceName, type QueryCtx } from "../support/places.js";
import { useQueues } from "../support/queues.js";

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
      expect(() => expose(name, {})).toThrow(`"${name}" is not one of your limits`);
    }
    expect(() => expose("loose", { config: { ...perMinute, rate: Number.NaN } })).toThrow(/"loose".*rate/);
  });

  it("getServerTime returns the time of the server's clock", async () => {
    const time = makeFunctionReference<"mutation", Record<string, never>, number>("own:getServerTime");
    vi.setSystemTime(NOW + 123);
    expect(await openApp(place).t.mutation(time, {})).toBe(NOW + 123);
    await expect(openApp(place).t.mutation(time, { at: 0 } as never)).rejects.toThrow(/[Vv]alidator/);
  });
});

const bucket = { kind: "token bucket", rate: 1, period: 1000, capacity: 1 } as const;
const limits = { llm: { ...bucket, queue: {} }, secret: { ...bucket, queue: {} }, plain: bucket } as const;
const getter = makeFunctionReference<"query", Record<string, unknown>, RateLimitQueuePosition | null>(
  "exposed:getQueued",
);

describe.each(placeNames)("a queue exposed from the %s", (place) => {
  /** Opens the app, whose check decides which job a request is for. A signed-in client can send any arguments. */
  const open = (check: (ctx: QueryCtx, requested: string) => unknown) => {
    const { t, jobOf, position } = useQueues(place, limits, {}, { exposed: check });
    const ask = (args: Record<string, unknown>, subject = "ann") => t.withIdentity({ subject }).query(getter, args);
    return { jobOf, position, ask };
  };

  it("shows a client the place of the job that the check finds, and the error that it throws", async () => {
    const jobs = new Map<string, RateLimitQueuedJob>();
    const { jobOf, position, ask } = open(async (ctx, requested) => {
      const { subject = "" } = (await ctx.auth.getUserIdentity()) ?? {};
      if (!requested.startsWith(subject)) throw new ConvexError("Not your task.");
      return jobs.get(requested);
    });
    for (const label of ["ann's first", "bob's"]) jobs.set(label, await jobOf(label));
    const last = await jobOf("ann's last");
    jobs.set("ann's last", last);
    expect(await ask({ job: "ann's first" })).toEqual({ ahead: 0, startsAt: NOW });
    expect(await ask({ job: "bob's" }, "bob")).toEqual({ ahead: 1, startsAt: NOW + 1000 });
    const asServer = await position(last);
    expect(asServer).toMatchObject({ ahead: 2 });
    expect(await ask({ job: "ann's last" })).toEqual(asServer);
    await expect(ask({ job: "ann's first" }, "bob")).rejects.toThrow("Not your task.");
  });

  it("refuses any other argument: a name, a key, a job as the server has it", async () => {
    const { jobOf, ask } = open(() => null);
    const job = await jobOf("first");
    const { id } = job;
    const more = [{ name: "secret" }, { key: "bob" }].map((each) => ({ job: id, ...each }));
    for (const args of [{}, { job }, { job: [id] }, { requested: id }, ...more]) {
      await expect(ask(args), JSON.stringify(args)).rejects.toThrow(/[Vv]alidator/);
    }
  });

  it("calls the check for each request, with what the client sent and nothing else", async () => {
    const asked: string[] = [];
    const { ask } = open((_ctx, requested) => void asked.push(requested));
    const requests = ["a", "a", "", "__proto__", "0".repeat(100_000), "\0"];
    for (const job of requests) expect(await ask({ job })).toBeNull();
    expect(asked).toEqual(requests);
  });

  it("accepts from the check only a job of a limit with a queue, under its own name", async () => {
    let given: unknown;
    const { jobOf, ask } = open(() => given);
    const answer = async (found: unknown) => {
      given = found;
      return await ask({ job: "any" });
    };
    const job = await jobOf("first");
    const { id } = job;
    expect(await answer(job)).toMatchObject({ ahead: 0 });
    expect(await answer(await jobOf("second", { name: "secret" }))).toMatchObject({ ahead: 0 });
    // The query looks for a job under the limit and the key that the job names.
    expect(await answer({ ...job, name: "secret" })).toBeNull();
    expect(await answer({ ...job, key: "somebody's" })).toBeNull();
    // A deploy may have removed its queue.
    for (const name of ["plain", "unknown"]) expect(await answer({ ...job, name })).toBeNull();
    for (const none of [{}, { id }, id, true, { name: "llm" }, { name: "llm", id: "" }, { name: 1, id }]) {
      const problem = "needs the job that enqueueRateLimited returned";
      await expect(answer(none), JSON.stringify(none)).rejects.toThrow(problem);
    }
  });
});

it("exposeQueue requires the check, and exposes nothing without it", () => {
  const { exposeQueue } = defineIn("tables", limits, { queueModule: "limits" });
  for (const options of [undefined, {}, { job: "own" }, { job: null }]) {
    expect(() => exposeQueue(options as never), JSON.stringify(options)).toThrow("exposeQueue");
  }
  expect(() => exposeQueue({ job: () => null, key: () => "x" } as never)).toThrow('"key" is not a field');
});
