import { isRateLimitError, projectRateLimit, SECOND } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import { signUp } from "../../example/demo/people.js";
import { openBackend, START, thrownBy, useClock } from "./backend.js";

useClock();

async function openChat() {
  const t = openBackend();
  const [ada, bob] = [await signUp(t, "Ada"), await signUp(t, "Bob")];
  return {
    t,
    ada,
    bob,
    send: (body = "Hello") => t.mutation(api.messages.send, { author: ada, to: bob, body }),
    quota: () => t.query(api.messages.quota, { author: ada }),
    inbox: () => t.query(api.messages.inbox, { user: bob }),
  };
}

it("an author sends five messages in a row, and the sixth throws with the time of the next token", async () => {
  const { send, inbox } = await openChat();
  for (let i = 1; i <= 5; i++) await send(`${i}`);
  const error = await thrownBy(send("6"));
  expect(isRateLimitError(error) && error.data).toEqual({
    kind: "RateLimited",
    name: "sendMessage",
    retryAt: START + SECOND,
    retryAfter: SECOND,
  });
  expect((await inbox()).map(({ body }) => body)).toEqual(["5", "4", "3", "2", "1"]);
  vi.setSystemTime(START + SECOND - 1);
  await expect(send()).rejects.toSatisfy(isRateLimitError);
  vi.setSystemTime(START + SECOND);
  await send();
  await expect(send()).rejects.toSatisfy(isRateLimitError);
});

it("authors do not share their tokens", async () => {
  const { t, ada, bob, send } = await openChat();
  for (let i = 1; i <= 5; i++) await send();
  await t.mutation(api.messages.send, { author: bob, to: ada, body: "Enough!" });
  await expect(send()).rejects.toSatisfy(isRateLimitError);
});

it("a broadcast to somebody who has left reaches nobody and costs nothing", async () => {
  const { t, ada, bob, quota, inbox, send } = await openChat();
  const cem = await signUp(t, "Cem");
  await t.mutation(api.signUps.close, { user: cem });
  await send();
  const before = await quota();
  expect(before.value).toBe(4);
  const error = await thrownBy(t.mutation(api.messages.broadcast, { author: ada, to: [bob, cem], body: "Party!" }));
  expect(error).toMatchObject({ data: { kind: "NoSuchUser", user: cem } });
  expect(await quota()).toEqual(before);
  expect(await inbox()).toHaveLength(1);
});

it("a broadcast that runs out of tokens on the way reaches nobody and costs nothing", async () => {
  const { t, ada, bob, quota, inbox, send } = await openChat();
  for (let i = 1; i <= 3; i++) await send();
  const before = await quota();
  const broadcast = t.mutation(api.messages.broadcast, { author: ada, to: [bob, bob, bob], body: "Party!" });
  await expect(broadcast).rejects.toSatisfy(isRateLimitError);
  expect(await quota()).toEqual(before);
  expect(await inbox()).toHaveLength(3);
  expect(await t.mutation(api.messages.broadcast, { author: ada, to: [bob, bob], body: "Party!" })).toHaveLength(2);
});

it("the quota tells the client, at any moment, what the next message will meet", async () => {
  const { send, quota } = await openChat();
  for (let i = 1; i <= 5; i++) await send();
  const snapshot = await quota();
  vi.setSystemTime(START + 10 * SECOND);
  expect(await quota()).toEqual(snapshot);
  expect(projectRateLimit(snapshot, { now: START })).toMatchObject({
    ok: false,
    retryAt: START + SECOND,
    remaining: 0,
  });
  expect(projectRateLimit(snapshot, { now: START + 2 * SECOND })).toMatchObject({ ok: true, remaining: 1 });
});
