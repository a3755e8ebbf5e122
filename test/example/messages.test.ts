import { isRateLimitError, projectRateLimit, SECOND } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import { denialOf } from "../support/errors.js";
import { openTown, START, useClock } from "./backend.js";

useClock();

const denied = { kind: "RateLimited", name: "sendMessage", retryAt: START + SECOND, retryAfter: SECOND };

/** Ada has sent Bob so many messages. */
async function openChat(sent: number) {
  const { t, ada, bob, cem } = await openTown();
  const send = (body = "Hello", author = ada) => t.mutation(api.messages.send, { author, to: bob, body });
  for (let i = 1; i <= sent; i++) await send(`${i}`);
  const broadcast = (...to: (typeof ada)[]) => t.mutation(api.messages.broadcast, { author: ada, to, body: "Party!" });
  const quota = () => t.query(api.messages.quota, { author: ada });
  const inbox = async () => (await t.query(api.messages.inbox, { user: bob })).map(({ body }) => body);
  return { t, bob, cem, send, broadcast, quota, inbox };
}

it("an author sends five messages in a row, and the sixth throws with the time of the next token", async () => {
  const { bob, send, inbox } = await openChat(5);
  expect(await denialOf(send("6"))).toEqual(denied);
  expect(await inbox()).toEqual(["5", "4", "3", "2", "1"]);
  await send("Enough!", bob);
  vi.setSystemTime(START + SECOND - 1);
  expect(await denialOf(send())).toMatchObject({ retryAfter: 1 });
  vi.setSystemTime(START + SECOND);
  await send();
  await expect(send()).rejects.toSatisfy(isRateLimitError);
});

it("a broadcast to somebody who has left reaches nobody and costs nothing", async () => {
  const { t, bob, cem, broadcast, quota, inbox } = await openChat(1);
  await t.mutation(api.signUps.close, { user: cem });
  const before = await quota();
  expect(before.value).toBe(4);
  await expect(broadcast(bob, cem)).rejects.toMatchObject({ data: { kind: "NoSuchUser", user: cem } });
  expect([await quota(), await inbox()]).toEqual([before, ["1"]]);
});

it("a broadcast that runs out of tokens on the way reaches nobody and costs nothing", async () => {
  const { bob, broadcast, quota, inbox } = await openChat(3);
  const before = await quota();
  expect(await denialOf(broadcast(bob, bob, bob))).toEqual(denied);
  expect([await quota(), await inbox()]).toEqual([before, ["3", "2", "1"]]);
  expect(await broadcast(bob, bob)).toHaveLength(2);
});

it("the quota tells the client, at any moment, what the next message will meet", async () => {
  const { quota } = await openChat(5);
  const snapshot = await quota();
  vi.setSystemTime(START + 10 * SECOND);
  expect(await quota()).toEqual(snapshot);
  const project = (now: number) => projectRateLimit(snapshot, { now });
  expect(project(START)).toMatchObject({ ok: false, retryAt: START + SECOND, remaining: 0 });
  expect(project(START + 2 * SECOND)).toMatchObject({ ok: true, remaining: 1 });
});
