/**
 * What must hold of the apps that solve twenty tasks. requests.md has the tasks, as users ask for them; llms-full.txt must suffice to solve
 * them. Each check also finds the mistake that its task is about (traps.ts).
 */
import { type GenericSchema, makeFunctionReference, type SchemaDefinition } from "convex/server";
import type { GenericId, Value } from "convex/values";
import { convexTest, type TestConvex } from "convex-test";
import { DAY, HOUR, isRateLimitError, MINUTE, SECOND } from "convex-rate-limits";
import { usageOf } from "convex-rate-limits/client";
import type { RateLimitSnapshot } from "convex-rate-limits/live";
import { register } from "convex-rate-limits/test";
import { describe, expect, it, vi } from "vitest";
import { APPS, blocksOf } from "../docs/pages.js";
import { runJobs, START, useClock } from "../support/clock.js";
import { withGenerated } from "../tidy/apps.js";
import { faultsIn } from "../tidy/compile.js";
import { lines } from "../tidy/files.js";
import { TRAPS } from "./traps.js";

type Args = Record<string, Value>;
/** Calls a function of the app by its name, as a user who is signed in, if one is given. */
type Call = (name: string, args: Args, subject?: string) => Promise<Value>;

interface App {
  t: TestConvex<SchemaDefinition<GenericSchema, boolean>>;
  mutate: Call;
  query: (...call: Parameters<Call>) => Promise<unknown>;
  action: Call;
  rows: (table: string) => Promise<Args[]>;
  insert: (table: string, document: Args) => Promise<string>;
  /** The tokens that are left in a bucket of the `limits` that a module exports. */
  left: (module: string, bucket: Args) => Promise<number | undefined>;
}

/** How many of `count` calls are not denied; errors that are no denials fail. */
async function passing(count: number, call: () => Promise<unknown>): Promise<number> {
  let passed = 0;
  for (let i = 0; i < count; i++) {
    try {
      await call();
      passed++;
    } catch (error) {
      if (!isRateLimitError(error)) throw error;
    }
  }
  return passed;
}

/** How many of `count` requests are served. */
async function served({ t }: App, count: number, path: string, headers: HeadersInit): Promise<number> {
  const statuses = [];
  for (let i = 0; i < count; i++) statuses.push((await t.fetch(path, { headers })).status);
  return statuses.filter((status) => status === 200).length;
}

const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);
const from = (address: string) => ({ "X-Forwarded-For": address });

/** The times of the requests to a server, which answers them in turn, the last answer for all others. */
function serve(...answers: (() => Response)[]): number[] {
  const times: number[] = [];
  vi.stubGlobal("fetch", () => {
    times.push(Date.now());
    const answer = answers[times.length - 1] ?? answers.at(-1);
    return Promise.resolve(answer?.() ?? new Response("ok"));
  });
  return times;
}

const gapsIn = (times: number[]) => times.slice(1).map((time, i) => time - (times[i] ?? NaN));

const CHECKS: Record<string, (app: App) => Promise<void>> = {
  async daily({ mutate, query }) {
    expect(await passing(25, () => mutate("questions:ask", { text: "why?" }, "ada"))).toBe(20);
    const snapshot = (await query("questions:getRateLimit", { key: "bob" }, "ada")) as RateLimitSnapshot;
    expect(usageOf(snapshot, Date.now())).toMatchObject({ used: 20, of: 20, resetAt: START + DAY });
    expect(await passing(1, () => mutate("questions:ask", { text: "why?" }, "bob"))).toBe(1);
  },

  async retry({ t, mutate, rows, left }) {
    const busy = () => new Response("", { status: 429 });
    const times = serve(busy, busy, () => Response.json({ text: "because", tokens: 300 }));
    await mutate("model:ask", { prompt: "why?" }, "ada");
    await runJobs(t);
    expect(times).toHaveLength(3);
    expect(gapsIn(times)[0]).toBeGreaterThanOrEqual(SECOND);
    expect(await rows("questions")).toMatchObject([{ answer: "because" }]);
    vi.setSystemTime(START + 30 * SECOND);
    expect(await left("convex/limits", { name: "tokens" })).toBe(9700);
  },

  async keys(app) {
    const key = (plan: string) => app.mutate("keys:issue", { plan }) as Promise<string>;
    const call = (count: number, secret: string, address: string) =>
      served(app, count, "/hello", { "X-Api-Key": secret, ...from(address) });
    expect(await call(12, await key("free"), "192.0.2.1")).toBe(10);
    expect(await call(102, await key("pro"), "192.0.2.1")).toBe(100);
    let invented = 0;
    for (let i = 0; i < 8; i++) invented += await call(1, `invented ${i}`, "192.0.2.2");
    expect(invented).toBe(3);
    expect(await served(app, 5, "/hello", from("192.0.2.3"))).toBe(3);
  },

  async login({ mutate, insert }) {
    for (const email of ["ada@x.org", "bob@x.org"]) {
      await insert("users", { email, password: "sesame" });
    }
    const logIn = (password: string, email = "ada@x.org") =>
      mutate("logins:logIn", { email, password }).catch(() => "wrong password");
    const guess = async (count: number) => {
      for (let i = 0; i < count; i++) expect(await logIn("guess")).toBe("wrong password");
    };
    await guess(4);
    expect(await logIn("sesame")).toBe("welcome");
    await guess(5);
    expect([await logIn("guess"), await logIn("sesame")]).toEqual(["locked", "locked"]);
    expect(await logIn("sesame", "bob@x.org")).toBe("welcome");
    pass(HOUR);
    expect(await logIn("sesame")).toBe("welcome");
  },

  async alert({ mutate, rows }) {
    const call = () => mutate("usage:call", { customer: "acme" });
    expect(await passing(7, call)).toBe(7);
    expect(await rows("alerts")).toHaveLength(0);
    expect(await passing(4, call)).toBe(3);
    expect(await rows("alerts")).toMatchObject([{ customer: "acme" }]);
    pass(31 * DAY);
    expect(await passing(8, call)).toBe(8);
    expect(await rows("alerts")).toHaveLength(2);
  },

  async action({ action }) {
    const times = serve();
    expect(await passing(5, () => action("weather:forecast", {}))).toBe(3);
    expect(times).toHaveLength(3);
  },

  async cancel({ t, mutate, rows }) {
    const order = () => mutate("reports:order", {}, "ada");
    const cancel = (who: string, report: Value) => mutate("reports:cancel", { report }, who);
    await order();
    const second = await order();
    expect(await cancel("bob", second)).toBe(false);
    expect(await cancel("ada", second)).toBe(true);
    expect(await cancel("ada", second)).toBe(false);
    await order();
    const started = Date.now();
    await runJobs(t);
    expect((await rows("reports")).map(({ done }) => done)).toEqual([true, false, true]);
    expect(Date.now() - started).toBeLessThan(MINUTE + SECOND);
  },

  async settle({ mutate, left }) {
    const begin = () => mutate("calls:begin", { user: "ada" });
    const end = (call: Value, used: number) => mutate("calls:end", { call, used });
    const rest = () => left("convex/calls", { name: "tokens", key: "ada" });
    const failed = await begin();
    pass(20 * SECOND);
    const other = await begin();
    await end(failed, 0);
    // Without the failed call the bucket would have been full before the other.
    expect(await rest()).toBe(40);
    await end(failed, 0);
    await end(other, 90);
    expect(await rest()).toBe(10);
  },

  async cap({ t, mutate }) {
    const times = serve();
    const notify = async (count: number) => {
      for (let i = 0; i < count; i++) await mutate("partner:notify", { event: String(i) });
    };
    await notify(7);
    await runJobs(t);
    pass(50 * SECOND);
    await notify(9);
    await runJobs(t);
    expect(times).toHaveLength(16);
    const inMinute = times.map((first) => times.filter((time) => time >= first && time < first + MINUTE).length);
    expect(Math.max(...inMinute)).toBeLessThanOrEqual(5);
  },

  async invites({ mutate, rows, insert }) {
    for (const user of ["ada", "bob"]) {
      await insert("members", { user, org: "acme" });
    }
    const send = (user: string) => mutate("invites:send", { email: "eve@x.org" }, user);
    expect(await passing(9, () => send("ada"))).toBe(5);
    expect(await passing(5, () => send("bob"))).toBe(3);
    expect(await rows("invites")).toHaveLength(8);
    vi.setSystemTime(START + DAY);
    expect(await passing(6, () => send("bob"))).toBe(5);
  },

  async plans({ t, mutate, insert }) {
    const user = await insert("users", { subject: "ada", plan: "free" });
    const make = () => mutate("exports:make", {}, "ada");
    expect(await passing(5, make)).toBe(3);
    await t.run(async ({ db }) => {
      await db.patch("users", user as GenericId<"users">, { plan: "pro" });
    });
    expect(await passing(12, make)).toBe(7);
  },

  async "top-up"({ mutate }) {
    const make = () => mutate("exports:make", { user: "ada" });
    await mutate("exports:topUp", { user: "ada", more: 2 });
    expect(await passing(7, make)).toBe(5);
    pass(31 * DAY);
    expect(await passing(7, make)).toBe(3);
  },

  async runs({ mutate }) {
    const begin = () => mutate("runs:begin", {}, "ada");
    const run = await begin();
    expect(await passing(2, begin)).toBe(1);
    pass(6 * MINUTE);
    expect(await passing(1, begin)).toBe(0);
    await mutate("runs:end", { run });
    await mutate("runs:end", { run });
    expect(await passing(2, begin)).toBe(1);
    // The second lease of a millisecond is dated a millisecond later.
    pass(4 * MINUTE + 1);
    expect(await passing(2, begin)).toBe(1);
  },

  async auth({ mutate, rows }) {
    const send = (subject: string) => () => mutate("messages:send", { body: "hello" }, subject);
    expect(await passing(2, send("ada|first"))).toBe(2);
    expect(await passing(2, send("ada|second"))).toBe(0);
    expect(await passing(1, send("bob|first"))).toBe(1);
    expect(await rows("messages")).toMatchObject([{ author: "ada" }, { author: "ada" }, { author: "bob" }]);
  },

  async cost(app) {
    const report = (days: string, address = "192.0.2.1") => served(app, 1, `/reports${days}`, from(address));
    expect([await report("?days=60"), await report("?days=60"), await report("?days=39")]).toEqual([1, 0, 1]);
    expect([await report(""), await report("")]).toEqual([1, 0]);
    expect(await report("?days=100", "192.0.2.2")).toBe(1);
  },

  async images({ mutate, rows }) {
    const draw = (prompt = "a cat") => mutate("images:draw", { prompt }, "ada");
    for (let i = 0; i < 4; i++) expect(await draw("my passport")).toBe("refused");
    expect([await draw(), await draw(), await draw()]).toEqual(["drawn", "drawn", "drawn"]);
    expect([await draw(), await draw("my passport")]).toEqual(["no image left", "no image left"]);
    expect(await rows("images")).toHaveLength(3);
  },

  async shadow({ mutate, rows }) {
    expect(await passing(7, () => mutate("search:search", { text: "cats" }, "ada"))).toBe(7);
    expect(await rows("denials")).toMatchObject([{ user: "ada" }, { user: "ada" }]);
  },

  async spacing({ t, mutate }) {
    const times = serve();
    for (let i = 0; i < 5; i++) await mutate("webhooks:deliver", { event: String(i) });
    await runJobs(t);
    expect(times).toHaveLength(5);
    const gaps = gapsIn(times);
    // Two jobs of convex-test run up to 2 ms early or late.
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(SECOND - 2);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(SECOND + 2);
  },

  async block(app) {
    await app.mutate("limits:block", { address: "192.0.2.1" });
    expect(await served(app, 2, "/hello", from("192.0.2.1"))).toBe(0);
    expect(await served(app, 2, "/hello", from("192.0.2.2"))).toBe(2);
    pass(DAY);
    expect(await served(app, 2, "/hello", from("192.0.2.1"))).toBe(2);
  },

  async votes({ t, rows }) {
    let visitors = 0;
    const vote = (ip: string) => () =>
      t.withRequestMetadata({ ip }).mutation(makeFunctionReference<"mutation", Args>("votes:vote"), {
        choice: "a",
        visitor: `made up ${visitors++}`,
      });
    expect(await passing(5, vote("192.0.2.1"))).toBe(3);
    expect(await passing(1, vote("192.0.2.2"))).toBe(1);
    expect(await rows("votes")).toHaveLength(4);
  },
};

/** What the checks use of an app's modules. */
interface Module {
  default: never;
  limits: { checkRateLimit: (ctx: unknown, bucket: Args) => Promise<{ remaining?: number }> };
}

/** @param app - "task-daily", or "trap-daily". */
async function open(app: string): Promise<App> {
  const load = async (file: string) => (await import(`${APPS}/${app}/${file}.ts`)) as Module;
  const [{ default: modules }, { default: schema }] = [await load("index"), await load("convex/schema")];
  const t: App["t"] = convexTest({ schema, modules });
  register(t);
  const as = (subject?: string) => (subject === undefined ? t : t.withIdentity({ subject }));
  return {
    t,
    mutate: (name, args, subject) => as(subject).mutation(makeFunctionReference<"mutation", Args, Value>(name), args),
    query: (name, args, subject) => as(subject).query(makeFunctionReference<"query", Args>(name), args),
    action: (name, args) => t.action(makeFunctionReference<"action", Args, Value>(name), args),
    rows: (table) => t.run(async ({ db }) => (await db.query(table).collect()) as Args[]),
    insert: (table, document) => t.run(async ({ db }) => await db.insert(table, document)),
    left: async (module, bucket) => {
      const { limits } = await load(module);
      return await t.run(async (ctx) => (await limits.checkRateLimit(ctx, { ...bucket, count: 0 })).remaining);
    },
  };
}

useClock(START);
const tasks = Object.keys(CHECKS);

it("each of twenty tasks has a request, a check and a mistake that the check finds", () => {
  const requests = lines("test/assistants/requests.md").filter((line) => line.startsWith("## "));
  expect(requests.map((line) => line.slice("## ".length))).toEqual(tasks);
  expect(tasks).toHaveLength(20);
  expect(Object.keys(TRAPS).toSorted()).toEqual(tasks.toSorted());
});

// What stands for Convex Auth, which is not installed.
const AUTH = `import type { Auth } from "convex/server";
export declare function getAuthUserId(ctx: { auth: Auth }): Promise<string | null>;`;

it("the solutions compile", { timeout: 300_000 }, () => {
  const apps = tasks.map((task) => {
    const files = new Map([...blocksOf(`task-${task}`)].map(([file, text]) => [file, { text, block: undefined }]));
    return withGenerated(files.set("node_modules/@convex-dev/auth/server.d.ts", { text: AUTH, block: undefined }));
  });
  expect(faultsIn(apps)).toEqual([]);
});

describe.each(tasks)("%s", (task) => {
  it("is solved", async () => {
    await CHECKS[task]?.(await open(`task-${task}`));
  });

  // Other solutions have other texts.
  it.runIf(process.env["SOLUTIONS"] === undefined)("is not solved with the mistake that it is about", async () => {
    expect([...blocksOf(`trap-${task}`).values()]).not.toEqual([...blocksOf(`task-${task}`).values()]);
    const app = await open(`trap-${task}`);
    // convex-test prints what a job throws, which is the mistake of one of them.
    const silent = vi.spyOn(console, "error").mockReturnValue();
    await expect(CHECKS[task]?.(app)).rejects.toMatchObject({ name: "AssertionError" });
    silent.mockRestore();
  });
});
