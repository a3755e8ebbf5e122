/** Runs the app of README.md: its three calls, on the limits that it defines. */
import { HOUR } from "convex-rate-limits";
import { convexTest } from "convex-test";
import { expect, it, vi } from "vitest";
import { runJobs, START as NOW, useClock } from "../support/clock.js";
import { denialOf } from "../support/errors.js";
import modules from "docs:README";
import { api, internal } from "docs:README/convex/_generated/api";
import schema from "docs:README/convex/schema";

useClock(NOW);

const openApp = () => convexTest({ schema, modules });

it("a user sends a burst of 20 messages, then 10 a minute, each user by themselves", async () => {
  const t = openApp();
  const [ada, bob] = [t.withIdentity({ subject: "ada" }), t.withIdentity({ subject: "bob" })];
  for (let i = 0; i < 20; i++) await ada.mutation(api.messages.send, { body: `message ${i}` });
  const send = () => ada.mutation(api.messages.send, { body: "one more" });
  expect(await denialOf(send())).toMatchObject({ name: "sendMessage", retryAt: NOW + 6000 });
  await bob.mutation(api.messages.send, { body: "mine" });
  vi.setSystemTime(NOW + 6000);
  await send();
  expect(await t.run(async (ctx) => (await ctx.db.query("messages").collect()).length)).toBe(22);
});

it("an account and address gets 5 guesses in any hour, however the email is written, and is told when the next one is allowed", async () => {
  const t = openApp();
  const guess = (email: string, ip = "192.0.2.1") => t.mutation(internal.messages.mayLogIn, { email, ip });
  for (const email of ["ada@example.com", "Ada@example.com", " ADA@example.com ", "ada@example.com", "ada@example.com"])
    expect(await guess(email)).toMatchObject({ ok: true });
  expect(await guess("ada@example.com\n")).toMatchObject({ ok: false, retryAt: NOW + HOUR });
  expect(await guess("ada@example.com", "192.0.2.2")).toMatchObject({ ok: true });
  expect(await guess("bob@example.com")).toMatchObject({ ok: true });
});

it("a job starts when the model's budget has its tokens", async () => {
  const starts: number[] = [];
  vi.stubGlobal("fetch", () => {
    starts.push(Date.now() - NOW);
    return Promise.resolve(new Response(""));
  });
  const t = openApp();
  const ada = t.withIdentity({ subject: "ada" });
  for (let i = 0; i < 3; i++) await ada.mutation(api.messages.ask, { prompt: "hi" });
  await runJobs(t);
  // 2,000 tokens at once, and a thousand a second.
  expect(starts).toEqual([0, 400, 1600]);
});
