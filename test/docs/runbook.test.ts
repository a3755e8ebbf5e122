/** Runs the app of docs/start.md, the page's own test, and the runbook of docs/operations.md, with the arguments of its commands. */
import { HOUR, MINUTE } from "convex-rate-limits";
import { projectRateLimit } from "convex-rate-limits/client";
import { convexTest } from "convex-test";
import { expect, it } from "vitest";
import { START as NOW, useClock } from "../support/clock.js";
import authModules from "docs:auth";
import modules from "docs:operations";
import { internal } from "docs:operations/convex/_generated/api";
import { limits } from "docs:operations/convex/limits";
import schema from "docs:operations/convex/schema";
import startModules from "docs:start";
import { api } from "docs:start/convex/_generated/api";
import startSchema from "docs:start/convex/schema";

const pages = import.meta.glob<string>("../../docs/operations.md", { query: "?raw", import: "default", eager: true });
const page = Object.values(pages).join();

const { limited, look, unlock, give, block, unblock } = internal.admin;

useClock(NOW, "Date");

const openApp = () => convexTest({ schema, modules });
type App = ReturnType<typeof openApp>;

/** The arguments of one of the page's commands. */
const argsOf = (command: string) =>
  JSON.parse(new RegExp(`admin:${command} '(.*)'`).exec(page)?.[1] ?? "") as {
    name: "sendMessage";
    key: string;
    count: number;
  };
const ask = (t: App, key: string) =>
  t.mutation(async (ctx) => await limits.rateLimit(ctx, { name: "sendMessage", key }));

it("lists the locked-out users, shows the end of the lock, and unlocks", async () => {
  const t = openApp();
  const { name, key } = argsOf("unlock");
  await t.mutation(async (ctx) => await limits.rateLimit(ctx, { name: "failedLogin", key, count: 5 }));
  expect(await t.query(limited, argsOf("limited"))).toEqual({ page: [], cursor: null });
  expect((await t.query(limited, { name })).page).toMatchObject([{ key, ok: false, value: 0 }]);
  expect(await t.query(look, argsOf("look"))).toMatchObject({ ok: false, retryAt: NOW + 12 * MINUTE });
  await t.mutation(unlock, { name, key });
  expect(await t.query(look, { name, key })).toMatchObject({ ok: true, remaining: 4 });
  expect((await t.query(limited, { name })).page).toEqual([]);
});

it("gives tokens only up to the capacity", async () => {
  const t = openApp();
  const { name, key, count } = argsOf("give");
  await t.mutation(async (ctx) => await limits.rateLimit(ctx, { name, key, count: 20 }));
  expect((await ask(t, key)).ok).toBe(false);
  await t.mutation(give, { name, key, count });
  await t.mutation(give, { name, key, count });
  expect(await t.query(look, { name, key })).toMatchObject({ ok: true, remaining: 19 });
});

it("blocks an attacker for a day, or until the block is lifted", async () => {
  const t = openApp();
  const [, text = ""] = /admin:block '(\{.*\})'/.exec(page) ?? [];
  const attack = JSON.parse(text) as { name: "sendMessage"; key: string; hours: number };
  await t.mutation(block, attack);
  expect(await ask(t, attack.key)).toMatchObject({ ok: false, reason: "blocked", retryAt: NOW + 24 * HOUR });
  await t.mutation(unblock, { name: attack.name, key: attack.key });
  expect((await ask(t, attack.key)).ok).toBe(true);
});

it("shows each user their own bucket, and nothing to strangers", async () => {
  const t = convexTest({ schema: startSchema, modules: startModules });
  const ada = t.withIdentity({ subject: "ada" });
  for (let i = 0; i < 3; i++) await ada.mutation(api.messages.send, { body: "hello" });
  const left = async (user: Pick<typeof ada, "query">) =>
    projectRateLimit(await user.query(api.quota.getRateLimit, {}), { now: Date.now() }).remaining;
  expect(await left(ada)).toBe(16);
  expect(await left(t.withIdentity({ subject: "bob" }))).toBe(19);
  await expect(t.query(api.quota.getRateLimit, {})).rejects.toThrow("not signed in");
  await expect(t.mutation(api.messages.send, { body: "hello" })).rejects.toThrow("not signed in");
});

it("with Convex Auth, all sessions of a user have one bucket, by the page's second callerOf", async () => {
  const t = convexTest({ schema: startSchema, modules: authModules });
  // Convex Auth's subject is the user's id and the session's.
  for (const subject of ["ada|1", "ada|2", "bob|3"])
    await t.withIdentity({ subject }).mutation(api.messages.send, { body: "hello" });
  const snapshot = await t.withIdentity({ subject: "ada|4" }).query(api.quota.getRateLimit, {});
  expect(projectRateLimit(snapshot, { now: Date.now() }).remaining).toBe(17);
  await expect(t.mutation(api.messages.send, { body: "hello" })).rejects.toThrow("not signed in");
});
