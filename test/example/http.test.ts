/** The HTTP API of example/, as its callers see it. */
import { SECOND } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import { START, useClock } from "../support/clock.js";
import { openExample, signIn } from "./backend.js";

useClock(START);

interface Asking {
  readonly from?: string;
  readonly key?: string;
  readonly count?: number;
}

function openApi() {
  const t = openExample();
  const get = async ({ from = "198.51.100.1", key, count = 10 }: Asking = {}) =>
    await t.fetch(`/api/messages?count=${count}`, {
      headers: { "X-Forwarded-For": from, ...(key !== undefined && { "X-Api-Key": key }) },
    });
  return { t, get };
}

it("a caller without a key reads 20 messages, then gets 429 and when to return", async () => {
  const { t, get } = openApi();
  await (await signIn(t, "ada")).mutation(api.messages.send, { body: "hello" });
  const served = await get();
  expect([served.status, await served.json()]).toMatchObject([200, [{ body: "hello" }]]);
  expect(served.headers.get("RateLimit")).toContain('"apiMessages";r=10;');
  expect((await get()).status).toBe(200);
  const denial = await get();
  expect(denial.status).toBe(429);
  expect(await denial.json()).toMatchObject({ "violated-policies": ["apiMessages"] });
  expect((await get({ from: "203.0.113.9" })).status).toBe(200);
  vi.setSystemTime(START + Number(denial.headers.get("Retry-After")) * SECOND);
  expect((await get()).status).toBe(200);
});

it("a request costs the messages that it reads", async () => {
  const { get } = openApi();
  expect((await get({ count: 20 })).status).toBe(200);
  expect((await get({ count: 1 })).status).toBe(429);
});

it("the keys of one user share the bucket of the user's plan, from any address", async () => {
  const { t, get } = openApi();
  const [ada, bob] = [await signIn(t, "ada"), await signIn(t, "bob", { plan: "pro" })];
  const keys = [await ada.action(api.apiKeys.issue, {}), await ada.action(api.apiKeys.issue, {})];
  for (let i = 0; i < 4; i++) {
    expect((await get({ key: keys[i % 2] ?? "", from: `203.0.113.${i}`, count: 50 })).status).toBe(200);
  }
  for (const key of keys) expect((await get({ key, count: 50 })).status).toBe(429);
  const proKey = await bob.action(api.apiKeys.issue, {});
  expect((await get({ key: proKey, count: 50 })).headers.get("RateLimit")).toContain("r=1950;");
});

it("invented keys and forged addresses buy no fresh bucket", async () => {
  const { get } = openApi();
  const guess = async (i: number) => (await get({ from: `192.0.2.${i}, 198.51.100.1`, key: `guess-${i}` })).status;
  expect([await guess(1), await guess(2), await guess(3)]).toEqual([200, 200, 429]);
});

it("a user has at most five keys, and needs a sign-in for them", async () => {
  const { t } = openApi();
  const ada = await signIn(t, "ada");
  for (let i = 0; i < 5; i++) await ada.action(api.apiKeys.issue, {});
  await expect(ada.action(api.apiKeys.issue, {})).rejects.toThrow("TooManyKeys");
  await expect(t.action(api.apiKeys.issue, {})).rejects.toThrow("NotSignedIn");
});
