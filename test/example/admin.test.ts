import { MINUTE } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import { signUp } from "../../example/demo/people.js";
import { openBackend, START, useClock } from "./backend.js";

useClock();

async function openChat() {
  const t = openBackend();
  const [ada, bob] = [await signUp(t, "Ada"), await signUp(t, "Bob")];
  const send = () => t.mutation(api.messages.send, { author: ada, to: bob, body: "Hello!" });
  const sendMessage = { name: "sendMessage", key: ada } as const;
  return { t, ada, send, sendMessage };
}

it("the page shows the limits that may be overridden, with their configs", async () => {
  const { t } = await openChat();
  expect(await t.query(api.admin.limits, {})).toMatchObject([
    { name: "sendMessage", config: { kind: "token bucket", rate: 60, capacity: 5 } },
    { name: "failedSignIn", config: { kind: "sliding window" } },
  ]);
});

it("an admin blocks a user until a moment, sees it, and unblocks", async () => {
  const { t, ada, send, sendMessage } = await openChat();
  await send();
  const until = START + MINUTE;
  await t.mutation(api.admin.block, { ...sendMessage, until, note: "spam" });
  await expect(send()).rejects.toMatchObject({ data: { retryAt: until, reason: "blocked" } });
  const overridden = () => t.query(api.admin.keys, { name: "sendMessage", onlyOverridden: true });
  const limited = () => t.query(api.admin.keys, { name: "sendMessage", onlyLimited: true });
  const entry = { key: ada, ok: false, retryAt: until, override: { block: true, until, note: "spam" } };
  expect((await overridden()).page).toMatchObject([entry]);
  expect((await limited()).page).toMatchObject([entry]);
  await t.mutation(api.admin.unblock, sendMessage);
  expect([(await overridden()).page, (await limited()).page]).toEqual([[], []]);
  await send();
});

it("an admin raises one customer, or lets one through, and it ends by itself", async () => {
  const { t, send, sendMessage } = await openChat();
  const config = { kind: "token bucket" as const, rate: 600, period: MINUTE };
  await t.mutation(api.admin.configure, { ...sendMessage, config, until: START + MINUTE });
  for (let i = 0; i < 100; i++) await send();
  await t.mutation(api.admin.letThrough, { ...sendMessage, until: START + 2 * MINUTE });
  for (let i = 0; i < 20; i++) await send();
  vi.setSystemTime(START + 2 * MINUTE);
  for (let i = 0; i < 5; i++) await send();
  await expect(send()).rejects.toThrow();
});
