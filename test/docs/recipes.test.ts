/** Runs the recipes of docs/recipes.md. */
import { MINUTE } from "convex-rate-limits";
import { convexTest } from "convex-test";
import { expect, it, vi } from "vitest";
import { runJobs, START as NOW, useClock } from "../support/clock.js";
import { denialOf } from "../support/errors.js";
import modules from "docs:recipes";
import { api, internal } from "docs:recipes/convex/_generated/api";
import schema from "docs:recipes/convex/schema";
import { overdraft } from "../../example/demo/laws.js";

useClock(NOW);

const openApp = () => convexTest({ schema, modules });
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
  await expect(t.mutation(api.notes.add, { text: "who am I?" })).rejects.toMatchObject({
    data: { kind: "SignedOut" },
  });
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
  for (let i = 0; i < 3; i++) await t.mutation(api.reports.make, { user });
  expect(await denialOf(t.mutation(api.reports.make, { user }))).toMatchObject({ retryAt: NOW + 8 * 60 * MINUTE });
  await t.run(async (ctx) => {
    await ctx.db.patch("users", user, { plan: "pro" });
  });
  expect(await denialOf(t.mutation(api.reports.make, { user }))).toMatchObject({ retryAt: NOW + 14.4 * MINUTE });
  vi.setSystemTime(NOW + 14.4 * MINUTE);
  expect(await t.mutation(api.reports.make, { user })).toEqual({ left: 0 });
});

it("plans are swept once their buckets are full on every plan", async () => {
  const t = openApp();
  const user = await addUser(t);
  await t.mutation(api.reports.make, { user });
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
  const draw = (prompt: string) => t.mutation(api.images.draw, { user, prompt });
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
    expect(await t.mutation(api.geocoder.locate, { address: `${i} Main Street` })).toHaveProperty("calledAt");
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
  for (let i = 0; i < 410; i++) await t.mutation(api.geocoder.locate, { address: "Main Street" });
  expect(await t.mutation(api.geocoder.locate, { address: "Main Street" })).toEqual({ retryAt: NOW + 1500 });
  expect(await t.run(async (ctx) => (await ctx.db.query("places").collect()).length)).toBe(410);
});

it("perfectly spaced work starts a second apart, whichever function schedules it", async () => {
  const calls = useServer("ok");
  const t = openApp();
  await t.mutation(api.partner.notify, { events: ["a", "b", "c"] });
  vi.advanceTimersByTime(500);
  await t.mutation(api.partner.notify, { events: ["d"] });
  await runJobs(t);
  expect(calls.map(({ at }) => at - NOW)).toEqual([1000, 2000, 3000, 4000]);
});

it("perfectly spaced work is scheduled completely or not at all", async () => {
  const calls = useServer("ok");
  const t = openApp();
  const many = Array.from({ length: 61 }, (_, i) => `event ${i}`);
  await expect(t.mutation(api.partner.notify, { events: many })).rejects.toThrow("The queue is full until");
  await t.mutation(api.partner.notify, { events: many.slice(1) });
  await runJobs(t);
  expect(calls).toHaveLength(60);
});

it("a denial that throws writes one line to the log, with its fields", async () => {
  const lines = vi.spyOn(console, "log").mockImplementation(() => undefined);
  const t = openApp();
  const file = () => t.mutation(api.logged.file, { user: "ada" });
  await file();
  expect(lines).not.toHaveBeenCalled();
  expect(await denialOf(file())).toMatchObject({ name: "report", retryAt: NOW + MINUTE });
  const logged = lines.mock.calls.map(([line]) => JSON.parse(String(line)) as unknown);
  lines.mockRestore();
  const denied = { limit: "report", key: "ada", count: 1, mode: "enforce", retryAt: NOW + MINUTE };
  expect(logged).toEqual([{ event: "rate limited", ...denied }]);
});
