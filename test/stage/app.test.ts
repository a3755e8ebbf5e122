/** The functions of the example whose limits need no helpers of their own. `npm run demo` shows others. */
import { DAY, MINUTE, SECOND } from "convex-rate-limits";
import { projectRateLimit } from "convex-rate-limits/client";
import { expect, it, vi } from "vitest";
import { api, internal } from "../../stage/convex/_generated/api.js";
import crons from "../../stage/convex/crons.js";
import { getRateLimit } from "../../stage/convex/rateLimits.js";
import { tally } from "../../stage/demo/laws.js";
import { emailOf, PASSWORD } from "../../stage/demo/people.js";
import { denialOf } from "../support/errors.js";
import { openBackend, openTown, runJobs, scheduleOf, servedUntilDenied, START, useClock } from "./backend.js";

useClock();

it("a user can send three messages a day, and three more when the next day begins", async () => {
  const { t, ada: user } = await openTown();
  const send = (text: string) => t.mutation(api.feedback.send, { user, text });
  for (const text of ["1", "2", "3"]) await send(text);
  const { name, retryAt } = await denialOf(send("4"));
  expect(name).toBe("sendFeedback");
  vi.setSystemTime(retryAt - 1);
  expect(await denialOf(send("4"))).toMatchObject({ retryAt });
  vi.setSystemTime(retryAt);
  for (const text of ["4", "5", "6"]) await send(text);
  const quota = await t.query(api.feedback.quota, { user });
  expect(projectRateLimit(quota, { now: Date.now() })).toMatchObject({ ok: false, remaining: 0 });
});

it("an attempt with a taken address uses no sign-up token", async () => {
  const t = openBackend();
  const signUp = () => t.mutation(api.signUps.signUp, { email: "ada@example.com", password: "secret" });
  await signUp();
  const before = await t.query(api.signUps.quota, {});
  expect(projectRateLimit(before, { now: START, count: 0 }).remaining).toBe(99);
  await expect(signUp()).rejects.toMatchObject({ data: { kind: "EmailTaken" } });
  expect(await t.query(api.signUps.quota, {})).toEqual(before);
});

async function openOffice() {
  const { t, ada: user } = await openTown();
  const make = () => t.mutation(api.plans.makeReport, { user, title: "Sales" });
  const makeMany = async (reports: number) => {
    for (let i = 0; i < reports; i++) expect(await make()).toMatchObject({ ok: true });
  };
  const change = (plan: "free" | "pro") => t.mutation(api.plans.changePlan, { user, plan });
  return { t, user, make, makeMany, change };
}

it("the pro plan allows more; a downgrade takes effect at once and cuts the tokens left to the smaller plan", async () => {
  const { make, makeMany, change } = await openOffice();
  await change("pro");
  await makeMany(50);
  await change("free");
  await makeMany(3);
  expect(await make()).toEqual({ ok: false, retryAt: START + DAY / 3 });
});

it("a report for a closed account is an error, and creates no bucket", async () => {
  const { t, user, make } = await openOffice();
  await t.mutation(api.signUps.close, { user });
  await expect(make()).rejects.toMatchObject({ data: { kind: "NoSuchUser", user } });
});

it("addresses beyond ten wait for the provider's next windows, and the last call runs when the last window opens", async () => {
  const t = openBackend();
  vi.setSystemTime(START + 700);
  for (let i = 0; i < 25; i++) await t.mutation(api.thirdParty.add, { address: `${i} Mill Lane` });
  await runJobs(t);
  const places = await t.query(api.thirdParty.places, {});
  const windows = tally(places.map(({ found }) => found && (found.quotaResetAt - START) / SECOND));
  expect(Object.fromEntries(windows)).toEqual({ 1: 10, 2: 10, 3: 5 });
  expect(Date.now()).toBe(START + 2 * SECOND);
});

it("a question that is answered or unknown can be neither settled nor cancelled", async () => {
  const { t, ada: user } = await openTown();
  const asked = await t.mutation(api.llm.ask, { user, prompt: "Why?", maxAnswerTokens: 1999 });
  if (!asked.ok) throw new Error("There was no room.");
  await runJobs(t);
  await expect(t.mutation(internal.llm.settle, { job: asked.job, used: 0 })).rejects.toThrow("is not running");
  expect(await t.mutation(api.llm.cancel, { job: asked.job })).toEqual({ canceled: false });
  // The answer used a third of the 1,999 tokens, and the four characters of the question used one.
  const { value } = await t.mutation(async (ctx) => await getRateLimit(ctx, { name: "llmTokens" }));
  expect(value).toBe(2000 - 667);
  await t.run(async (ctx) => {
    await ctx.db.delete("llmJobs", asked.job);
  });
  const unknown = t.mutation(api.llm.cancel, { job: asked.job });
  await expect(unknown).rejects.toMatchObject({ data: { kind: "NoSuchJob" } });
});

/** The example's small API, as its callers see it. */
function openApi() {
  const t = openBackend();
  return async (path: string, { from, key }: { from?: string; key?: string }) =>
    await t.fetch(path, { headers: { ...(from && { "X-Forwarded-For": from }), ...(key && { "X-Api-Key": key }) } });
}

const passing = async (send: () => Promise<Response>) => (await servedUntilDenied(send)).served;

it("each plan has its burst", async () => {
  const send = openApi();
  const hello = (from: string, key = "") => passing(() => send("/api/hello", { from, key }));
  expect(await hello("198.51.100.1")).toBe(3);
  expect(await hello("198.51.100.2", "demo-free")).toBe(10);
  // The limit per address allows 40 requests from one address. The rest of the plan's 100 come from other addresses.
  expect(await hello("198.51.100.3", "demo-pro")).toBe(40);
  expect(await hello("198.51.100.4", "demo-pro")).toBe(40);
  expect(await hello("198.51.100.5", "demo-pro")).toBe(20);
});

it("invented keys and forged addresses do not buy a fresh bucket", async () => {
  const send = openApi();
  let i = 0;
  const guess = () => send("/api/hello", { from: `203.0.113.${++i}, 198.51.100.1`, key: `guess-${i}` });
  expect(await passing(guess)).toBe(3);
});

it("a report costs its days, a denied report costs nothing, and a report beyond the plan is refused for good", async () => {
  const send = openApi();
  const refused = await send("/api/reports?days=30", { from: "198.51.100.1" });
  expect([refused.status, refused.headers.get("Retry-After")]).toEqual([403, null]);
  expect(refused.headers.get("Access-Control-Allow-Origin")).toBe("*");
  const ada = { from: "198.51.100.1", key: "demo-free" };
  expect((await send("/api/reports?days=40", ada)).headers.get("RateLimit")).toContain('"report-days";r=22;');
  const denied = await send("/api/reports?days=30", ada);
  expect(denied.status).toBe(429);
  expect(await denied.json()).toMatchObject({ "violated-policies": ["report-days"] });
  // One of the ten requests is taken: by the report that was served.
  expect((await send("/api/hello", ada)).headers.get("RateLimit")).toContain('"requests";r=8;');
  vi.setSystemTime(START + Number(denied.headers.get("Retry-After")) * SECOND);
  expect((await send("/api/reports?days=30", ada)).status).toBe(200);
});

it("a report covers the days that were paid for, however the client writes their number", async () => {
  const send = openApi();
  const reportOf = async (days: string) => {
    const response = await send(`/api/reports?days=${days}`, { from: "198.51.100.1", key: "demo-pro" });
    return response.ok ? ((await response.json()) as { report: string }).report : response.status;
  };
  expect(await reportOf("40")).toBe("the last 40 days");
  expect(await reportOf("4000")).toBe("the last 366 days");
  for (const days of ["1e9", "0x16e", "%2B366", "366days"]) expect(await reportOf(days), days).toBe(400);
});

it("without a proxy, as on a laptop, the API answers, and all callers share a bucket", async () => {
  const send = openApi();
  expect(await passing(async () => await send("/api/hello", {}))).toBe(3);
  expect((await send("/api/hello", { from: "198.51.100.1" })).status).toBe(200);
});

async function openChat() {
  const { t, ada, bob } = await openTown();
  const send = async (times = 1) => {
    for (let i = 0; i < times; i++) await t.mutation(api.messages.send, { author: ada, to: bob, body: "Hello!" });
  };
  return { t, ada, bob, send, sendMessage: { name: "sendMessage", key: ada } as const };
}

it("the page shows the limits that can be overridden, with their configs", async () => {
  const { t } = await openChat();
  expect(await t.query(api.admin.limits, {})).toMatchObject([
    { name: "sendMessage", config: { kind: "token bucket", rate: 60, capacity: 5 } },
    { name: "failedSignIn", config: { kind: "sliding window" } },
  ]);
});

it("an admin blocks a user until a given time, sees the block, and removes it", async () => {
  const { t, ada, send, sendMessage } = await openChat();
  await send();
  const until = START + MINUTE;
  await t.mutation(api.admin.block, { ...sendMessage, until, note: "spam" });
  await expect(send()).rejects.toMatchObject({ data: { retryAt: until, reason: "blocked" } });
  const lists = async () =>
    [
      await t.query(api.admin.keys, { name: "sendMessage", onlyOverridden: true }),
      await t.query(api.admin.keys, { name: "sendMessage", onlyLimited: true }),
    ].map(({ page }) => page);
  const entry = { key: ada, ok: false, retryAt: until, override: { block: true, until, note: "spam" } };
  expect(await lists()).toMatchObject([[entry], [entry]]);
  await t.mutation(api.admin.unblock, sendMessage);
  expect(await lists()).toEqual([[], []]);
  await send();
});

it("an admin raises one customer's limit, or lifts it, and the override ends by itself", async () => {
  const { t, send, sendMessage } = await openChat();
  const config = { kind: "token bucket" as const, rate: 600, period: MINUTE };
  await t.mutation(api.admin.configure, { ...sendMessage, config, until: START + MINUTE });
  await send(100);
  await t.mutation(api.admin.letThrough, { ...sendMessage, until: START + 2 * MINUTE });
  await send(20);
  vi.setSystemTime(START + 2 * MINUTE);
  await send(5);
  await expect(send()).rejects.toThrow();
});

it("the admin's list contains the callers that must wait now", async () => {
  const { t, ada, bob, send } = await openChat();
  await send(5);
  await t.mutation(api.messages.send, { author: bob, to: ada, body: "Hello." });
  const limited = () => t.query(internal.upkeep.limited, { name: "sendMessage" });
  expect(await limited()).toMatchObject({ page: [{ key: ada, value: 0, retryAt: START + 1000 }], cursor: null });
  vi.setSystemTime(START + 1000);
  expect(await limited()).toEqual({ page: [], cursor: null });
});

it("the daily sweeps leave no row of a full bucket, in either place", async () => {
  const { t, ada, send } = await openChat();
  await send();
  await t.mutation(api.plans.makeReport, { user: ada, title: "Greetings" });
  await t.mutation(api.feedback.send, { user: ada, text: "Nice." });
  const sweep = async () => {
    await t.mutation(internal.upkeep.sweep, {});
    await t.mutation(internal.feedback.sweep, {});
    await runJobs(t);
  };
  const appRows = () => t.run(async (ctx) => (await ctx.db.query("rateLimits").collect()).length);
  await sweep();
  expect(await appRows()).toBe(1);
  expect(await t.query(api.messages.quota, { author: ada })).toMatchObject({ value: 4 });
  vi.setSystemTime(START + 2 * DAY);
  await sweep();
  expect(await appRows()).toBe(0);
  // A bucket without a row has the state of one that was never used: its time is in 1970.
  expect(await t.query(api.messages.quota, { author: ada })).toMatchObject({ value: 5, ts: 0 });
  expect(await t.query(api.plans.quota, { user: ada })).toMatchObject({ value: 3, ts: 0 });
});

it("the sweeps run once a day", () => {
  expect(scheduleOf(crons)).toEqual(["upkeep:sweep", "feedback:sweep"].map((name) => [name, "daily"]));
});

const END = 6 * MINUTE;
const locked = { outcome: "locked", retryAt: START + END };
const wrong = (attemptsLeft: number) => ({ outcome: "wrong", attemptsLeft });

async function openGate() {
  const { t, ada } = await openTown();
  const logIn = (password: string, email = emailOf("Ada")) => t.mutation(api.logins.logIn, { email, password });
  const lock = async (email?: string) => {
    for (const left of [4, 3, 2, 1, 0]) expect(await logIn("guess", email)).toEqual(wrong(left));
    expect(await logIn("guess", email)).toEqual(locked);
  };
  return { logIn, lock, welcome: { outcome: "welcome", user: ada } };
}

it.each([PASSWORD, "guess"])("the lock denies %s until its end, however often it is tried", async (text) => {
  const { logIn, lock, welcome } = await openGate();
  await lock();
  for (const ms of [MINUTE, 2 * MINUTE, END - 1]) {
    vi.setSystemTime(START + ms);
    expect(await logIn(text)).toEqual(locked);
  }
  vi.setSystemTime(START + END);
  expect(await logIn(text)).toEqual(text === PASSWORD ? welcome : wrong(0));
});

it("simultaneous guesses get as few tries as sequential ones", async () => {
  const { logIn } = await openGate();
  const answers = await Promise.all(Array.from({ length: 20 }, (_, guess) => logIn(`guess ${guess}`)));
  expect(answers.filter(({ outcome }) => outcome === "wrong")).toHaveLength(5);
});

it("an address without an account locks like one with an account, and does not lock others", async () => {
  const { logIn, lock, welcome } = await openGate();
  await lock("nobody@example.com");
  expect(await logIn(PASSWORD)).toEqual(welcome);
});

it("each failure locks for longer, up to ten minutes; a success or a day without a failure starts anew", async () => {
  const { t, ada } = await openTown();
  const signIn = (password: string) => t.mutation(api.lockouts.signIn, { email: emailOf("Ada"), password });
  /** Fails `times` times, each as soon as it is allowed, and returns the durations of the locks in ms. */
  const fail = async (times = 1) => {
    const locks = [];
    for (let i = 0; i < times; i++) {
      const answer = await signIn("guess");
      if (answer.outcome !== "wrong") throw new Error(`The password was not checked: ${answer.outcome}.`);
      locks.push(answer.lockedUntil - Date.now());
      vi.setSystemTime(answer.lockedUntil);
    }
    return locks;
  };
  expect(await fail(6)).toEqual([SECOND, 10 * SECOND, MINUTE, 10 * MINUTE, 10 * MINUTE, 10 * MINUTE]);
  expect(await signIn(PASSWORD)).toEqual({ outcome: "welcome", user: ada });
  expect(await fail(2)).toEqual([SECOND, 10 * SECOND]);
  vi.setSystemTime(Date.now() + DAY);
  expect(await fail()).toEqual([SECOND]);
});
