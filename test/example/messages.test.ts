/** Messages of example/, and who the caller is. */
import { projectRateLimit } from "convex-rate-limits/client";
import { MINUTE } from "convex-rate-limits";
import { expect, it, vi } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import { callerOf } from "../../example/convex/callers.js";
import { START, useClock } from "../support/clock.js";
import { denialOf } from "../support/errors.js";
import { openExample, signIn } from "./backend.js";

useClock(START);

const SEND = api.messages.send;

it("a user sends five messages in a row, and the next one at retryAt", async () => {
  const ada = await signIn(openExample(), "ada");
  for (const body of ["1", "2", "3", "4", "5"]) await ada.mutation(SEND, { body });
  const denial = await denialOf(ada.mutation(SEND, { body: "6" }));
  expect(denial).toMatchObject({ name: "sendMessage", retryAt: START + MINUTE / 10 });
  expect(denial).not.toHaveProperty("key");
  vi.setSystemTime(denial.retryAt);
  await ada.mutation(SEND, { body: "6" });
  const bodies = (await ada.query(api.messages.latest, {})).map(({ body }) => body);
  expect(bodies).toEqual(["6", "5", "4", "3", "2", "1"]);
});

it("a message that is too long costs nothing, and one user's limit is not another's", async () => {
  const t = openExample();
  const [ada, bob] = [await signIn(t, "ada"), await signIn(t, "bob")];
  await expect(ada.mutation(SEND, { body: "x".repeat(501) })).rejects.toThrow("BadLength");
  const left = async (user: typeof ada) =>
    projectRateLimit(await user.query(api.messages.getRateLimit, {}), { now: Date.now(), count: 0 }).remaining;
  expect(await left(ada)).toBe(5);
  await ada.mutation(SEND, { body: "short" });
  expect([await left(ada), await left(bob)]).toEqual([4, 5]);
});

it("somebody who is not signed in can neither send nor read", async () => {
  const t = openExample();
  await expect(t.mutation(SEND, { body: "hello" })).rejects.toThrow("NotSignedIn");
  await expect(t.query(api.messages.latest, {})).rejects.toThrow("NotSignedIn");
  await expect(t.query(api.messages.getRateLimit, { key: "ada" })).rejects.toThrow("NotSignedIn");
});

it("the caller is the user without the session with Convex Auth, and the issuer's user elsewhere", async () => {
  vi.stubEnv("CONVEX_SITE_URL", "https://own.convex.site");
  const signedIn = (issuer: string, subject: string) => {
    const identity = { issuer, subject, tokenIdentifier: `${issuer}|${subject}` };
    return callerOf({ auth: { getUserIdentity: () => Promise.resolve(identity) } });
  };
  expect(await signedIn("https://own.convex.site", "user1|session1")).toBe("user1");
  expect(await signedIn("https://own.convex.site", "user1|session2")).toBe("user1");
  expect(await signedIn("https://clerk.example", "user1")).toBe("https://clerk.example|user1");
});

it("a demo user stands in for the sign-in only where the variable is set", async () => {
  const t = openExample();
  vi.stubEnv("DEMO_USER", "demo");
  await t.mutation(SEND, { body: "hello" });
  expect(await t.query(api.messages.latest, {})).toEqual([{ author: "demo", body: "hello" }]);
});
