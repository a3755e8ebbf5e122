/** Runs the app of docs/start.md, and the page's own test. */
import { convexTest } from "convex-test";
import { projectRateLimit } from "convex-rate-limits";
import { expect, it } from "vitest";
import { useClock } from "../support/clock.js";
import modules from "docs:start";
import { api } from "docs:start/convex/_generated/api";
import "docs:start/convex/messages.test";
import schema from "docs:start/convex/schema";

useClock(Date.UTC(2026, 0, 1));

it("shows each user their own bucket, and nothing to strangers", async () => {
  const t = convexTest({ schema, modules });
  const ada = t.withIdentity({ subject: "ada" });
  for (let i = 0; i < 3; i++) await ada.mutation(api.messages.send, { body: "hello" });
  const left = async (user: Pick<typeof ada, "query">) =>
    projectRateLimit(await user.query(api.quota.getRateLimit, {}), { now: Date.now() }).remaining;
  expect(await left(ada)).toBe(16);
  expect(await left(t.withIdentity({ subject: "bob" }))).toBe(19);
  await expect(t.query(api.quota.getRateLimit, {})).rejects.toThrow("not signed in");
  await expect(t.mutation(api.messages.send, { body: "hello" })).rejects.toThrow("not signed in");
});
