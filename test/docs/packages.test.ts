/** Runs the recipes of docs/recipes.md that use other packages, with the real packages. */
import { convexTest } from "convex-test";
import { HOUR, SECOND } from "convex-rate-limits";
import { register } from "convex-rate-limits/test";
import { describe, expect, it, vi } from "vitest";
import { START as NOW, useClock } from "../support/clock.js";
import modules from "docs:recipes";
import { api } from "docs:recipes/convex/_generated/api";
import { chargeUsage } from "docs:recipes/convex/assistant";
import schema from "docs:recipes/convex/schema";

/** These entries are TypeScript source, which the compiler would check with this project's own settings. */
type Testing = { default: { register: (t: unknown) => void } };
const { default: shardedCounter } = await vi.importActual<Testing>("@convex-dev/sharded-counter/test");
const { default: workflow } = await vi.importActual<Testing>("@convex-dev/workflow/test");
const { default: workpool } = await vi.importActual<Testing>("@convex-dev/workpool/test");

useClock(NOW);

const { setTimeout: later } = globalThis;

/** Moves the clock, and runs the functions that are due then, once they have loaded. */
async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms);
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => later(resolve, 0));
}

function openApp() {
  const t = convexTest({ schema, modules });
  workpool.register(t);
  workflow.register(t);
  register(t);
  shardedCounter.register(t);
  return t;
}

it("Workflow reads each page when its token is there", async () => {
  const starts: number[] = [];
  vi.stubGlobal("fetch", () => {
    starts.push(Date.now() - NOW);
    return Promise.resolve(new Response(""));
  });
  const t = openApp();
  await t.mutation(api.digest.start, { pages: ["a", "b", "c", "d"].map((name) => `https://app.example/${name}`) });
  for (let step = 0; step < 2000 && starts.length < 4; step++) await pass(20);
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
      const answer = await t.mutation(api.transcripts.transcribe, { url: `https://app.example/${i}` });
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
    for (let i = 0; i < 102; i++) await t.mutation(api.transcripts.transcribe, { url: "https://app.example/" });
    expect(await t.mutation(api.transcripts.transcribe, { url: "https://app.example/" })).toEqual({
      retryAt: NOW + 1000,
    });
  });
});

it("Better Auth keeps its limits in this package: for each address, by its own rule for sign-ins", async () => {
  vi.stubEnv("BETTER_AUTH_SECRET", "0123456789abcdef0123456789abcdef");
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
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
  const rows = await t.run(async (ctx) => await ctx.db.query("rateLimits").collect());
  expect(rows.map(({ name, key }) => [name, key])).toEqual([
    ["auth", "192.0.2.1|/sign-in/email"],
    ["auth", "192.0.2.2|/sign-in/email"],
  ]);
});

it("Convex Agent charges the tokens that a model call used, and makes the user wait for the debt", async () => {
  const t = openApp();
  const model = { providerMetadata: undefined, model: "m", provider: "p" };
  const call = { threadId: undefined, agentName: "assistant", ...model };
  await t.mutation(api.assistant.mayAsk, { user: "ada" });
  await t.action(async (ctx) => {
    await chargeUsage(ctx, { ...call, userId: "ada", usage: { totalTokens: 60_000 } });
  });
  await t.mutation(api.assistant.mayAsk, { user: "bob" });
  await expect(t.mutation(api.assistant.mayAsk, { user: "ada" })).rejects.toMatchObject({
    data: { name: "assistantTokens", retryAt: NOW + (24 * HOUR * 10_001) / 50_000 },
  });
  const nobody = t.action(async (ctx) => {
    await chargeUsage(ctx, { ...call, userId: undefined, usage: { totalTokens: 1 } });
  });
  await expect(nobody).rejects.toThrow("has no budget");
});

it("sharded-counter counts the denials of each limit in each hour", async () => {
  const t = openApp();
  const vote = () => t.mutation(api.denials.vote, { voter: "ada" });
  const counts = () =>
    Promise.all([0, 1, 2].map((i) => t.query(api.denials.denialsInHour, { name: "vote", time: NOW + i * HOUR })));
  expect([await vote(), await vote(), await vote(), await vote()]).toEqual([true, true, false, false]);
  vi.setSystemTime(NOW + HOUR - 1);
  expect(await vote()).toBe(true);
  vi.setSystemTime(NOW + HOUR);
  expect([await vote(), await vote()]).toEqual([true, false]);
  expect(await counts()).toEqual([2, 1, 0]);
  expect(await t.query(api.denials.denialsInHour, { name: "mail", time: NOW })).toBe(0);
});
