import { projectRateLimit } from "convex-rate-limits";
import { expect, it } from "vitest";
import { api } from "../../example/convex/_generated/api.js";
import { openBackend, START, useClock } from "./backend.js";

useClock();

it("an attempt with a taken address uses no sign-up token", async () => {
  const t = openBackend();
  const signUp = () => t.mutation(api.signUps.signUp, { email: "ada@example.com", password: "secret" });
  await signUp();
  const before = await t.query(api.signUps.quota, {});
  expect(projectRateLimit(before, { now: START, count: 0 }).remaining).toBe(99);
  await expect(signUp()).rejects.toMatchObject({ data: { kind: "EmailTaken" } });
  expect(await t.query(api.signUps.quota, {})).toEqual(before);
});
