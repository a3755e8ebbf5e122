/** Runs the recipes of docs/recipes.md, with the real packages that they use. */
import { HOUR, MINUTE, SECOND } from "convex-rate-limits";
import { rateLimitAdmin } from "convex-rate-limits/admin";
import { register } from "convex-rate-limits/test";
import { convexTest } from "convex-test";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { runJobs, START as NOW, useClock } from "../support/clock.js";
import { denialOf } from "../support/errors.js";
import modules from "docs:recipes";
import { api, internal } from "docs:recipes/convex/_generated/api";
import { chargeUsage } from "docs:recipes/convex/assistant";
import { limits } from "docs:recipes/convex/limits";
import schema from "docs:recipes/convex/schema";
import { overdraft } from "../../stage/demo/laws.js";

useClock(NOW);
// Workpool reports its work now and then.
beforeEach(() => void vi.spyOn(console, "info").mockReturnValue());

/** These entries are TypeScript source, which the compiler would check with this project's own settings. */
type Testing = { default: { register: (t: unknown) => void } };
const { default: shardedCounter } = await vi.importActual<Testing>("@convex-dev/sharded-counter/test");
const { default: workflow } = await vi.importActual<Testing>("@convex-dev/workflow/test");
const { default: workpool } = await vi.importActual<Testing>("@convex-dev/workpool/test");

const { setTimeout: later } = globalThis;

/** Moves the clock, and runs the functions that are due then, once they have loaded. */
async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms);
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => later(resolve, 0));
}

function openApp() {
  const t = convexTest({ schema, modules });
  for (const one of [workpool, workflow, shardedCounter]) one.register(t);
  register(t);
  return t;
}
type App = ReturnType<typeof openApp>;

/** The time and the address of each call to a third party's server. */
function useServer(answer: unknown) {
  const calls: { at: number; url: string }[] = [];
  vi.stubGlobal("fetch", (url: string) => {
    calls.push({ at: Date.now(), url });
    return Promise.resolve(new Response(typeof answer === "string" ? answer : JSON.stringify(answer)));
  });
  return calls;
}

const nameOf = (error: unknown) => (error as { data: { name: string } }).data.name;

const addUser = (t: App, plan: "free" | "pro" = "free") =>
  t.run(async (ctx) => await ctx.db.insert("users", { email: "ada@example.com", password: "correct horse", plan }));

it("middleware limits each signed-in user before the mutation does anything", async () => {
  const t = openApp();
  const [ada, bob] = [t.withIdentity({ subject: "ada" }), t.withIdentity({ subject: "bob" })];
  for (let i = 0; i < 5; i++) await ada.mutation(api.notes.add, { text: `note ${i}` });
  const denial = await denialOf(ada.mutation(api.notes.add, { text: "one more" }));
  expect(denial).toMatchObject({ name: "write", retryAt: NOW + 2000 });
  await bob.mutation(api.notes.add, { text: "mine" });
  const stranger = t.mutation(api.notes.add, { text: "who am I?" });
  await expect(stranger).rejects.toThrow("not signed in");
  expect(await t.run(async (ctx) => (await ctx.db.query("notes").collect()).length)).toBe(6);
});

it("middleware refunds the token if the mutation throws", async () => {
  const ada = openApp().withIdentity({ subject: "ada" });
  for (let i = 0; i < 9; i++) await expect(ada.mutation(api.notes.add, { text: "" })).rejects.toThrow("needs a text");
  await ada.mutation(api.notes.add, { text: "at last" });
});

it("anonymous callers get a session for a solved captcha, a limited number for each address", async () => {
  const captchas = useServer({ success: true });
  const t = openApp();
  const [here, there] = ["192.0.2.1", "192.0.2.2"].map((ip) => t.withRequestMetadata({ ip }));
  const start = (from = here) =>
    from?.action(api.anonymous.startSession, { captcha: "solved" }) ?? Promise.reject(new Error());
  for (let i = 0; i < 10; i++) await start();
  const denial = await denialOf(start());
  expect(denial).toMatchObject({ name: "newSession" });
  // The error reaches the client, so it does not contain the key.
  expect(denial).not.toHaveProperty("key");
  await start(there);
  expect(captchas).toHaveLength(12);
});

it("anonymous callers get no session for an unsolved captcha", async () => {
  useServer({ success: false });
  const t = openApp();
  const start = t.action(api.anonymous.startSession, { captcha: "guessed" });
  await expect(start).rejects.toMatchObject({ data: { kind: "NotHuman" } });
  expect(await t.run(async (ctx) => await ctx.db.query("rateLimits").collect())).toEqual([]);
});

it("anonymous callers are limited by session and by address, and an unknown session is refused", async () => {
  useServer({ success: true });
  const t = openApp().withRequestMetadata({ ip: "192.0.2.1" });
  const sessions = [];
  for (let i = 0; i < 6; i++) sessions.push(await t.action(api.anonymous.startSession, { captcha: "solved" }));
  const names: string[] = [];
  for (const session of sessions) {
    for (let i = 0; i < 6; i++) {
      const comment = t.mutation(api.anonymous.comment, { session, text: "Hi." });
      names.push(await comment.then(() => "ok", nameOf));
    }
  }
  const full = [...Array<string>(5).fill("ok"), "comment"];
  expect(names.slice(0, 24)).toEqual([...full, ...full, ...full, ...full]);
  expect(new Set(names.slice(24))).toEqual(new Set(["commentsFromAddress"]));
  const gone = await t.action(api.anonymous.startSession, { captcha: "solved" });
  await t.run(async (ctx) => {
    await ctx.db.delete("sessions", gone);
  });
  const forged = t.mutation(api.anonymous.comment, { session: gone, text: "Hi." });
  await expect(forged).rejects.toMatchObject({ data: { kind: "NoSession" } });
});

it("plans: an upgrade takes effect at once, and grants nothing for the past", async () => {
  const t = openApp();
  const user = await addUser(t);
  const make = () => t.mutation(internal.reports.make, { user });
  for (let i = 0; i < 3; i++) {
    vi.setSystemTime(NOW + i);
    await make();
  }
  expect(await denialOf(make())).toMatchObject({ retryAt: NOW + 8 * 60 * MINUTE });
  await t.run(async (ctx) => {
    await ctx.db.patch("users", user, { plan: "pro" });
  });
  expect(await denialOf(make())).toMatchObject({ retryAt: NOW + 2 + 14.4 * MINUTE });
  vi.setSystemTime(NOW + 2 + 14.4 * MINUTE);
  expect(await make()).toEqual({ left: 0 });
});

it("plans are swept once their buckets are full on every plan", async () => {
  const t = openApp();
  const user = await addUser(t);
  await t.mutation(internal.reports.make, { user });
  const rows = async () => {
    await t.mutation(internal.reports.sweep, {});
    await runJobs(t);
    return await t.run(async (ctx) => (await ctx.db.query("rateLimits").collect()).length);
  };
  vi.setSystemTime(NOW + 9 * 60 * MINUTE);
  expect(await rows()).toBe(1);
  vi.setSystemTime(NOW + 40 * 24 * 60 * MINUTE);
  expect(await rows()).toBe(0);
});

it("several steps: a refused prompt uses no token, an image uses one, and a user without tokens is denied first", async () => {
  const t = openApp();
  const user = await addUser(t);
  const draw = (prompt: string) => t.mutation(internal.images.draw, { user, prompt });
  for (let i = 0; i < 9; i++) expect(await draw("a passport")).toBe("refused");
  for (let i = 0; i < 3; i++) expect(await draw("a cat")).toBe("drawn");
  expect(await draw("a passport")).toBe("no image left today");
  expect(await draw("a cat")).toBe("no image left today");
});

it("failed logins are counted even though the client gets an error: five of fifty guesses are checked", async () => {
  const t = openApp();
  await addUser(t);
  const logIn = (password: string) => t.action(api.logins.logIn, { email: "ada@example.com", password });
  const fails = async (password: string, kind: string, times = 1) => {
    for (let i = 0; i < times; i++) await expect(logIn(password)).rejects.toMatchObject({ data: { kind } });
  };
  await fails("guess", "wrong password", 5);
  await fails("guess", "locked", 45);
  await fails("correct horse", "locked");
  vi.setSystemTime(NOW + 12 * MINUTE);
  expect(await logIn("correct horse")).toBeNull();
  await fails("typo", "wrong password", 5);
});

it("lockouts that grow lock for longer each time, and start anew after a success or a quiet day", async () => {
  const t = openApp();
  await addUser(t);
  const signIn = (password: string) => t.mutation(api.lockouts.signIn, { email: "ada@example.com", password });
  const fail = async () => {
    const { ok, lockedUntil = 0 } = await signIn("guess");
    expect(ok).toBe(false);
    const lockMs = lockedUntil - Date.now();
    vi.setSystemTime(lockedUntil - 1);
    expect(await signIn("correct horse")).toEqual({ ok: false, lockedUntil });
    vi.setSystemTime(lockedUntil);
    return lockMs;
  };
  const locks = [];
  for (let i = 0; i < 5; i++) locks.push(await fail());
  expect(locks).toEqual([1000, 10_000, MINUTE, 10 * MINUTE, 10 * MINUTE]);
  expect(await signIn("correct horse")).toEqual({ ok: true });
  expect([await fail(), await fail()]).toEqual([1000, 10_000]);
  vi.setSystemTime(Date.now() + 24 * 60 * MINUTE);
  expect(await fail()).toBe(1000);
  // The fiftieth failure of a day is not locked for ten minutes, but until the first is a day old.
  for (let i = 0; i < 48; i++) await fail();
  expect(await fail()).toBeGreaterThan(15 * 60 * MINUTE);
  expect(await signIn("correct horse")).toEqual({ ok: true });
});

it("a third party's hard cap is kept in any 60 s, and every call is made", async () => {
  const calls = useServer("48.4, 8.2");
  const t = openApp();
  for (let i = 0; i < 100; i++)
    expect(await t.mutation(internal.geocoder.locate, { address: `${i} Main Street` })).toHaveProperty("calledAt");
  await runJobs(t);
  expect(calls).toHaveLength(100);
  const perMinute = calls.map(({ at }) => calls.filter((other) => other.at >= at && other.at < at + MINUTE).length);
  expect(Math.max(...perMinute)).toBeLessThanOrEqual(50);
  const starts = calls.map(({ at }) => ({ earliest: at, latest: at, tokens: 1 }));
  expect(overdraft(starts, { rate: 40, period: MINUTE, capacity: 10 })).toBeUndefined();
  const found = await t.run(async (ctx) => await ctx.db.query("places").collect());
  expect(found.filter((place) => place.found === "48.4, 8.2")).toHaveLength(100);
});

it("a third party's hard cap has a queue of bounded length", async () => {
  const t = openApp();
  for (let i = 0; i < 410; i++) await t.mutation(internal.geocoder.locate, { address: "Main Street" });
  expect(await t.mutation(internal.geocoder.locate, { address: "Main Street" })).toEqual({ retryAt: NOW + 1500 });
  expect(await t.run(async (ctx) => (await ctx.db.query("places").collect()).length)).toBe(410);
});

it("perfectly spaced work starts a second apart, whichever function schedules it", async () => {
  const calls = useServer("ok");
  const t = openApp();
  await t.mutation(internal.partner.notify, { events: ["a", "b", "c"] });
  vi.advanceTimersByTime(500);
  await t.mutation(internal.partner.notify, { events: ["d"] });
  await runJobs(t);
  expect(calls.map(({ at }) => at - NOW)).toEqual([1000, 2000, 3000, 4000]);
});

it("perfectly spaced work is scheduled completely or not at all", async () => {
  const calls = useServer("ok");
  const t = openApp();
  const many = Array.from({ length: 61 }, (_, i) => `event ${i}`);
  await expect(t.mutation(internal.partner.notify, { events: many })).rejects.toThrow("There is no room until");
  await t.mutation(internal.partner.notify, { events: many.slice(1) });
  await runJobs(t);
  expect(calls).toHaveLength(60);
});

const rowsOf = (t: App, key: string) =>
  t.run(async (ctx) => (await ctx.db.query("rateLimits").collect()).filter((row) => row.key === key));
const DAY = 24 * HOUR;

it("a subscription's month begins on its own day, and one alert is written at 80 %", async () => {
  const t = openApp();
  const customer = await t.run(async (ctx) => await ctx.db.insert("customers", { monthly: 10, day: 15 }));
  const call = () => t.mutation(internal.subscriptions.call, { customer });
  const renewsAt = NOW + 14 * DAY;
  for (let i = 9; i >= 0; i--) expect(await call()).toEqual({ left: i, renewsAt });
  expect(await denialOf(call())).toMatchObject({ name: "calls", retryAt: renewsAt });
  const alerts = await t.run(async (ctx) => await ctx.db.query("alerts").collect());
  expect(alerts).toMatchObject([{ customer, resetAt: renewsAt }]);
  vi.setSystemTime(renewsAt);
  expect(await call()).toMatchObject({ left: 9 });
});

it("a month is carried over once, and a new customer begins with one", async () => {
  const t = openApp();
  const user = await addUser(t);
  await t.mutation(internal.exports.open, { user });
  const left = async () => {
    const { remaining } = await t.run(
      async (ctx) => await limits.checkRateLimit(ctx, { name: "exports", key: user, count: 0 }),
    );
    return remaining;
  };
  expect(await left()).toBe(100);
  vi.setSystemTime(NOW + 31 * DAY);
  expect(await left()).toBe(200);
  vi.setSystemTime(NOW + 59 * DAY);
  expect(await left()).toBe(200);
});

it("all keys of a limit are reset, also more than a page of them, and no other limit", async () => {
  const t = openApp();
  await t.run(async (ctx) => {
    for (let i = 0; i < 120; i++) await limits.rateLimit(ctx, { name: "image", key: `user ${i}`, count: 3 });
    await limits.rateLimit(ctx, { name: "write", key: "user 0", count: 5 });
  });
  await t.mutation(internal.resets.resetAll, { name: "image" });
  await runJobs(t);
  const left = await t.run(async (ctx) => await ctx.db.query("rateLimits").collect());
  expect(left.map(({ name }) => name)).toEqual(["write"]);
});

it("a forgotten person has no rows after the next sweep, also of overrides, pauses and refundable takes", async () => {
  const t = openApp();
  const { overrideRateLimit } = rateLimitAdmin(limits);
  await t.run(async (ctx) => {
    await limits.rateLimit(ctx, { name: "write", key: "ada", refundable: true });
    await limits.rateLimit(ctx, { name: "exports", key: "ada", count: 7 });
    await limits.adjustRateLimit(ctx, { name: "assistantTokens", key: "ada", count: 60_000 });
    await limits.pauseRateLimit(ctx, { name: "report", key: "ada", until: NOW + 400 * DAY });
    await overrideRateLimit(ctx, { name: "image", key: "ada", block: true, note: "Ada asked twice." } as never);
    await limits.rateLimit(ctx, { name: "write", key: "bob" });
  });
  expect(await rowsOf(t, "ada")).toHaveLength(5);
  await t.mutation(internal.forgetting.forget, { user: "ada" });
  vi.setSystemTime(NOW + 2 * MINUTE);
  await t.mutation(internal.reports.sweep, {});
  await runJobs(t);
  expect(await rowsOf(t, "ada")).toEqual([]);
});

it("a denial that throws writes one line to the log, with its fields", async () => {
  const lines = vi.spyOn(console, "log").mockImplementation(() => undefined);
  const t = openApp();
  const file = () => t.mutation(internal.logged.file, { user: "ada" });
  await file();
  expect(lines).not.toHaveBeenCalled();
  expect(await denialOf(file())).toMatchObject({ name: "filing", retryAt: NOW + MINUTE });
  const logged = lines.mock.calls.map(([line]) => JSON.parse(String(line)) as unknown);
  const denied = { limit: "filing", key: "ada", retryAt: NOW + MINUTE };
  expect(logged).toEqual([{ event: "rate limited", ...denied }]);
});

it("Workflow reads each page when its token is there", async () => {
  const starts: number[] = [];
  vi.stubGlobal("fetch", () => {
    starts.push(Date.now() - NOW);
    return Promise.resolve(new Response(""));
  });
  const t = openApp();
  await t.mutation(internal.digest.start, { pages: ["a", "b", "c", "d"].map((name) => `https://app.example/${name}`) });
  for (let step = 0; step < 2000 && starts.length < 4; step++) {
    vi.advanceTimersByTime(20);
    // No function waits for a timer here, so all that have begun end, however busy the machine is.
    await t.finishInProgressScheduledFunctions();
  }
  // Two pages at once, then one a second. The workflow itself takes a while between its steps.
  expect(starts).toHaveLength(4);
  const [, , third = 0, fourth = 0] = starts;
  expect(third).toBeGreaterThanOrEqual(1000);
  expect(fourth).toBeGreaterThanOrEqual(2000);
  expect(fourth).toBeLessThan(4000);
});

describe("Workpool", () => {
  /** Eight calls of equal duration: when each could start, when it started, and how many ran at once. */
  async function transcribeEight(durationMs: number) {
    const starts: number[] = [];
    let running = 0;
    let most = 0;
    vi.stubGlobal("fetch", async () => {
      starts.push(Date.now() - NOW);
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, durationMs));
      running--;
      return new Response("");
    });
    const t = openApp();
    const promised: number[] = [];
    for (let i = 0; i < 8; i++) {
      const answer = await t.mutation(internal.transcripts.transcribe, { url: `https://app.example/${i}` });
      if ("runAt" in answer) promised.push(answer.runAt - NOW);
    }
    for (let step = 0; step < 5000 && starts.length < 8; step++) await pass(20);
    return { promised, starts, most };
  }

  it("starts no call before its tokens are there", async () => {
    const { promised, starts } = await transcribeEight(0);
    expect(promised).toEqual([0, 0, 1000, 2000, 3000, 4000, 5000, 6000]);
    expect(starts).toHaveLength(8);
    expect(starts.map((at, i) => at >= (promised[i] ?? Infinity))).toEqual(Array<boolean>(8).fill(true));
  });

  it("runs two calls at once, and the others wait for their turn", async () => {
    const { promised, starts, most } = await transcribeEight(3000);
    expect(starts).toHaveLength(8);
    expect(most).toBe(2);
    // Each pair takes 3 s. The limit alone would let the last call start after 6 s.
    expect(promised.at(-1)).toBe(6000);
    expect(starts.at(-1)).toBeGreaterThan(9000);
  });

  it("gets at most as many calls as the limit's queue holds", async () => {
    const t = openApp();
    const transcribe = () => t.mutation(internal.transcripts.transcribe, { url: "https://app.example/" });
    for (let i = 0; i < 102; i++) await transcribe();
    expect(await transcribe()).toEqual({ retryAt: NOW + 1000 });
  });
});

it("Better Auth keeps its limits in this package: for each address, by its own rule for sign-ins", async () => {
  vi.stubEnv("BETTER_AUTH_SECRET", "0123456789abcdef0123456789abcdef");
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  const warn = vi.spyOn(console, "warn").mockReturnValue();
  const t = openApp();
  const signIn = (address: string) =>
    t.fetch("/api/auth/sign-in/email", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Forwarded-For": address, Origin: "https://app.example" },
      body: JSON.stringify({ email: "ada@example.com", password: "a wrong guess" }),
    });
  const statuses: number[] = [];
  for (let i = 0; i < 4; i++) statuses.push((await signIn("192.0.2.1")).status);
  expect(statuses).toEqual([401, 401, 401, 429]);
  expect((await signIn("192.0.2.2")).status).toBe(401);
  const denied = await signIn("192.0.2.1");
  const seconds = Number(denied.headers.get("X-Retry-After"));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(10);
  vi.setSystemTime(NOW + seconds * SECOND);
  expect((await signIn("192.0.2.1")).status).toBe(401);
  expect(warn.mock.calls.map(([message]) => String(message))).toEqual(
    Array<unknown>(5).fill(expect.stringContaining("User not found")),
  );
  const rows = await t.run(async (ctx) => await ctx.db.query("rateLimits").collect());
  const buckets = ["192.0.2.1", "192.0.2.2"].map((address) => ["auth", `${address}|/sign-in/email`]);
  expect(rows.map(({ name, key }) => [name, key])).toEqual(buckets);
});

it("Convex Agent charges the tokens that a model call used, and makes the user wait for the debt", async () => {
  const t = openApp();
  const model = { providerMetadata: undefined, model: "m", provider: "p" };
  const call = { threadId: undefined, agentName: "assistant", ...model };
  const charge = (userId: string | undefined, totalTokens: number) =>
    t.action(async (ctx) => {
      await chargeUsage(ctx, { ...call, userId, usage: { totalTokens } });
    });
  await t.mutation(internal.assistant.mayAsk, { user: "ada" });
  await charge("ada", 60_000);
  await t.mutation(internal.assistant.mayAsk, { user: "bob" });
  await expect(t.mutation(internal.assistant.mayAsk, { user: "ada" })).rejects.toMatchObject({
    data: { name: "assistantTokens", retryAt: NOW + (24 * HOUR * 10_001) / 50_000 },
  });
  await expect(charge(undefined, 1)).rejects.toThrow("has no budget");
});

it("sharded-counter counts the denials of each limit in each hour", async () => {
  const t = openApp();
  const vote = () => t.mutation(internal.denials.vote, { voter: "ada" });
  const counts = () =>
    Promise.all([0, 1, 2].map((i) => t.query(internal.denials.denialsInHour, { name: "vote", time: NOW + i * HOUR })));
  expect([await vote(), await vote(), await vote(), await vote()]).toEqual([true, true, false, false]);
  vi.setSystemTime(NOW + HOUR - 1);
  expect(await vote()).toBe(true);
  vi.setSystemTime(NOW + HOUR);
  expect([await vote(), await vote()]).toEqual([true, false]);
  expect(await counts()).toEqual([2, 1, 0]);
  expect(await t.query(internal.denials.denialsInHour, { name: "mail", time: NOW })).toBe(0);
});
